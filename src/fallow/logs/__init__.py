"""From a log to a plan: what wears out, how fast, and what a better rotation would earn."""

from fallow.logs.design import Design, Power, design
from fallow.logs.evidence import Interval
from fallow.logs.fit import Fit, Recovery, fit
from fallow.logs.log import Log
from fallow.logs.rest import ArmVerdict, Verdict, rest_matters
from fallow.logs.simulated import simulate_log
from fallow.logs.support import CannotSay, Support
from fallow.logs.value import Value, plan_and_value, value

__all__ = [
    "ArmVerdict",
    "CannotSay",
    "Design",
    "Fit",
    "Interval",
    "Log",
    "Power",
    "Recovery",
    "Support",
    "Value",
    "Verdict",
    "design",
    "fit",
    "plan_and_value",
    "rest_matters",
    "simulate_log",
    "value",
]
