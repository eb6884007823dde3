"""What is played is recorded: all of it, or totals at some rounds."""

import numpy as np

from fallow.arrays import FloatArray, Int32Array, IntArray
from fallow.kernels.ledger import Cycles
from fallow.runs import Sampler
from fallow.trajectory import RunTrajectory, SampledTrajectory, Trajectory

FLUSH = 2**16
"""Runs kept in lists before they are entered in arrays."""


class Recorder:
    """Takes runs while they are played: keeps them all, or only the totals at checkpoints."""

    def __init__(
        self, means: FloatArray, names: tuple[str, ...], checkpoints: IntArray | None
    ) -> None:
        self.means, self.names = means, names
        self.drawn: list[float] = []
        self._cycles: dict[tuple[int, ...], tuple[int, tuple[int, ...]]] = {}
        self._numbers: list[int] = []
        self._pulls: list[int] = []
        self._kept: list[tuple[Int32Array, IntArray]] = []
        self._sampler = None if checkpoints is None else Sampler(means, checkpoints)

    def known(self, arms: tuple[int, ...]) -> tuple[int, tuple[int, ...]] | None:
        """Return the number and the arms of a cycle if it was registered."""
        return self._cycles.get(arms)

    def register(self, arms: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        """Give a new cycle its number."""
        return self._cycles.setdefault(arms, (len(self._cycles), arms))

    def append(self, number: int, pulls: int) -> None:
        """Take a whole number of plays of a cycle, or the last pulls of the run."""
        if self._numbers and self._numbers[-1] == number:
            self._pulls[-1] += pulls
            return
        if len(self._numbers) == FLUSH:
            self._flush()
        self._numbers.append(number)
        self._pulls.append(pulls)

    def extend(self, numbers: Int32Array, pulls: IntArray) -> None:
        """Take many runs at once; the arrays may be written to afterwards."""
        if self._sampler is None:
            self._kept.append((numbers.copy(), pulls.copy()))
        else:
            self._sampler.enter(self._cycle_arrays(), numbers, pulls)

    def trajectory(self) -> Trajectory:
        """Return what was recorded."""
        self._flush()
        if self._sampler is not None:
            sampler = self._sampler
            return SampledTrajectory(
                sampler.checkpoints, sampler.rewards, sampler.switches, sampler.played
            )
        numbers, pulls = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        return RunTrajectory(
            self.means, self.names, self._cycle_arrays(), numbers, pulls, np.array(self.drawn)
        )

    def _flush(self) -> None:
        if self._numbers:
            self.extend(np.array(self._numbers, np.int32), np.array(self._pulls))
            self._numbers.clear()
            self._pulls.clear()

    def _cycle_arrays(self) -> Cycles:
        lengths = [len(arms) for arms in self._cycles]
        arms = np.array([arm for cycle in self._cycles for arm in cycle])
        return Cycles(arms, np.cumsum([0, *lengths]))
