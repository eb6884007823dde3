"""Learners of a spec in files of their own."""

from pathlib import Path

import pytest
from test_spec import SPEC, load


def test_learners_may_stand_in_a_file_of_their_own(tmp_path: Path) -> None:
    start, end = SPEC.index("[learners.low]"), SPEC.index("[[published]]")
    tables = SPEC[start:end].replace("learners.", "")
    (tmp_path / "all.toml").write_text(tables, encoding="utf-8")
    text = 'learners = "all.toml"\n' + SPEC[:start] + SPEC[end:]
    assert load(tmp_path, text).learners == load(tmp_path, SPEC).learners
    with pytest.raises(ValueError, match=r"test\.toml, line 1: .*none\.toml must be a TOML file"):
        load(tmp_path, text.replace("all.toml", "none.toml"))
    (tmp_path / "all.toml").write_text(tables.replace("delta = 0.2", "delta = 2"))
    with pytest.raises(ValueError, match=r"all\.toml, line 3: low\.delta must lie strictly"):
        load(tmp_path, text)
    (tmp_path / "all.toml").write_text(tables.replace("delta = 0.2", "detla = 1"))
    with pytest.raises(ValueError, match=r"all\.toml, line 3: a key of low must be .*'detla'"):
        load(tmp_path, text)


def several_files(folder: Path, files: str = '["one.toml", "two.toml"]') -> str:
    """Write two files of learners, and return a spec that names them."""
    one, two = "[ghost]\n[low-switch]\n", '["low, bold"]\nlearner = "low-switch"\ndelta = 0.3\n'
    (folder / "one.toml").write_text(one, encoding="utf-8")
    (folder / "two.toml").write_text(two, encoding="utf-8")
    start, end = SPEC.index("[learners.low]"), SPEC.index("[figure]")
    return f"learners = {files}\n" + SPEC[:start] + SPEC[end:]


def test_learners_may_stand_in_several_files(tmp_path: Path) -> None:
    text = several_files(tmp_path)
    spec = load(tmp_path, text)
    assert list(spec.learners) == ["ghost", "low-switch", "low, bold"]
    assert spec.learners["low, bold"].parameters == {"delta": 0.3}
    (tmp_path / "two.toml").write_text('[bold]\nlearner = "low-switch"\ndelta = 3\n')
    with pytest.raises(ValueError, match=r"two\.toml, line 3: bold\.delta must lie strictly"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("[]", "line 1: learners must be a table, a file or several files, got none"),
        ('["one.toml", 5]', "line 1: learners must be text, got 5"),
        ('["one.toml", "one.toml"]', r"one\.toml, line 1: learners must have .*'ghost' twice"),
    ],
)
def test_wrong_files_of_learners_are_named(tmp_path: Path, files: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(tmp_path, several_files(tmp_path, files))


def test_a_limit_on_a_default_names_its_key_once(tmp_path: Path) -> None:
    """The file has no checkpoints, and the default of 50 is too many for 100 learners and costs."""
    learners = "".join(f"[learners.ghost{number}]\nlearner = 'ghost'\n" for number in range(98))
    text = SPEC.replace("checkpoints = [\n    10,\n    100,\n]", "").replace("[figure]", learners)
    text = text.replace("[0, 2]", f"{[*range(100)]}").replace('measure = "share"', "")
    text = text.replace("horizon = 100", "horizon = 100000").replace(
        "round = 100", "round = 100000"
    )
    with pytest.raises(ValueError, match=r"test\.toml: checkpoints must be at most 25 with 100 le"):
        load(tmp_path, text)
