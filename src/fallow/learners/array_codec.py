"""How arrays and random generators are saved: as plain JSON values, and back bit for bit."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from fallow import checks

DTYPES: Mapping[str, type] = MappingProxyType(
    {"bool": bool, "int32": int, "int64": int, "float32": float, "float64": float}
)
"""Of the arrays that a state may hold, with the type of their values in JSON."""
PCG64_BITS: Mapping[str, int] = MappingProxyType(
    {"state": 128, "inc": 128, "has_uint32": 1, "uinteger": 32}
)
"""The numbers that make up the state of a generator, and how many bits each has."""


def encode_array(array: npt.NDArray[Any] | np.generic) -> dict[str, Any]:
    """Return an array, or a number of numpy's, as JSON has it.

    Examples
    --------
    >>> encode_array(np.array([[0.5, 1.0]]))
    {'dtype': 'float64', 'shape': [1, 2], 'values': [0.5, 1.0]}
    """
    shape, values = list(array.shape), array.ravel().tolist()
    return {"dtype": array.dtype.name, "shape": shape, "values": values}


def decode_array(field: str, content: Any) -> npt.NDArray[Any]:
    """Return the array that was encoded; a ValueError if none was.

    Examples
    --------
    >>> decode_array("means", {"dtype": "float64", "shape": [2], "values": [0.5, 1.0]})
    array([0.5, 1. ])
    """
    if type(content) is not dict:
        raise ValueError(f"{field} must be an array, got {checks.short(content)}")
    checks.keys(field, content, ("dtype", "shape", "values"))
    dtype, shape, values = content["dtype"], content["shape"], content["values"]
    if type(dtype) is not str or dtype not in DTYPES:
        raise ValueError(f"{field} must be one of {', '.join(DTYPES)}, got {checks.short(dtype)}")
    if type(shape) is not list or not all(type(side) is int and side >= 0 for side in shape):
        raise ValueError(f"the shape of {field} must be whole numbers, got {checks.short(shape)}")
    if type(values) is not list or not all(type(each) is DTYPES[dtype] for each in values):
        raise ValueError(f"{field} must hold values of {dtype}, got {checks.short(values)}")
    try:
        return np.array(values, dtype).reshape(shape)
    except (OverflowError, ValueError):
        raise ValueError(
            f"{field} must hold {math.prod(shape)} values of {dtype}, got {checks.short(values)}"
        ) from None


def encode_generator(generator: np.random.Generator) -> dict[str, int]:
    """Return the state of a generator, which must be a PCG64, as JSON has it.

    Examples
    --------
    >>> encode_generator(np.random.default_rng(0))["has_uint32"]
    0
    """
    bits: Mapping[str, Any] = generator.bit_generator.state
    numbers = {**bits, **bits["state"]}
    return {name: numbers[name] for name in PCG64_BITS}


def decode_generator(field: str, content: Any) -> np.random.Generator:
    """Return a generator in the state that was encoded; a ValueError if none was.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> twin = decode_generator("generator", encode_generator(generator))
    >>> twin.random() == generator.random()
    True
    """
    if type(content) is not dict:
        raise ValueError(f"{field} must be a generator, got {checks.short(content)}")
    checks.keys(field, content, PCG64_BITS)
    for name, bits in PCG64_BITS.items():
        if type(content[name]) is not int or not 0 <= content[name] < 2**bits:
            raise ValueError(
                f"{field}.{name} must be a whole number of {bits} bits, got {content[name]!r}"
            )
    generator = np.random.PCG64(0)
    generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": content["state"], "inc": content["inc"]},
        "has_uint32": content["has_uint32"],
        "uinteger": content["uinteger"],
    }
    return np.random.Generator(generator)
