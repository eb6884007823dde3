"""How fast is the simulator, and does its cost grow with the horizon?"""

import json
import subprocess
import sys

import numpy as np

import fallow
from benchmarks.minimal import minimal_ranking_ucb
from benchmarks.section import Section, ratio, seconds, spread

PULLS = 10**7
LONG = """
import json, resource, fallow
run = fallow.simulate(
    fallow.catalog.figure2(seed=3), fallow.RankingUCB(7), 10**9, seed=0, checkpoints=[10**9]
)
print(json.dumps(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3))
"""


class RoundRobin:
    """A learner as a user would write it, deciding at every pull."""

    def __init__(self, arms: int) -> None:
        self.arms = arms
        self.pulls = 0
        self.earned = [0.0] * arms

    def ask(self) -> fallow.Block:
        return fallow.Block((self.pulls % self.arms,))

    def tell(self, block: fallow.Block, outcome: fallow.Outcome) -> None:
        self.earned[block.arms[0]] += outcome.first[0]
        self.pulls += 1


def measure() -> Section:
    instance = fallow.catalog.figure2(seed=3)
    short, long = (low_switch(instance, horizon) for horizon in (10**4, 10**12))
    ours = seconds(lambda: fallow.simulate(instance, fallow.RankingUCB(7), PULLS, seed=0))
    generator = np.random.default_rng(0)
    theirs = seconds(lambda: minimal_ranking_ucb(instance.means, PULLS, generator))
    user = seconds(lambda: fallow.simulate(instance, RoundRobin(7), 10**6, seed=0))
    memory = json.loads(
        subprocess.run([sys.executable, "-c", LONG], check=True, capture_output=True).stdout
    )
    speed = f"{PULLS / np.median(ours) / 1e6:.0f} million pulls a second"
    rows = [
        ("`LowSwitch`, k = 7, T = 10^12, one run", "under 5 ms", spread(long)),
        ("`LowSwitch`, k = 7, T = 10^4, one run", "", spread(short)),
        ("the first against the second", "at most 4 times", ratio(long, short)),
        ("`RankingUCB`, k = 7, T = 10^7, one core", "", f"{spread(ours)}: {speed}"),
        ("the same against the minimal loop by hand", "at least 0.8 times", ratio(theirs, ours)),
        (
            "a user's learner in plain Python, one pull a decision",
            "at least 150,000 pulls a second",
            f"{10**6 / np.median(user):,.0f} pulls a second",
        ),
        ("`RankingUCB`, T = 10^9, peak memory of the process", "under 300 MB", f"{memory:.0f} MB"),
    ]
    return Section(
        "The simulator",
        ("Work", "Reach", "Measured"),
        rows,
        "Figure 2's family, seed 3, Bernoulli rewards. The minimal loop, `benchmarks/minimal.py`, "
        "keeps no record of what was played. T = 10^9 keeps totals at one checkpoint.",
    )


def low_switch(instance: fallow.Instance, horizon: int) -> list[float]:
    """Return the time of a run, each the mean of 20."""

    def runs() -> None:
        for seed in range(20):
            fallow.simulate(instance, fallow.LowSwitch(7, horizon), horizon, seed)

    return [time / 20 for time in seconds(runs)]
