"""Learners by name, told what their algorithms may know of the instance and no more."""

from collections.abc import Callable, Mapping
from inspect import signature
from types import MappingProxyType

from fallow import checks, user_code
from fallow.instance import Instance
from fallow.learners.anytime_low_switch import AnytimeLowSwitch
from fallow.learners.bandit_ranker import BanditRanker
from fallow.learners.baselines import UCB1, EpsilonGreedy, SlidingWindowUCB, ThompsonSampling
from fallow.learners.checked_learner import CheckedLearner
from fallow.learners.explore_then_commit import ExploreThenCommit
from fallow.learners.follow import Follow
from fallow.learners.isi_comb_ucb1 import ISICombUCB1
from fallow.learners.joint_ranking import JointRanking
from fallow.learners.lookahead import Lookahead
from fallow.learners.low_switch import LowSwitch
from fallow.learners.rank_then_cut import RankThenCut
from fallow.learners.ranking_ucb import RankingUCB
from fallow.learners.ranking_ucb2 import RankingUCB2
from fallow.learners.rotation import Rotation
from fallow.learners.ucb_greedy import UCBGreedy
from fallow.planners.cycle import Plan
from fallow.planners.greedy import greedy
from fallow.planners.plan import plan
from fallow.planners.ranking import ghost
from fallow.planners.whittle import whittle
from fallow.protocol import Learner


def _following(planner: Callable[[Instance], Plan]) -> Callable[[Instance], Follow]:
    return lambda instance: Follow(planner(instance))


def _unbounded_rotation(
    arms: int, switching_cost: float = 0.0, planner: str = "auto", exploration: float = 0.5
) -> Rotation:
    return Rotation(arms, None, switching_cost, planner, exploration)


LEARNERS: Mapping[str, Callable[..., CheckedLearner]] = MappingProxyType(
    {
        "low-switch": LowSwitch,
        "ranking-ucb": RankingUCB,
        "ranking-ucb2": RankingUCB2,
        "anytime-low-switch": AnytimeLowSwitch,
        "rank-then-cut": RankThenCut,
        "joint-ranking": JointRanking,
        "bandit-ranker": BanditRanker,
        "rotation": Rotation,
        "rotation-unbounded": _unbounded_rotation,
        "ucb1": UCB1,
        "thompson-sampling": ThompsonSampling,
        "epsilon-greedy": EpsilonGreedy,
        "sliding-window-ucb": SlidingWindowUCB,
        "ucb-greedy": UCBGreedy,
        "lookahead": Lookahead,
        "isi-comb-ucb1": ISICombUCB1,
        "explore-then-commit": ExploreThenCommit,
        "ghost": _following(ghost),
        "greedy": _following(greedy),
        "whittle": _following(whittle),
        "plan": _following(plan),
    }
)
"""How each learner is made; the last four follow a plan made with full knowledge."""

TOLD: Mapping[str, Callable[[Instance, int, int], object]] = MappingProxyType(
    {
        "instance": lambda instance, _, __: instance,
        "arms": lambda instance, _, __: instance.arms,
        "order": lambda instance, _, __: instance.order.tolist(),
        "delays": lambda instance, _, __: instance.delays.tolist(),
        "max_delay": lambda instance, _, __: _bound(instance),
        "horizon": lambda _, horizon, __: horizon,
        "seed": lambda _, __, seed: seed,
    }
)
"""By argument, what a learner that has this argument is told of instance, horizon and seed."""


def _bound(instance: Instance) -> int | None:
    """Return the bound on delays that learners are told, none where delays do not matter."""
    return max(int(instance.delays.max()), 1) if instance.arms > 1 else None


def find_learner(name: str, what: str = "a learner") -> Callable[..., Learner]:
    """Return how a learner is made: one of `LEARNERS`, or a user's own that was loaded."""
    if user_code.is_user_code(name):
        make: Callable[..., Learner] = user_code.find(name)
        return make
    checks.one_of(what, name, LEARNERS)
    return LEARNERS[name]


def free_parameters(name: str) -> list[str]:
    """Return the parameters of a learner that a user may set."""
    return [each for each in signature(find_learner(name)).parameters if each not in TOLD]


def learner_factory(
    name: str,
    horizon: int,
    parameters: Mapping[str, object] = MappingProxyType({}),
    told: Mapping[str, object] = MappingProxyType({}),
) -> Callable[[Instance, int], Learner]:
    """Return a function from an instance and a seed to a fresh learner.

    The learner is told what its arguments ask for, and no more; `told` overrides the instance's
    facts.

    Examples
    --------
    >>> from fallow import catalog
    >>> pi_low = learner_factory("low-switch", horizon=1000, parameters={"delta": 0.2})
    >>> pi_low(catalog.figure3(), 0).ask()
    Block(arms=(0,), plays=17)
    """
    make = find_learner(name)
    wanted = [argument for argument in signature(make).parameters if argument in TOLD]
    checks.arguments(name, make, parameters, supplied=wanted)

    def build(instance: Instance, seed: int) -> Learner:
        facts = {
            argument: told.get(argument, TOLD[argument](instance, horizon, seed))
            for argument in wanted
        }
        learner = make(**facts, **parameters)
        for method in ("ask", "tell"):
            if not callable(getattr(learner, method, None)):
                raise ValueError(f"{name} must have a method {method}, got {type(learner)}")
        return learner

    return build
