"""Plan decisions that wear out with use and recover with rest.

Modules are imported when one of their names is first used, so that `import fallow` takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # "as" says that a name is for users
    from fallow import catalog as catalog
    from fallow import decay as decay
    from fallow import learners as learners
    from fallow import live as live
    from fallow import logs as logs
    from fallow import planners as planners
    from fallow import studies as studies
    from fallow.errors import InputError as InputError
    from fallow.instance import Instance as Instance
    from fallow.learners import BanditRanker as BanditRanker
    from fallow.learners import BayesRotation as BayesRotation
    from fallow.learners import LowSwitch as LowSwitch
    from fallow.learners import RankingUCB as RankingUCB
    from fallow.learners import Rotation as Rotation
    from fallow.live import Campaign as Campaign
    from fallow.logs import Log as Log
    from fallow.planners.bounds import upper_bound as upper_bound
    from fallow.planners.cycle import Plan as Plan
    from fallow.planners.cycle import gain as gain
    from fallow.planners.optimal import optimal as optimal
    from fallow.planners.plan import plan as plan
    from fallow.planners.schedule import Schedule as Schedule
    from fallow.planners.schedule import schedule as schedule
    from fallow.protocol import Block as Block
    from fallow.protocol import Learner as Learner
    from fallow.protocol import Outcome as Outcome
    from fallow.rules import Rules as Rules
    from fallow.simulation import simulate as simulate
    from fallow.studies.replicate import replicate as replicate
    from fallow.studies.result import Result as Result
    from fallow.trajectory import Trajectory as Trajectory

    __version__: str

_MODULES = ("catalog", "decay", "learners", "live", "logs", "planners", "studies")
_HOMES = {
    "BanditRanker": "learners",
    "BayesRotation": "learners",
    "Block": "protocol",
    "Campaign": "live",
    "InputError": "errors",
    "Instance": "instance",
    "Learner": "protocol",
    "Log": "logs",
    "LowSwitch": "learners",
    "Outcome": "protocol",
    "Plan": "planners",
    "RankingUCB": "learners",
    "Result": "studies",
    "Rotation": "learners",
    "Rules": "rules",
    "Schedule": "planners",
    "Trajectory": "trajectory",
    "gain": "planners",
    "optimal": "planners",
    "plan": "planners",
    "replicate": "studies",
    "schedule": "planners",
    "simulate": "simulation",
    "upper_bound": "planners",
}
"""The module that each other public name is imported from."""

__all__ = [*_MODULES, *_HOMES]


if not TYPE_CHECKING:  # checkers would take any name for one of ours

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"fallow.{name}")
        if name in _HOMES:
            return getattr(import_module(f"fallow.{_HOMES[name]}"), name)
        if name == "__version__":
            from importlib.metadata import version

            return version("fallow")
        raise AttributeError(f"module 'fallow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
