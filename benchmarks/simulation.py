"""How fast is the simulator, and does its cost grow with the horizon?"""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

import fallow
from benchmarks.minimal import tuned_ranking_ucb
from benchmarks.peers import Environment
from benchmarks.ratios import Ratio, in_turns, spread
from benchmarks.section import Section

PULLS = 10**7
USER_PULLS = 200_000
RUNS = 20
LONG = """
import fallow
instance = fallow.catalog.figure2(seed=3)
fallow.simulate(
    instance, fallow.RankingUCB(instance.order), 10**9, seed=0, checkpoints=[10**9]
)
print(int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) / 1e3)
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
    works: dict[str, Callable[[], object]] = {
        "short": partial(_low_switch, instance, 10**4),
        "long": partial(_low_switch, instance, 10**12),
        "ranking": lambda: fallow.simulate(
            instance, fallow.RankingUCB(instance.order), PULLS, 0, checkpoints=[PULLS]
        ),
        "tuned": lambda: tuned_ranking_ucb(instance.means, PULLS, np.random.default_rng(0)),
        "user": lambda: fallow.simulate(instance, RoundRobin(7), USER_PULLS, 0),
        "plain": lambda: _pull_all(Environment(instance, 0)),
    }
    times = in_turns(works, repeats=9)
    flat = Ratio.of(times["short"], times["long"])
    ranking = Ratio.of(times["tuned"], times["ranking"])
    user = Ratio.of(times["plain"], times["user"])
    memory = json.loads(
        subprocess.run([sys.executable, "-c", LONG], check=True, capture_output=True).stdout
    )
    long = [time / RUNS for time in times["long"]]
    pulls = PULLS / median(times["ranking"]) / 1e6
    rows = [
        ("`LowSwitch`, k = 7, T = 10^12, one run", "under 5 ms", spread(long)),
        ("the same, times as fast as T = 10^4", "at least 0.25", str(flat)),
        ("`RankingUCB`, k = 7, million pulls a second", "", f"{pulls:.0f}"),
        ("the same, times as fast as a tuned loop by hand", "at least 0.8", str(ranking)),
        (
            "a user's learner in plain Python, one pull a decision, pulls a second",
            "at least 150,000",
            f"{USER_PULLS / median(times['user']):,.0f}",
        ),
        ("the same, times as fast as such a loop without `simulate`", "", str(user)),
        ("`RankingUCB`, T = 10^9, peak memory of the process", "under 300 MB", f"{memory:.0f} MB"),
    ]
    return Section(
        "The simulator",
        ("Work", "Reach", "Measured"),
        rows,
        f"Figure 2's family, seed 3, Bernoulli rewards; `RankingUCB` with T = {PULLS:,}. The tuned "
        "loop, `tuned_ranking_ucb` of `benchmarks/minimal.py`, keeps no record of what was played; "
        "nor does the loop in plain Python, which pulls arms in turn from the environment that the "
        "other libraries are given.",
    )


def _low_switch(instance: fallow.Instance, horizon: int) -> None:
    for seed in range(RUNS):
        fallow.simulate(instance, fallow.LowSwitch(instance.order, horizon), horizon, seed)


def _pull_all(environment: Environment) -> None:
    for now in range(USER_PULLS):
        environment.pull(now % 7)
