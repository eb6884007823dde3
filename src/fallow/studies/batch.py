"""Some runs of a study, played one after the other by one worker."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

from fallow import user_code
from fallow.errors import InputError
from fallow.source import code_version
from fallow.studies.result import Result
from fallow.studies.study import Study


class Failure(NamedTuple):
    """A run that raised an error."""

    run: int
    message: str


class Batch(NamedTuple):
    """What some consecutive runs came to, those of them that failed, and the seconds they took."""

    runs: range
    result: Result
    failures: list[Failure]
    seconds: float = 0.0

    @classmethod
    def merge(cls, parts: Sequence[Batch]) -> Batch:
        """Return several batches of one study, each following the one before, as one."""
        return cls(
            range(parts[0].runs.start, parts[-1].runs.stop),
            Result.merge([part.result for part in parts]),
            [failure for part in parts for failure in part.failures],
            sum(part.seconds for part in parts),
        )


def play_batch(study: Study, runs: range) -> Batch:
    """Play some runs; one that raises does not end the others.

    What is wrong with the worker, not with the run, ends them all: too little memory, or a module
    that is missing.
    """
    start = time.perf_counter()
    played, failures = [study.nothing()], []
    for run in runs:
        try:
            played.append(study.play(run))
        except (MemoryError, ImportError):
            raise
        except (Exception, SystemExit) as error:
            failures.append(Failure(run, user_code.describe_error(error)))
    return Batch(runs, Result.merge(played), failures, time.perf_counter() - start)


class Packed(NamedTuple):
    """A study as it is sent to another process or machine: pickled, with the user's own code."""

    study: bytes
    sources: user_code.Sources
    version: str


_packed: WeakKeyDictionary[Study, Packed] = WeakKeyDictionary()
"""Studies that were packed, as long as somebody else holds them."""


def pack(study: Study) -> Packed:
    """Return a study in a form that can be sent; lambdas and code of a notebook go along."""
    packed = _packed.get(study)
    if packed is None:
        packed = _packed[study] = _pack(study)
    return packed


def _pack(study: Study) -> Packed:
    from cloudpickle import dumps  # slow to import

    _ = study.fixed_gains  # computed once, here
    parts = {
        "instance": study.instance,
        **{f"learner {name!r}": make for name, make in study.learners.items()},
        "rewards": study.rewards,
        **{f"reference {name!r}": reference for name, reference in study.references.items()},
    }
    for name, part in parts.items():
        try:
            dumps(part)
        except Exception as error:
            raise InputError(
                name,
                "must be something that can be sent to another process",
                f"{user_code.describe_error(error)}; play it with one worker",
            ) from None
    return Packed(dumps(study), user_code.sources(), code_version())


@lru_cache(maxsize=64)
def _unpack(study: bytes) -> Study:
    from cloudpickle import loads  # slow to import

    unpacked: Study = loads(study)
    return unpacked


def play_packed(packed: Packed, runs: range) -> Batch:
    """Play some runs of a study that was sent here."""
    check_version(packed.version, code_version(), platform.node())
    if user_code.receive(packed.sources):
        _unpack.cache_clear()
    return play_batch(_unpack(packed.study), runs)


def check_version(wanted: str, found: str, where: str) -> None:
    """Refuse a worker that would compute something else."""
    if found != wanted:
        raise InputError(
            "workers",
            f"must have fallow {wanted}, as here",
            f"{found} on {where}; install the same version everywhere",
        )
