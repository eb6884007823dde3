"""Tuning: every learner that has a constant gets the same number of trials, on other draws."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from fallow import checks
from fallow.errors import InputError
from fallow.files import read_whole
from fallow.learners.registry import LEARNERS, free_parameters
from fallow.studies import fields
from fallow.studies.folder import read_results
from fallow.studies.read import load_spec
from fallow.studies.spec import LearnerSpec, Spec
from fallow.toml import Table
from reproduction.tournament.tables import TUNED


@dataclass(frozen=True)
class Tuning:
    """What is tried, and on what.

    Attributes
    ----------
    families
        Specs of the tournament with the seeds and runs of the trials.
    trials
        By learner, the parameters of each trial, as many for all.
    """

    families: Sequence[Spec]
    trials: Mapping[str, Sequence[Mapping[str, Any]]]

    def study(self, family: Spec, learner: str) -> Spec:
        """Return the study of all trials of a learner on a family."""
        trials = {str(place): each for place, each in enumerate(self.trials[learner])}
        learners = {label: LearnerSpec(learner, each) for label, each in trials.items()}
        return replace(family, name=f"{family.name}-{learner}", learners=learners)

    def studies(self) -> Iterator[tuple[Spec, str, Spec]]:
        """Yield each family and each learner, with the study of its trials."""
        for family in self.families:
            for learner in self.trials:
                yield family, learner, self.study(family, learner)


@dataclass(frozen=True)
class Trial:
    """Parameters of a learner, and the share of the optimum that they earned, by family."""

    learner: str
    parameters: dict[str, Any]
    shares: dict[str, float]

    @property
    def mean(self) -> float:
        """The mean share over families."""
        return fmean(self.shares.values())


def load_tuning(path: Path) -> Tuning:
    """Read what to try from a TOML file.

    The file has `runs`; a table `families` of names of specs in the folder above and the seeds of
    their draws; and by learner, in `trials`, lists of values of its parameters: trial i takes value
    i of each list.

    Raises
    ------
    InputError
        Names the key, the rule, the value and the line.
    """
    table = Table.load(path)
    runs = table.take("runs", lambda key, value: checks.whole_number(key, value, minimum=1))
    listed = table.table("families")
    families = []
    for name in listed.values:
        seed = listed.take(name, checks.seed)
        spec = load_spec(path.parent.parent / f"{name}.toml")
        if seed == spec.seed:
            rule = "must not be that of the tournament"
            raise listed.mistake(InputError(listed.name(name), rule, f"{seed}"), name)
        families.append(replace(spec, seed=seed, runs=runs))
    trials = _read_trials(table.table("trials"))
    table.end()
    tuning = Tuning(families, trials)
    for _, _, study in tuning.studies():  # a value that no learner takes shows at once
        for each in study.learners.values():
            study.factory(each)(study.at(study.points[0]).first_instance(), 0)
    return tuning


def _read_trials(table: Table) -> dict[str, list[dict[str, Any]]]:
    trials: dict[str, list[dict[str, Any]]] = {}
    for learner in table.values:
        inner = table.table(learner)
        if learner not in LEARNERS:
            hint = checks.suggestion(learner, LEARNERS)
            raise inner.mistake(
                InputError("a key of trials", "must be a learner", f"{learner!r}{hint}")
            )
        lists = inner.take_given(free_parameters(learner))
        inner.end()
        for name, values in lists.items():
            if not isinstance(values, list) or not values:
                wrong = InputError(
                    inner.name(name), "must be a list of values", checks.short(values)
                )
                raise inner.mistake(wrong, name)
        lengths = {len(values) for values in lists.values()}
        budget = len(next(iter(trials.values()), next(iter(lists.values()), [])))
        if lengths != {budget}:
            rule = f"must have {budget} trials, as all learners have"
            found = f"lists of {', '.join(map(str, sorted(lengths)))}"
            raise inner.mistake(InputError(inner.name(), rule, found))
        trials[learner] = [
            dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)
        ]
    return trials


def read_trials(tuning: Tuning, folder: Path) -> list[Trial]:
    """Return what all trials came to, whose studies were run in folders of their names."""
    shares: dict[tuple[str, int], dict[str, float]] = {
        (learner, place): {}
        for learner, trials in tuning.trials.items()
        for place in range(len(trials))
    }
    for family, learner, study in tuning.studies():
        _, results = read_results(folder / study.name)
        for place, label in enumerate(study.learners):
            ends = [float(share) for each in results for share in each.share(label)[:, -1]]
            shares[learner, place][family.title] = fmean(ends)
    return [
        Trial(learner, dict(tuning.trials[learner][place]), found)
        for (learner, place), found in shares.items()
    ]


def choose(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trial with the best mean share of each learner, the first of equals."""
    learners = dict.fromkeys(trial.learner for trial in trials)
    return [
        max((trial for trial in trials if trial.learner == learner), key=lambda trial: trial.mean)
        for learner in learners
    ]


def tuned_toml(chosen: Sequence[Trial]) -> str:
    """Return the file of learners with the values that were chosen."""
    lines = ["# Written by `python -m reproduction tune`; do not edit."]
    for trial in chosen:
        lines += ["", f"[{json.dumps(trial.learner + TUNED)}]", f'learner = "{trial.learner}"']
        lines += [f"{name} = {_toml(value)}" for name, value in trial.parameters.items()]
    return "\n".join([*lines, ""])


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml(each)}' for key, each in value.items())} }}"
    return json.dumps(value)


def trials_json(trials: Sequence[Trial]) -> bytes:
    """Return all trials as a JSON file."""
    rows = ",\n".join(json.dumps(asdict(trial)) for trial in trials)
    return f"[\n{rows}\n]\n".encode()


def load_trials(path: Path) -> list[Trial]:
    """Read the trials that `trials_json` wrote."""
    try:
        rows = fields.rows("trials", json.loads(read_whole(path)))
        return [_parse_trial(row) for row in rows]
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}", f"must be a file of `reproduction tune`: {error}") from None


def _parse_trial(row: object) -> Trial:
    values = fields.table("a trial", row, ("learner", "parameters", "shares"))
    checks.text("learner", values["learner"])
    checks.mapping("parameters", values["parameters"])
    checks.mapping("shares", values["shares"])
    for family, share in values["shares"].items():
        checks.number(f"shares.{family}", share)
    if not values["shares"]:
        raise InputError("shares", "must hold at least one family", "none")
    return Trial(**values)
