"""Many runs: a study says what is run, the engine runs it, a result says what it came to."""

from fallow.intervals import Estimate, estimate
from fallow.studies.replicate import replicate
from fallow.studies.result import Result
from fallow.studies.study import Study, log_rounds

__all__ = ["Estimate", "Result", "Study", "estimate", "log_rounds", "replicate"]
