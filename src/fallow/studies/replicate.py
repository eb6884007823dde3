"""Many seeded runs of several learners, paired so that they can be compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fallow import checks
from fallow.arrays import IntArray
from fallow.errors import InputError
from fallow.extras import check_extras
from fallow.instance import Instance
from fallow.planners.ranking import ghost
from fallow.rewards import CONCENTRATION, Rewards
from fallow.studies.engine import Part, play_parts
from fallow.studies.result import Result
from fallow.studies.study import Factory, Family, Reference, Study
from fallow.studies.workers import Workers, cluster_workers, local_workers

MAX_TOTALS = 2**30
"""Most totals that are in memory together, 16 GiB; `fallow run` needs no memory for them."""


def replicate(
    instance: Instance | Family,
    learners: Factory | Mapping[str, Factory],
    horizon: int,
    runs: int | range,
    seed: int,
    workers: int | None = None,
    cluster: str | None = None,
    rewards: Rewards = "bernoulli",
    checkpoints: Sequence[int] | IntArray | None = None,
    references: Mapping[str, Reference] | None = None,
    concentration: float = CONCENTRATION,
    on_runs: Callable[[int], None] = lambda _: None,
) -> Result:
    """Simulate every learner in many runs; the result does not depend on who plays them.

    Parameters
    ----------
    instance, horizon, seed, rewards, checkpoints, concentration
        As in `fallow.studies.Study`. Rewards that are drawn one by one, beta, Gaussian and
        those of a function, cost all pulls of a run.
    learners
        A function from the instance and a seed to a fresh learner, or several by name; lambdas and
        functions of a notebook will do.
    runs
        Number of runs, or the numbers of some of them, such as range(50, 60): run 50 is the same
        whichever others are asked for.
    workers
        How many play at a time on this machine; by default one per core. Learners with a compiled
        loop are played by threads, all others by processes, which take a second to start and then
        wait a minute for the next study.
    cluster
        Instead of workers here, the address of a Dask scheduler (extra `cluster`), or local:4 to
        start one with four processes.
    references
        By name, planners (or functions to a gain) to compare with; by default ghost.
    on_runs
        Called with the number of runs of each batch that is done, for progress.

    Examples
    --------
    >>> from fallow import LowSwitch, RankingUCB, catalog
    >>> learners = {
    ...     "pi_low": lambda instance, seed: LowSwitch(instance.order, horizon=1000),
    ...     "pi_ucb": lambda instance, seed: RankingUCB(instance.order),
    ... }
    >>> result = replicate(catalog.figure2, learners, horizon=1000, runs=20, seed=0)
    >>> result.regret("pi_ucb", switching_cost=1).shape
    (20, 42)
    """
    if not isinstance(runs, range):
        runs = range(checks.whole_number("runs", runs, minimum=1))
    if not runs or min(runs[0], runs[-1]) < 0:
        raise InputError("runs", "must be numbers from 0, at least one", checks.short(runs))
    checks.at_most("runs", max(runs[0], runs[-1]), checks.LARGEST)
    study = Study(
        instance,
        {"learner": learners} if callable(learners) else learners,
        horizon,
        seed,
        rewards,
        checkpoints,
        {"ghost": ghost} if references is None else references,
        concentration,
    )
    most = MAX_TOTALS // (len(study.learners) * len(study.rounds))
    given = f"with {len(study.learners)} learners and {len(study.rounds)} checkpoints"
    checks.at_most("runs", len(runs), most, given)
    if cluster is None:
        with local_workers(workers) as crew:
            return _collect(study, runs, crew, on_runs)
    if workers is not None:
        raise InputError("workers", "must not be given with a cluster, which has its own")
    check_extras("a cluster", "distributed")
    with cluster_workers(cluster) as crew:
        return _collect(study, runs, crew, on_runs)


def _collect(study: Study, runs: range, workers: Workers, on_runs: Callable[[int], None]) -> Result:
    played = []
    for _, batch in play_parts([Part(study, runs)], workers):
        for failure in batch.failures:
            study.play(failure.run)  # fails here as it did there, so that its traceback is whole
            raise RuntimeError(f"a run failed on a worker, but not here: {failure.message}")
        played.append(batch.result)
        on_runs(len(batch.runs))
    return Result.merge(played)
