"""The documentation as a site: built strictly, and opened in a browser from its files."""

import importlib
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browsers import save_screenshot, show, value
from filelock import FileLock
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from docs.hooks import MODULES, public_names

ROOT = Path(__file__).parent.parent
PATIENCE = 60
PAGES = (
    "index.html",
    "guides/choose-a-learner.html",
    "reference/fallow.html",
    "reference/command-line.html",
    "explanation/model.html",
    "explanation/tournament.html",
)
LOADS = {"src", "srcset", "poster", "data"}
"""Attributes whose files a browser loads by itself."""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Build the site once, whichever of the processes that test needs it first."""
    shared = tmp_path_factory.getbasetemp()
    if worker_id != "master":
        shared = shared.parent
    with FileLock(shared / "site.lock"):
        folder = shared / "site"
        if not folder.exists():
            built = build(folder)
            assert built.returncode == 0, built.stderr
            assert "WARNING" not in built.stderr
    return folder


def build(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Build a site as `make docs` does, into a folder."""
    words = ["-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    command = [sys.executable, *words, *options]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


class Loaded(HTMLParser):
    """Collects the addresses that a page loads, and those it defines."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.places: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: text or "" for name, text in attrs}
        self.places.add(given.get("id", ""))
        self.addresses += [given[name] for name in LOADS & given.keys()]
        if tag == "link" and given.get("rel") != "canonical":
            self.addresses.append(given.get("href", ""))


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for address in Loaded(text).addresses:
            assert not re.match(r"(https?:)?//", address), (page.name, address)
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", sheet.read_text("utf-8"))


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_its_entry(site: Path, module: str) -> None:
    page = Loaded((site / "reference" / f"{module}.html").read_text(encoding="utf-8"))
    names = public_names(importlib.import_module(module))
    assert names
    assert {f"{module}.{name}" for name in names} <= page.places


def test_every_module_that_says_what_it_offers_has_a_page() -> None:
    files = [path for path in (ROOT / "src").rglob("*.py") if "\n__all__ =" in path.read_text()]
    names = {
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
        for path in files
    }
    assert names - {"fallow.cli"} <= set(MODULES)  # commands have a page of another kind


def test_a_site_with_broken_links_is_not_built(tmp_path: Path) -> None:
    settings = tmp_path / "mkdocs.yml"
    settings.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\nnav: [index.md, other.md]\nhooks: []\nplugins: []\n"
        "docs_dir: docs\n"
    )
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "other.md").write_text("# Other\n")
    broken = ["[a](no.md)", "[a](#no)", "[a](other.md#no)", "[a](/other.md)", "![a](no.svg)"]
    for links, status in ((["[a](other.md#other)"], 0), (broken, 1)):
        (tmp_path / "docs" / "index.md").write_text("# Start\n\n" + "\n\n".join(links))
        built = build(tmp_path / "site", "--config-file", str(settings))
        assert built.returncode == status, built.stderr
    assert built.stderr.count("WARNING") == len(broken), built.stderr


@pytest.mark.parametrize("page", PAGES)
def test_pages_fit_screens(site: Path, browser: Chrome, page: str) -> None:
    for scheme, width in (("light", 1280), ("dark", 390)):
        show(browser, site / page, scheme, width)
        assert value(browser, "document.documentElement.scrollWidth") <= width
        save_screenshot(browser, f"site-{Path(page).stem}-{scheme}", whole=False)
    loaded = value(browser, "performance.getEntriesByType('resource').map((each) => each.name)")
    assert not [name for name in loaded if not name.startswith("file:")]
    assert not browser.get_log("browser")  # type: ignore[no-untyped-call]


def test_the_scheme_is_the_readers(site: Path, browser: Chrome) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        show(browser, site / "index.html", scheme)
        colour = value(browser, "getComputedStyle(document.body).backgroundColor")
        colours[scheme] = sum(map(int, re.findall(r"\d+", colour)[:3]))
    assert colours["light"] > 600
    assert colours["dark"] < 200


def test_search_finds_pages_without_a_server(site: Path, browser: Chrome) -> None:
    show(browser, site / "index.html")
    browser.find_element(By.CSS_SELECTOR, ".md-search__input").click()
    browser.switch_to.active_element.send_keys("Whittle")
    found = WebDriverWait(browser, PATIENCE).until(
        lambda browser: browser.find_elements(By.CSS_SELECTOR, "a.md-search-result__link")
    )
    addresses = [str(link.get_attribute("href")) for link in found]
    assert any("explanation/planners.html" in address for address in addresses), addresses
    browser.get(addresses[0])
    assert "whittle" in browser.find_element(By.TAG_NAME, "main").text.lower()
