"""What is built installs where nothing else is, works, and says what else there is to install."""

import os
import re
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from helpers import PROJECT, ROOT
from packaging.metadata import parse_email
from packaging.requirements import Requirement
from test_readme import PYTHON, README

import fallow

pytestmark = pytest.mark.slow
BESIDE_SOURCE = {
    ".gitignore",
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "README.md",
    "pyproject.toml",
}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel and the source that it was built from."""
    place = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(place), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    return place


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (found,) = dist.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("base"), wheel)


@pytest.fixture(scope="module")
def with_cli(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment(tmp_path_factory.mktemp("cli"), wheel, "[cli]")


def environment(place: Path, wheel: Path, extras: str = "") -> Path:
    """Install the wheel in a new environment; return the folder of its programs.

    Nothing is fetched: what it says that it needs is linked from here, and pip checks the rest.
    """
    venv.create(place)
    (site,) = place.glob("lib/python*/site-packages")
    for top in {top for name in needs(f"fallow{extras}") for top in tops(name)}:
        (site / top.name).symlink_to(top)
    pip = [sys.executable, "-m", "pip", "--python", str(place / "bin" / "python")]
    command = [*pip, "install", "--quiet", "--no-index", f"{wheel}{extras}"]
    subprocess.run(command, check=True)
    return place / "bin"


def needs(wanted: str) -> set[str]:
    """Return the names of all packages that a requirement leads to, without its own."""
    found = [Requirement(wanted)]
    for requirement in found:
        extras = ("", *requirement.extras)
        for line in distribution(requirement.name).requires or []:
            each = Requirement(line)
            marker = each.marker
            applies = marker is None or any(marker.evaluate({"extra": name}) for name in extras)
            if applies and each not in found:
                found.append(each)
    return {each.name for each in found[1:]}


def tops(name: str) -> Iterator[Path]:
    """Yield what a package has in the folder of packages."""
    files = distribution(name).files or []
    for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
        yield Path(str(distribution(name).locate_file(top)))


def tracked(*places: str) -> set[str]:
    """Return the files here that git has or would take."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *places]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines())


def run(programs: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(programs / name), *arguments]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return subprocess.run(command, cwd=programs.parent, env=clean, capture_output=True, text=True)


def test_the_source_is_complete_and_has_nothing_foreign(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert names == {"PKG-INFO"} | BESIDE_SOURCE | tracked("src")


def test_the_wheel_has_the_package_with_its_pages_and_nothing_foreign(wheel: Path) -> None:
    with ZipFile(wheel) as opened:
        names = {name for name in opened.namelist() if ".dist-info/" not in name}
    assert names == {name.removeprefix("src/") for name in tracked("src")}
    assert {Path(name).suffix for name in names} >= {".css", ".html", ".js", ".svg"}


def test_links_on_the_package_page_are_whole_and_lead_to_files(wheel: Path) -> None:
    with ZipFile(wheel) as opened:
        (name,) = (name for name in opened.namelist() if name.endswith("/METADATA"))
        metadata, _ = parse_email(opened.read(name))
    found = re.findall(r"""\]\(([^)]*)\)|(?:href|src|srcset)="([^"]*)""", metadata["description"])
    links = {"".join(link) for link in found} - set(re.findall(r"https://[^\s)]*", README))
    assert links
    for link in {*links, PROJECT["urls"]["Changelog"]}:
        start = rf"{PROJECT['urls']['Source']}/(?:blob|raw)/(?:main|v{fallow.__version__})/"
        place = re.fullmatch(rf"{start}([^#]*)(?:#.*)?", link)
        assert place is not None, link
        assert (ROOT / place[1]).exists(), link


def test_the_readme_runs_with_base_dependencies_only(base: Path) -> None:
    done = run(base, "python", "-W", "error", "-c", "".join(PYTHON))
    assert (done.returncode, done.stderr) == (0, "")
    assert "100.0% of the best possible" in done.stdout


def test_the_installed_package_tells_its_version(base: Path, with_cli: Path) -> None:
    told = run(base, "python", "-c", "import fallow; print(fallow.__version__)").stdout
    assert told == f"{fallow.__version__}\n"
    assert run(with_cli, "fallow", "--version").stdout == f"fallow {told}"


@pytest.mark.parametrize("command", ["fallow", "fallow --version", "python -m fallow plan x"])
def test_without_its_extra_the_command_line_says_what_to_install(base: Path, command: str) -> None:
    done = run(base, *command.split())
    expected = 'fallow: the command line needs typer: pip install "fallow[cli]"\n'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", expected)


@pytest.mark.parametrize(
    ("code", "module", "extra"),
    [
        ("from fallow.frames import frame; frame({})", "polars", "data"),
        ("fallow.catalog.figure3().plot()", "matplotlib", "plot"),
        ("import fallow.env", "gymnasium", "gym"),
        ("import fallow.studies.folder", "filelock", "cli"),
        ("import fallow.live.service.app", "httptools", "serve"),
        ("fallow.Campaign.open('postgresql://ann@localhost/radio', 'a')", "psycopg", "postgres"),
        (
            "fallow.replicate(fallow.catalog.figure3(), print, 9, 1, 0, cluster='local:1')",
            "distributed",
            "cluster",
        ),
    ],
)
def test_a_missing_extra_is_named_by_the_library(
    base: Path, code: str, module: str, extra: str
) -> None:
    done = run(base, "python", "-c", f"import fallow; {code}")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ModuleNotFoundError: a")
    assert last.endswith(f' needs {module}: pip install "fallow[{extra}]"')


@pytest.mark.parametrize(
    ("command", "needy", "module", "extra"),
    [
        ("simulate figure3 --out there", "--out", "polars", "data"),
        ("advise figure2 --out there.svg", "advise --out", "matplotlib", "plot"),
        ("serve --demo", "a service", "httptools", "serve"),
        ("explore", "a service", "httptools", "serve"),
        ("run x.toml --out there --cluster local:1", "--cluster", "distributed", "cluster"),
    ],
)
def test_a_missing_extra_is_named_by_commands(
    with_cli: Path, command: str, needy: str, module: str, extra: str
) -> None:
    done = run(with_cli, "fallow", *command.split())
    expected = f'fallow: {needy} needs {module}: pip install "fallow[{extra}]"\n'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", expected)
