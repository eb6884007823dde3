"""Specs of experiments, most of them wrong."""

import json
import tomllib
from pathlib import Path
from random import Random
from typing import Any

from fallow.studies.fields import spec_of
from fallow.studies.read import load_spec
from fuzzing.documents import broken, write_toml

EXPERIMENTS = Path(__file__).parents[2] / "reproduction" / "experiments"
HEAD = "horizon = 60\nruns = 1\nseed = 1\n"
WRITTEN = (
    f"""{HEAD}checkpoints = [
    10,
    60,
]
switching_costs = [0, 2]
[instance]
catalog = "random_geometric"
arms = 3
[learners.low]
learner = "low-switch"
delta = 0.2
[learners.ghost]
[[published]]
learner = "low"
round = 60
value = 5
[figure]
measure = "share"
""",
    f"""{HEAD}drift = 3
rewards = "beta"
concentration = 5
[instance]
catalog = "drifting"
[told]
max_delay = 4
[learners.rotation]
planner = "auto"
exploration = 0.4
[learners.bandit-ranker]
frugal = true
""",
    f"""{HEAD}rewards = "none"
[instance]
catalog = "maintenance"
intervals = [2, 4, 4]
[learners.composed]
learner = "rank-then-cut"
then = "ranking-ucb2"
options = {{alpha = 0.5}}
[learners.doubling]
of = "low-switch"
first_horizon = 16
options = {{delta = 0.2}}
[learners.window]
learner = "sliding-window-ucb"
window = 10
[learners.lookahead]
depth = 2
length_scale = 3.0
[learners.isi-comb-ucb1]
block = 3
""",
    f"""{HEAD}[instance]
catalog = "figure3"
[sweep]
epsilon = [-0.1, 0, 0.1]
[learners.ranking-ucb]
[figure]
kind = "sweep"
""",
)


def _shortened(path: Path) -> dict[str, Any]:
    """Return one of the paper's experiments with few rounds and runs."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    document.pop("published", None)
    document["runs"] = 1
    if "horizon" in document:
        document["horizon"] = 60
    if "horizon" in document.get("sweep", {}):
        document["sweep"]["horizon"] = [60, 30]
    return document


DOCUMENTS = [
    *map(tomllib.loads, WRITTEN),
    *(_shortened(path) for path in sorted(EXPERIMENTS.glob("*.toml"))),
]


def case(generator: Random, folder: Path) -> str:
    """Read one spec; if that succeeds, send it through JSON, and play a run if it is small."""
    document = generator.choice(DOCUMENTS)
    text = next((each for each in WRITTEN if tomllib.loads(each) == document), write_toml(document))
    path = folder / "spec.toml"
    path.write_bytes(broken(document, text, generator))
    try:
        spec = load_spec(path)
    except (ValueError, OSError):
        return "refused"
    assert spec_of(json.loads(json.dumps(spec.values()))) == spec
    here = spec.at(spec.points[0])
    if here.horizon <= 200 and here.drift <= 5 and here.first_instance().means.size <= 200:
        here.study().play(0)
    return "read"
