"""Where a learner stands on a family, and the file of all standings."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, get_type_hints

import numpy as np

from fallow import checks
from fallow.arrays import FloatArray
from fallow.errors import InputError
from fallow.files import read_whole, write_whole
from fallow.intervals import Estimate, estimate
from fallow.learners.registry import LEARNERS, knowledge
from fallow.planners.optimal import within_reach
from fallow.planners.plan import MAX_STATES
from fallow.studies import fields
from fallow.studies.folder import read_results
from fallow.studies.spec import LearnerSpec, Spec
from fallow.studies.workers import Workers, without_ctrl_c
from reproduction.tournament import replay

EARLY = 1_000
"""Rounds after which learners are compared, beside the horizon."""
FIRST = 10
"""The round from which on regret is drawn."""
REPLAYS = "replays.json"
"""The file of a family's folder that keeps what was measured by playing again."""
KNOWLEDGE = {
    "instance": "the whole instance",
    "order": "the order of the arms",
    "delays": "the delay of each arm",
    "max_delay": "a bound on the delays",
}
"""By argument, what a learner that has it is told."""
NOTHING = "nothing"


@dataclass(frozen=True)
class Standing:
    """A learner on a family after so many rounds: means over runs and half-widths at 95 %.

    Attributes
    ----------
    family
        The title of its spec.
    label, learner, parameters
        The learner's name in the spec, its name on the command line, and what the spec sets.
    told
        What it is told beside the number of arms and the horizon.
    rounds
        T, up to where everything is counted.
    runs, seed
        How often it was played, and where the randomness came from.
    share, share_half_width
        Of the optimum's reward that was earned, or of the upper bound's where the optimum is out of
        reach.
    regret, regret_half_width
        Against the same.
    switches
        How often the pulls stop going on as they did at some earlier place, in a few runs.
    seconds
        Processor time of one run to the horizon on one instance of the family, once compiled.
    against_bound
        Whether the optimum is out of reach, and its upper bound stands for it.
    """

    family: str
    label: str
    learner: str
    parameters: dict[str, Any]
    told: str
    rounds: int
    runs: int
    seed: int
    share: float
    share_half_width: float
    regret: float
    regret_half_width: float
    switches: float
    seconds: float
    against_bound: bool


Replays = Mapping[str, Mapping[str, Any]]
"""By label, "switches" at each round of comparison, and "seconds" of a run."""


def standings(folder: Path, replays: Replays) -> list[Standing]:
    """Return where each learner stands in the experiment of a folder; a sweep counts as one family.

    Each learner has a standing after `EARLY` rounds, if that is a checkpoint, and one at the
    horizon.
    """
    spec, studies = read_results(folder)
    against_bound = not within_reach(spec.at(spec.points[0]).first_instance(), MAX_STATES)
    checkpoints = studies[0].rounds.tolist()
    found = []
    for label, learner in spec.learners.items():
        shares = _over_runs([study.share(label) for study in studies])
        regrets = _over_runs([study.regret(label, "optimum") for study in studies])
        for rounds, switches in zip(compared_rounds(spec), replays[label]["switches"], strict=True):
            share, share_half_width = shares.at(checkpoints.index(rounds))
            regret, regret_half_width = regrets.at(checkpoints.index(rounds))
            found.append(
                Standing(
                    family=spec.title,
                    label=label,
                    learner=learner.learner,
                    parameters=dict(learner.parameters),
                    told=told(learner),
                    rounds=rounds,
                    runs=sum(len(study.runs) for study in studies),
                    seed=spec.seed,
                    share=float(share),
                    share_half_width=float(share_half_width),
                    regret=float(regret),
                    regret_half_width=float(regret_half_width),
                    switches=switches,
                    seconds=replays[label]["seconds"],
                    against_bound=against_bound,
                )
            )
    return found


def regret_curves(folder: Path) -> tuple[list[int], dict[str, FloatArray]]:
    """Return the checkpoints of a folder's experiment, and the mean regret of each learner.

    From round `FIRST` on: before, regret is mostly how the first arms happen to pay.
    """
    spec, studies = read_results(folder)
    shown = studies[0].rounds >= FIRST
    curves = {
        label: _over_runs([study.regret(label, "optimum")[:, shown] for study in studies]).mean
        for label in spec.learners
    }
    return studies[0].rounds[shown].tolist(), curves


def _over_runs(values: Sequence[FloatArray]) -> Estimate:
    return estimate(np.concatenate(values))


def compared_rounds(spec: Spec) -> list[int]:
    """Return after how many rounds the learners of a family are compared."""
    rounds = spec.at(spec.points[0]).rounds().tolist()
    return [each for each in rounds if each == EARLY or each == rounds[-1]]


def told(learner: LearnerSpec) -> str:
    """Say what a learner is told beside the number of arms and the horizon.

    Examples
    --------
    >>> told(LearnerSpec("rotation", {})), told(LearnerSpec("thompson-sampling", {}))
    ('a bound on the delays', 'nothing')
    """
    if learner.learner not in LEARNERS:
        return NOTHING
    arguments = knowledge(learner.learner, learner.parameters)
    facts = [fact for argument, fact in KNOWLEDGE.items() if argument in arguments]
    return " and ".join(facts) or NOTHING


def replay_all(
    folder: Path, spec: Spec, workers: Workers, on_learner: Callable[[int], None] = lambda _: None
) -> Replays:
    """Play some runs of each learner again, or read what that came to before."""
    path = folder / REPLAYS
    if path.exists():
        on_learner(len(spec.learners))
        return _load_replays(path, spec)
    executor = workers.executor(spec.at(spec.points[0]).study())
    rounds = compared_rounds(spec)
    with without_ctrl_c():
        counted = {
            label: [
                executor.submit(replay.count_switches, spec, label, number, rounds)
                for number in range(replay.RUNS)
            ]
            for label in spec.learners
        }
        timed = {label: executor.submit(replay.seconds, spec, label) for label in spec.learners}
    found = {}
    for label in spec.learners:
        counts = zip(*(future.result() for future in counted[label]), strict=True)
        found[label] = {"switches": list(map(fmean, counts)), "seconds": timed[label].result()}
        on_learner(1)
    write_whole(path, json.dumps(found).encode())
    return found


def _load_replays(path: Path, spec: Spec) -> Replays:
    try:
        found = fields.table("replays", json.loads(read_whole(path)), spec.learners)
        for label, each in found.items():
            values = fields.table(label, each, ("switches", "seconds"))
            checks.number("seconds", values["seconds"])
            counts = [checks.number("switches", count) for count in values["switches"]]
            if len(counts) != len(compared_rounds(spec)):
                raise InputError("switches", "must be one for each round compared", f"{counts}")
    except (ValueError, TypeError, RecursionError) as error:
        rule = f"is damaged: {error}; remove it, and start again"
        raise InputError(str(path), rule) from None
    return found


def standings_json(table: Sequence[Standing]) -> bytes:
    """Return the standings as a JSON file."""
    rows = ",\n".join(json.dumps(asdict(standing)) for standing in table)
    return f"[\n{rows}\n]\n".encode()


def load_standings(path: Path) -> list[Standing]:
    """Read the standings that `standings_json` wrote."""
    try:
        rows = fields.rows("standings", json.loads(read_whole(path)))
        return [_parse_standing(row) for row in rows]
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{path}", f"must be a file of `reproduction tournament`: {error}"
        ) from None


def _parse_standing(row: object) -> Standing:
    kinds = get_type_hints(Standing)
    values = fields.table("a standing", row, kinds)
    for name, value in values.items():
        if kinds[name] is str:
            checks.text(name, value)
        elif kinds[name] is int:
            checks.whole_number(name, value, minimum=0, maximum=checks.LARGEST_SEED)
        elif kinds[name] is bool and not isinstance(value, bool):
            raise InputError(name, "must be true or false", checks.short(value))
        elif kinds[name] is float:
            _check_number(name, value)
        elif kinds[name] == dict[str, Any]:
            checks.mapping(name, value)
    return Standing(**values)


def _check_number(name: str, value: Any) -> None:
    """Check a finite number; half-widths of a single run are not a number."""
    if not ("half_width" in name and isinstance(value, float) and math.isnan(value)):
        checks.number(name, value)
