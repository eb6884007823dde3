"""Code on pages is run, and what pages show is compared with what it prints."""

import os
import select
from pathlib import Path

import pytest
from pages import PATIENCE, rewrite, run_page


def _block(text: str, kind: str = "python") -> str:
    return f"```{kind}\n{text}\n```\n"


def _run(folder: Path, *blocks: str) -> None:
    page = folder / "page.md"
    page.write_text("\n".join(["# A page", *blocks, "The end.\n"]), encoding="utf-8")
    run_page(page, folder)


def test_blocks_share_names_and_a_folder(tmp_path: Path) -> None:
    _run(
        tmp_path,
        _block("answer = 42", 'python title="mine.py"'),
        _block("from mine import answer\nhalf = answer // 2"),
        _block("echo $((2 * 21)) > double", "sh"),
        _block("from pathlib import Path\nprint(half, Path('double').read_text().strip())"),
        _block("21 42", "text"),
    )


@pytest.mark.parametrize(
    ("kind", "code"), [("python", "print('one two three')"), ("sh", "echo one two three")]
)
@pytest.mark.parametrize(
    ("shown", "right"),
    [("one two three", True), ("one ... three", True), ("one two", False), ("one ... four", False)],
)
def test_what_is_shown_must_be_printed(
    tmp_path: Path, kind: str, code: str, shown: str, right: bool
) -> None:
    blocks = _block(code, kind), _block(shown, "text")
    if right:
        _run(tmp_path, *blocks)
    else:
        with pytest.raises(AssertionError, match=r"\+one two three"):
            _run(tmp_path, *blocks)
        page = "\n".join(blocks)
        printed, _ = rewrite(page, tmp_path, "")
        assert printed == "\n".join([_block(code, kind), _block("one two three", "text")])


def test_text_that_is_no_output_is_left_alone(tmp_path: Path) -> None:
    _run(tmp_path, _block("print(1)"), "This is a song:\n", _block("la la", "text"))
    _run(tmp_path, _block("plan", "text"), _block("exit 1", "console"))


def test_errors_are_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as error:
        _run(tmp_path, _block("1 / 0"))
    assert error.traceback[-1].lineno + 1 == 3  # of the page
    with pytest.raises(AssertionError, match="exit code 1"):
        _run(tmp_path, _block("false\ntrue", "sh"))


def test_a_page_has_its_own_modules(tmp_path: Path) -> None:
    for number in ("1", "2"):
        folder = tmp_path / number
        folder.mkdir()
        module = _block(f"number = {number}", 'python title="mine.py"')
        _run(folder, module, _block("import mine\nprint(mine.number)"), _block(number, "text"))


def test_what_goes_on_running_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "line")
    with open(os.open(tmp_path / "line", os.O_RDONLY | os.O_NONBLOCK), "rb") as line:
        _run(tmp_path, _block("exec 3> line\nsleep 1000 &", "sh"))
        ended, _, _ = select.select([line], [], [], PATIENCE)  # once nobody can write any more
    assert ended


def test_services_have_a_port_of_their_own(tmp_path: Path) -> None:
    _run(tmp_path, _block("port = 8321"), _block("print(port)"), _block("8321", "text"))
    names = run_page(tmp_path / "page.md", tmp_path)
    assert names["port"] != 8321
