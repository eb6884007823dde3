"""Making, saving and restoring the statistics that the compiled learners share."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fallow.kernels.bandits import Statistics


def empty_statistics(options: int, window: int = 0) -> Statistics:
    """Return statistics without observations; a window of 0 never forgets."""
    return Statistics(
        counts=np.zeros(options),
        sums=np.zeros(options),
        total=np.zeros(1, np.int64),
        window_options=np.zeros(window, np.int64),
        window_rewards=np.zeros(window),
    )


def written(statistics: Statistics) -> dict[str, Any]:
    """Return the statistics as plain JSON values."""
    return {name: array.tolist() for name, array in statistics._asdict().items()}


def restore(statistics: Statistics, progress: Mapping[str, Any]) -> None:
    """Write what `written` returned back into statistics of the same size."""
    for name, array in statistics._asdict().items():
        array[:] = progress[name]
