"""`fallow warmup`: everything is compiled once, for all later processes."""

import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from fallow import Campaign, Instance, Rules, catalog, kernels, optimal, plan, schedule, simulate
from fallow.cli.app import app, user_mistakes
from fallow.cli.progress import progress_bar
from fallow.cli.terminal import print_line
from fallow.learners.registry import LEARNERS, learner_factory
from fallow.live.compile_ahead import compile_decisions
from fallow.logs import rest_matters, simulate_log, value
from fallow.machine_code import keep_stamp
from fallow.planners import HEURISTICS, advise

HORIZON = 200
"""Rounds after which each learner has called all the kernels that it has."""
LONG = 20_000
"""Rounds that are scheduled by a cycle, as there are too many for a beam."""
RULES = Rules(
    cooldowns={0: 2},
    at_most=[{"arms": [0, 1], "pulls": 2, "rounds": 4}],
    groups={"two": [2, 3]},
    at_least_once={1: 6},
)
TIGHT = Rules(cooldowns={0: 2, 1: 4, 2: 4}, exclude=[3])
"""Rules with which some planners get stuck."""


@app.command("warmup")
def warmup_command() -> None:
    """Compile everything into the cache, so that nothing else has to."""
    with user_mistakes():
        kernels.log.setLevel(logging.WARNING)  # the bar says that it compiles
        kernels.compile_all()
        folder = _cache_folder()
        works = list(all_works())
        with progress_bar("planners and learners compiled", len(works), "which are kept") as bar:
            for work in works:
                work()
                bar.advance(1)
        keep_stamp()
        sizes = [file.stat().st_size for file in folder.glob("*.nb[ci]")]
        print_line(f"{len(sizes)} files, {sum(sizes) / 1e6:.1f} MB, in {folder}")


def all_works() -> Iterator[Callable[[], object]]:
    """Return calls of all planners, learners and logs, which together call every kernel."""
    instance = catalog.random_geometric(arms=4, max_delay=3, seed=0)
    for planner in HEURISTICS.values():
        yield partial(planner, instance)
    for each in (instance, instance.with_rules(RULES)):
        yield partial(plan, each, max_states=0)
        yield partial(optimal, each)
        yield partial(schedule, each, rounds=10)
        yield partial(schedule, each, rounds=LONG, max_states=0)
    yield partial(advise, instance.with_rules(RULES))
    yield partial(plan, instance.with_rules(TIGHT), max_states=0)
    for name in LEARNERS:
        yield partial(_play, instance, name)
    yield partial(_judge, instance)
    yield compile_decisions
    yield _schedule


def _judge(instance: Instance) -> None:
    """Ask a log whether rest matters, and what a cycle is worth."""
    log = simulate_log(instance, users=30, rounds=60)
    rest_matters(log)
    value(log, [0, 1])


def _schedule() -> None:
    """Let a campaign say what comes next."""
    with Campaign.open("memory:", "trial", arms=["hymn", "waltz"], max_delay=2) as campaign:
        campaign.schedule("ann", rounds=3)


def _play(instance: Instance, name: str) -> None:
    """Let a learner play by its loop, keeping all it does, and pull by pull, keeping totals."""
    make = learner_factory(name, HORIZON)
    simulate(instance, make(instance, 0), HORIZON, 0).expected_reward(HORIZON)
    simulate(instance, make(instance, 0), HORIZON, 0, rewards="beta", checkpoints=[HORIZON])


def _cache_folder() -> Path:
    """Return where the compiler keeps machine code."""
    folders = {
        file.compiled[name].stats.cache_path
        for file in kernels.FILES.values()
        for name in file.functions
    }
    if None in folders:
        raise OSError("no folder for machine code can be written to; set NUMBA_CACHE_DIR to one")
    return Path(folders.pop())
