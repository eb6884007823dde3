"""Which options of LowSwitch have the least regret: active widths, committing, or both?"""

from pathlib import Path
from typing import Any

import numpy as np

import fallow
from benchmarks.section import Section
from fallow.arrays import FloatArray
from fallow.intervals import estimate
from fallow.studies.read import load_spec
from fallow.studies.study import Factory, Family

FOLDER = Path(__file__).parent.parent / "reproduction" / "experiments" / "tournament"
FAMILIES = (
    "arms-100",
    "arms-30",
    "blocking-fixed",
    "blocking-large",
    "blocking-small",
    "figure2",
    "figure3",
    "figure3-gaps",
    "greedy-trap",
    "many-delays",
    "pinwheel",
    "pinwheel-dense",
    "random-geometric",
    "random-power",
    "random-table",
    "recovering",
    "theorem2",
    "theorem2-mild",
    "trick-og",
    "wrong-drifting",
    "wrong-falling",
    "wrong-longer-delays",
)
OPTIONS: dict[str, dict[str, Any]] = {
    "as printed": {},
    "commit": {"cut_stage": "commit"},
    "active": {"widths": "active"},
    "active, commit": {"widths": "active", "cut_stage": "commit"},
}
HORIZONS = [10**power for power in range(3, 10)]
RUNS = 100
SEED = 51  # no constant was chosen on it


def measure() -> Section:
    families = _families()
    rows = []
    for horizon in HORIZONS:
        found = {name: _regrets(family, horizon) for name, family in families.items()}
        for other in list(OPTIONS)[1:]:
            ratios, less, more = [], 0, []
            for name, regrets in found.items():
                further = estimate(regrets[other] - regrets["as printed"])
                less += bool(further.mean + further.half_width < 0)
                if further.mean - further.half_width > 0:
                    more.append((float(further.mean), name))
                if regrets["as printed"].mean() > 10:
                    ratios.append(float(regrets[other].mean() / regrets["as printed"].mean()))
            rows.append(
                (
                    f"{horizon:,}",
                    other,
                    f"{less}",
                    f"{len(more)}",
                    f"{np.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})",
                    "; ".join(f"{lost:,.1f} on {name}" for lost, name in sorted(more)[:-3:-1]),
                )
            )
    return Section(
        "Options of `LowSwitch`: active widths, and committing",
        (
            "T",
            "LowSwitch",
            "families with less regret",
            "with more",
            "regret over that as printed, median (range)",
            "most lost, in rounds of regret",
        ),
        rows,
        f"Regret against ghost without switching cost over {len(families)} families of the "
        f"tournament (each point of a sweep is one), {RUNS} paired runs with seed {SEED}, "
        "Bernoulli rewards. More and less regret than Algorithm 1 as printed are 95 % intervals of "
        "the difference that exclude 0, so a few would be there by chance. "
        '"active" is `widths="active"`, "commit" is `cut_stage="commit"`: a stage that the horizon '
        "would cut is not begun. Ratios are of families where the regret as printed is above 10. "
        "Where two policies are equal, each switch between them earns a little, and Algorithm 1 as "
        "printed switches more often.",
    )


def _families() -> dict[str, fallow.Instance | Family]:
    found: dict[str, fallow.Instance | Family] = {}
    for family in FAMILIES:
        spec = load_spec(FOLDER / f"{family}.toml")
        for point in spec.points:
            name = spec.name if point is None else f"{spec.name} {point:g}"
            found[name] = spec.at(point).instance()
    return found


def _regrets(family: fallow.Instance | Family, horizon: int) -> dict[str, FloatArray]:
    def make(options: dict[str, Any]) -> Factory:
        return lambda instance, _: fallow.LowSwitch(instance.order, horizon, **options)

    learners = {name: make(options) for name, options in OPTIONS.items()}
    study = fallow.replicate(family, learners, horizon, RUNS, SEED, checkpoints=[horizon])
    return {name: study.regret(name)[:, -1] for name in learners}
