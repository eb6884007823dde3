"""Files of a study changed at random: read, or refused with a ValueError; never stuck."""

import copy
import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from helpers import Recorder, contents, write_spec

from fallow.files import seal, unseal
from fallow.studies.fields import spec_of
from fallow.studies.folder import read_results
from fallow.studies.read import load_spec
from fallow.studies.run import run
from fallow.studies.spec import Spec
from fallow.studies.summarize import summarize

VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    3,
    2**31,
    2**62,
    10**30,
    -0.5,
    1e308,
    "",
    "x",
    "\ud800",
    [],
    [[]],
    {},
    {"x": 1},
)
"""What fields are changed to."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Spec, Path]:
    """Return a spec with a sweep, and a folder of its results."""
    folder = tmp_path_factory.mktemp("study")
    file = write_spec(folder, horizon=20, runs=12, learner="ucb1")
    text = file.read_text(encoding="utf-8").replace("horizon = 20\n", "")
    file.write_text(text + "[sweep]\nhorizon = [20, 30]\n", encoding="utf-8")
    spec = load_spec(file)
    run(spec, folder / "whole", rows=True)
    return spec, folder / "whole"


def fields(value: Any) -> list[tuple[Any, Any]]:
    """Return all places in some JSON values, each as its table or list and its key."""
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value))
    nested = [each for _, each in pairs if isinstance(each, dict | list)]
    return [(value, key) for key, _ in pairs] + [place for each in nested for place in fields(each)]


def change_bytes(content: bytes, generator: np.random.Generator) -> bytes:
    """Return bytes cut, or some changed, removed or added at one place."""
    place = int(generator.integers(len(content)))
    length = int(generator.integers(1, 5))
    kind = generator.integers(4)
    if kind == 0:
        return content[:place]
    new = generator.bytes(length)
    return content[:place] + (b"" if kind == 1 else new) + content[place + (kind < 3) * length :]


def change_field(values: Any, generator: np.random.Generator) -> Any:
    """Return JSON values with one of them changed, removed or added."""
    changed = copy.deepcopy(values)
    places = fields(changed)
    table, key = places[generator.integers(len(places))]
    kind = generator.integers(6)
    if kind == 0:
        del table[key]
    elif kind == 1 and isinstance(table, dict):
        table["more"] = 1
    else:
        table[key] = VALUES[generator.integers(len(VALUES))]
    return changed


def change_manifest(folder: Path, generator: np.random.Generator) -> None:
    """Change a field, and let the hash fit again if that can be."""
    path = folder / "manifest.json"
    values = change_field(json.loads(path.read_bytes()), generator)
    with suppress(Exception):
        values["hash"] = spec_of(values["spec"]).digest()
    path.write_text(json.dumps(values))


def change_tally(folder: Path, generator: np.random.Generator) -> None:
    """Change a field or a number of a tally, and seal it again."""
    path = folder / "tally-000.bin"
    line, _, body = unseal(path.read_bytes()).partition(b"\n")
    if generator.random() < 0.5:
        line = json.dumps(change_field(json.loads(line), generator)).encode()
    else:
        numbers = np.frombuffer(body).copy()
        numbers[generator.integers(len(numbers))] = generator.choice([np.nan, np.inf, -1, 1e300])
        body = numbers.tobytes() if generator.random() < 0.8 else change_bytes(body, generator)
    path.write_bytes(seal(line + b"\n" + body))


def change_rows(folder: Path, generator: np.random.Generator) -> None:
    """Change a field of the note, a column or some bytes of rows; the name has the right digest."""
    path = min(folder.glob("rows-*"))
    content = path.read_bytes()
    note = json.loads(polars.read_parquet_metadata(BytesIO(content))["note"])
    rows = polars.read_parquet(BytesIO(content))
    column = rows.columns[generator.integers(len(rows.columns))]
    kind = generator.integers(6)
    if kind == 0:
        note = change_field(note, generator)
    elif kind == 1:
        rows = rows.drop(column)
    elif kind == 2:
        rows = rows.with_columns(polars.lit(None).alias(column))
    elif kind == 3:
        value: Any = [np.nan, np.inf, -1.0, 1e300, -(2.0**62)][generator.integers(5)]
        if rows.schema[column].is_integer():
            value = -1 if np.isnan(value) else int(max(min(value, 2.0**62), -(2.0**62)))
        elif column == "learner":
            value = "x"
        rows[int(generator.integers(len(rows))), column] = value
    elif kind == 4:
        rows = rows.sample(fraction=1, shuffle=True, seed=int(generator.integers(99)))
        rows = rows.head(int(generator.integers(len(rows) + 1)))
    buffer = BytesIO()
    rows.write_parquet(buffer, metadata={"note": json.dumps(note)})
    content = buffer.getvalue()
    if kind == 5:
        content = change_bytes(content, generator)
    path.unlink()
    digest = hashlib.sha256(content).hexdigest()[:16]
    path.with_name(f"{path.stem.rpartition('-')[0]}-{digest}.parquet").write_bytes(content)


def change_anything(folder: Path, generator: np.random.Generator) -> None:
    """Change the bytes of some file."""
    names = sorted([*contents(folder), "manifest.json"])
    path = folder / names[generator.integers(len(names))]
    path.write_bytes(change_bytes(path.read_bytes(), generator))


def error_of(work: Callable[[], object]) -> str:
    """Return the message of the ValueError that some work ends in; no other error is caught."""
    try:
        work()
    except ValueError as error:
        return str(error)
    return ""


def run_again(spec: Spec, folder: Path) -> Recorder:
    """Run in a folder that may have a manifest of another spec; that alone is refused."""
    recorder = Recorder()
    error = error_of(lambda: run(spec, folder, rows=True, watcher=recorder))
    if error:
        assert error.endswith("use another folder, or remove this one")
        (folder / "manifest.json").unlink()
        run(spec, folder, rows=True, watcher=recorder)
    return recorder


@pytest.mark.parametrize("change", [change_manifest, change_tally, change_rows])
def test_changed_fields_are_read_or_refused(
    study: tuple[Spec, Path],
    tmp_path: Path,
    change: Callable[[Path, np.random.Generator], None],
) -> None:
    """Files whose digests are right again; what is refused is played again."""
    spec, whole = study
    generator = np.random.default_rng(7)
    refused = 0
    for number in range(150):
        folder = tmp_path / str(number)
        shutil.copytree(whole, folder)
        change(folder, generator)
        for read in (summarize, read_results):
            error = error_of(partial(read, folder))
            assert not error or str(folder) in error
        if number % 5 == 0:
            recorder = run_again(spec, folder)
            refused += bool(recorder.messages)
            assert contents(folder).keys() == contents(whole).keys() or not recorder.messages
            summarize(folder)
            read_results(folder)
    assert refused > 10


def test_changed_bytes_lead_to_the_same_files(study: tuple[Spec, Path], tmp_path: Path) -> None:
    spec, whole = study
    generator = np.random.default_rng(8)
    folder = tmp_path / "changed"
    shutil.copytree(whole, folder)
    for _ in range(60):
        for _ in range(generator.integers(1, 4)):
            change_anything(folder, generator)
        run_again(spec, folder)
        assert contents(folder) == contents(whole)
        summarize(folder)
    assert len(list(folder.glob("*.damaged*"))) > 60
