"""What the build of the site makes itself: reference pages, pictures, and the site's address."""

from __future__ import annotations

import importlib
import inspect
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.notebooks import TUTORIALS, to_notebook
from docs.pictures import PICTURES, svg

ROOT = Path(__file__).parent.parent
MODULES = (
    "fallow",
    "fallow.decay",
    "fallow.catalog",
    "fallow.planners",
    "fallow.planners.maintenance",
    "fallow.learners",
    "fallow.protocol",
    "fallow.studies",
    "fallow.logs",
    "fallow.live",
    "fallow.env",
)
"""Each has a page of the reference, after those that are written by hand."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take from the project what it says already, and put the modules into the navigation."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.site_description = project["description"]
    config.site_url = project.get("urls", {}).get("Documentation", "")
    (reference,) = (part["Reference"] for part in config.nav or () if "Reference" in part)
    reference += [{name: page_of(name)} for name in MODULES]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is not written by hand."""
    made = {page_of(name): text for name, text in reference_pages()}
    drawn = {f"pictures/{name}.svg": svg(name) for name in PICTURES}
    notebooks = {
        f"tutorials/{page.stem}.ipynb": to_notebook(page.read_text(encoding="utf-8"))
        for page in TUTORIALS.glob("*.md")
    }
    for path, content in {**made, **drawn, **notebooks}.items():
        if (stored := files.get_file_from_path(path)) is not None:
            files.remove(stored)
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Offer each tutorial as a notebook, beneath its title."""
    path = Path(page.file.src_uri)
    if path.parent.name != "tutorials":
        return markdown
    title, _end, rest = markdown.partition("\n")
    return f"{title}\n\n[This page as a notebook]({path.stem}.ipynb)\n{rest}"


def page_of(module: str) -> str:
    """Return where the page of a module is."""
    return f"reference/{module}.md"


def reference_pages() -> Iterator[tuple[str, str]]:
    """Return a page for each module; what it shares with an earlier one is described there."""
    described: dict[int, str] = {}
    for module in map(importlib.import_module, MODULES):
        entries = [f"# {module.__name__}", inspect.getdoc(module) or ""]
        for name in public_names(module):
            path, value = f"{module.__name__}.{name}", getattr(module, name)
            first = described.setdefault(id(value), path)
            if path in MODULES:
                entries.append(f"{heading(path, name)}\n\n[A page of its own]({path}.md).")
            elif first == path:
                entries.append(entry(path, value))
            else:
                entries.append(f"{heading(path, name)}\n\nThe same as [`{first}`][{first}].")
        yield module.__name__, "\n\n".join(entries)


def heading(path: str, name: str) -> str:
    """Return a heading as descriptions have it."""
    return f'## {path} {{ #{path} data-toc-label="{name}" }}'


def entry(path: str, value: Any) -> str:
    """Return what becomes the description; of a function that is named as its module, by hand."""
    if path not in sys.modules:
        return f"::: {path}"
    options = f"heading: {path}, toc_label: {value.__name__}, show_root_full_path: false"
    return f"[](){{#{path}}}\n\n::: {path}.{value.__name__}\n    options: {{{options}}}"


def public_names(module: ModuleType) -> list[str]:
    """Return what a module offers: what it says, or what it defines."""
    own = [name for name, value in vars(module).items() if is_own(module, name, value)]
    return getattr(module, "__all__", own)


def is_own(module: ModuleType, name: str, value: object) -> bool:
    """Tell what a module defines for others from what it imports or keeps for itself."""
    return not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
