"""Tutorials are notebooks, too, and run as such."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pages import PATIENCE, PORT, free_port, programs

from docs.notebooks import SHELL, TUTORIALS, to_notebook

PAGE = """\
# Songs

Write [a file](../guides/rules.md#rules), and read [about it](https://example.org):

```toml title="songs.toml"
delays = [1]
```

```python
print(1)
```

```text
1
```

```sh
ls
```

Only to be read:

```console
# reboot
```
"""


def test_cells_are_what_the_page_has() -> None:
    cells = json.loads(to_notebook(PAGE))["cells"]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == [
        ("code", SHELL.removesuffix("\n")),
        ("markdown", "# Songs\n\nWrite a file, and read [about it](https://example.org):"),
        ("code", "%%writefile songs.toml\ndelays = [1]"),
        ("code", "print(1)"),
        ("code", "%%bash\nls"),
        ("markdown", "Only to be read:\n\n```console\n# reboot\n```"),
    ]


def test_the_same_page_is_the_same_notebook() -> None:
    assert to_notebook(PAGE) == to_notebook(PAGE)


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(TUTORIALS.glob("*.md")), ids=lambda page: page.stem)
def test_a_notebook_runs(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8").replace(PORT, free_port())
    (tmp_path / "page.ipynb").write_text(to_notebook(text), encoding="utf-8")
    result = subprocess.run(
        [Path(sys.executable).parent / "jupyter-execute", "page.ipynb"],
        cwd=tmp_path,
        env={**os.environ, "PATH": programs()},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert result.returncode == 0, result.stderr
