"""The kinds of array that travel between modules."""

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
"""Numbers of which there are many: arms and delays of a log's plays, cycles of a run."""
