"""A stage that the horizon would cut: is it better to race it, or to commit to the best policy?"""

from pathlib import Path

import numpy as np

import fallow
from benchmarks.section import Section
from fallow.arrays import FloatArray
from fallow.intervals import estimate
from fallow.learners.low_switch import CutStage, Rounding
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
READINGS: dict[str, tuple[Rounding, CutStage]] = {
    "race": ("up", "race"),
    "commit": ("up", "commit"),
    "commit, rounded down": ("down", "commit"),
}
HORIZONS = [10**power for power in range(3, 10)]
RUNS = 100
SEED = 51  # no constant was chosen on it


def measure() -> Section:
    families = _families()
    rows = []
    for horizon in HORIZONS:
        found = {name: _regrets(family, horizon) for name, family in families.items()}
        for other in list(READINGS)[1:]:
            ratios, less, more = [], 0, []
            for name, regrets in found.items():
                further = estimate(regrets[other] - regrets["race"])
                less += bool(further.mean + further.half_width < 0)
                if further.mean - further.half_width > 0:
                    more.append((float(further.mean), name))
                if regrets["race"].mean() > 10:
                    ratios.append(float(regrets[other].mean() / regrets["race"].mean()))
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
        "Committing in place of a stage that the horizon would cut",
        (
            "T",
            "LowSwitch",
            "families with less regret",
            "with more",
            "regret over that of racing, median (range)",
            "most lost, in rounds of regret",
        ),
        rows,
        f"Regret against ghost without switching cost over {len(families)} families of the "
        f"tournament (each point of a sweep is one), {RUNS} paired runs with seed {SEED}, "
        "Bernoulli rewards; more and less are 95 % intervals of the difference that exclude 0, so "
        'a few would be there by chance. "commit" is `cut_stage="commit"`, rounded down with '
        '`rounding="down"` too. Ratios are of families where racing has a regret above 10. Where '
        "two policies are equal, each switch between them earns a little, which racing does more "
        "often.",
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
    def make(rounding: Rounding, cut_stage: CutStage) -> Factory:
        return lambda instance, _: fallow.LowSwitch(
            instance.order, horizon, rounding=rounding, cut_stage=cut_stage
        )

    learners = {name: make(*reading) for name, reading in READINGS.items()}
    study = fallow.replicate(family, learners, horizon, RUNS, SEED, checkpoints=[horizon])
    return {name: study.regret(name)[:, -1] for name in learners}
