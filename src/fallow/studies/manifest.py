"""The manifest of a folder of results: which spec and which code they are of."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from fallow import checks
from fallow.errors import InputError
from fallow.files import parse_json
from fallow.instance import Instance
from fallow.simulation import checked_horizon
from fallow.studies import fields
from fallow.studies.read import KINDS
from fallow.studies.spec import MEASURES, LearnerSpec, Published, Spec
from fallow.studies.study import MAX_CHECKPOINTS


class Manifest(NamedTuple):
    """The spec of some results, the version of the code, and when they were begun."""

    spec: Spec
    version: str
    started: str


def pack_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as a JSON file."""
    values = {
        "format": fields.FORMAT,
        "hash": manifest.spec.digest(),
        "version": manifest.version,
        "started": manifest.started,
        "spec": manifest.spec.values(),
    }
    return json.dumps(values, indent=2).encode()


def parse_manifest(content: bytes) -> Manifest:
    """Return the manifest whose file this is.

    Raises
    ------
    InputError
        Names the field, the rule and the value.
    """
    keys = ("format", "hash", "version", "started", "spec")
    found = fields.table("manifest", parse_json(content), keys)
    if found["format"] != fields.FORMAT:
        raise InputError("format", f"must be {fields.FORMAT}", checks.short(found["format"]))
    started = checks.text("started", found["started"])
    try:
        datetime.fromisoformat(started)
    except ValueError:
        raise InputError("started", "must be a time", checks.short(started)) from None
    spec = _parse_spec(found["spec"])
    if found["hash"] != spec.digest():
        raise InputError("hash", f"must be {spec.digest()}", checks.short(found["hash"]))
    return Manifest(spec, checks.text("version", found["version"]), started)


def _parse_spec(value: object) -> Spec:
    values = fields.table("spec", value, _names(Spec))
    for key, check in CHECKS.items():
        check(f"spec.{key}", values[key])
    spec = Spec.from_values(values)
    if spec.sweep is None and spec.kind == "sweep":
        raise InputError("spec.kind", "must not be 'sweep' without spec.sweep", "both")
    if spec.sweep is not None and spec.sweep[0] != "horizon" and "means" in spec.source:
        raise InputError("spec.sweep", "must be of horizon beside means", f"{spec.sweep[0]!r}")
    for point in spec.points:
        spec.at(point).rounds()  # refuses checkpoints beyond the horizon
    for published in spec.published:
        checks.one_of("spec.published.learner", published.learner, spec.learners)
        if published.switching_cost not in spec.switching_costs:
            raise InputError(
                "spec.published.switching_cost",
                "must be one of spec.switching_costs",
                f"{published.switching_cost}",
            )
        if published.round not in spec.rounds():
            raise InputError("spec.published.round", "must be a checkpoint", f"{published.round}")
    return spec


def _names(kind: type[Spec | LearnerSpec | Published]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind)]


def _source(name: str, value: Any) -> None:
    if isinstance(value, dict) and "means" in value:
        Instance(fields.table(name, value, ["means"])["means"])
        return
    source = fields.table(name, value, ["catalog", "parameters"])
    checks.text(f"{name}.catalog", source["catalog"])
    _mapping(f"{name}.parameters", source["parameters"])


def _learners(name: str, value: Any) -> None:
    if not _mapping(name, value):
        raise InputError(name, "must hold at least one learner", "none")
    for learner, each in value.items():
        if any("\ud800" <= character <= "\udfff" for character in learner):
            raise InputError(name, "must have names without surrogates", f"{learner!r}")
        parts = fields.table(f"{name}.{learner}", each, _names(LearnerSpec))
        checks.text(f"{name}.{learner}.learner", parts["learner"])
        _mapping(f"{name}.{learner}.parameters", parts["parameters"])


def _told(name: str, value: Any) -> None:
    for key, each in _mapping(name, value).items():
        checks.one_of(f"a key of {name}", key, ["max_delay"])
        checks.whole_number(f"{name}.{key}", each, minimum=1)


def _checkpoints(name: str, value: Any) -> None:
    if isinstance(value, list):
        checks.whole_numbers(name, value, minimum=0)
    else:
        checks.whole_number(name, value, minimum=1, maximum=MAX_CHECKPOINTS)


def _sweep(name: str, value: Any) -> None:
    if value is None:
        return
    if len(fields.rows(name, value)) != 2:
        raise InputError(name, "must be a key and its values", checks.short(value))
    key, points = value
    _different(name, points, checked_horizon if key == "horizon" else checks.number)
    checks.text(f"the key of {name}", key)


def _different(name: str, value: Any, check: Callable[[str, Any], Any]) -> None:
    """Check numbers of which no two are the same."""
    found = [check(name, each) for each in fields.rows(name, value)]
    if not found or len(set(found)) < len(found):
        raise InputError(name, "must be different numbers", checks.short(value))


def _published(name: str, value: Any) -> None:
    for each in fields.rows(name, value):
        found = fields.table(f"an entry of {name}", each, _names(Published))
        checks.text(f"{name}.note", found["note"])
        checks.whole_number(f"{name}.round", found["round"], minimum=1)
        low, middle, high = (
            checks.number(f"{name}.{key}", found[key]) for key in ("low", "value", "high")
        )
        if not low <= middle <= high:
            raise InputError(f"{name}.value", "must be from low to high", f"{middle}")


def _code(name: str, value: Any) -> None:
    for key, each in _mapping(name, value).items():
        checks.text(f"{name}.{key}", each)


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(name, "must be a table", checks.short(value))
    return value


CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(("name", "section", "title", "caption", "rewards", "axis"), checks.text),
    "source": _source,
    "learners": _learners,
    "horizon": checked_horizon,
    "runs": lambda name, value: checks.whole_number(name, value, minimum=1),
    "seed": checks.seed,
    "concentration": checks.positive,
    "told": _told,
    "drift": lambda name, value: checks.whole_number(name, value, minimum=1),
    "checkpoints": _checkpoints,
    "sweep": _sweep,
    "switching_costs": lambda name, value: _different(name, value, checks.not_negative),
    "kind": lambda name, value: checks.one_of(name, value, KINDS),
    "measure": lambda name, value: checks.one_of(name, value, MEASURES),
    "published": _published,
    "code": _code,
}
"""How each field of a spec is checked."""
