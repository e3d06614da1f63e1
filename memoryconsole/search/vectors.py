"""Vectors as the index keeps them: whole numbers, so that a comparison is exact wherever it is made. Pure.

A vector is scaled so that its largest component is as large as products still add up to less than 2**24, and
rounded: float32 arithmetic then gives the same sum in any order, on any machine, and pgvector divides once,
in double precision. 256 dimensions: components in -255..255, which moves a cosine by less than 0.001.
"""

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# A vector as it is kept.
Whole = NDArray[np.int16]
# Cosines are whole numbers from here on.
COSINE_SCALE = 10_000
# Half precision holds every whole number up to here (IEEE 754: 11 significant bits).
_HALF_LIMIT = 2048
# Single precision: 24 bits.
_SINGLE_LIMIT = 2**24 - 1


def largest(dimensions: int) -> int:
    """The largest component: no sum of `dimensions` products exceeds what single precision holds exactly."""
    return min(_HALF_LIMIT, isqrt(_SINGLE_LIMIT // dimensions))


def quantize(vector: ArrayLike) -> Whole | None:
    """A vector (one dimension, any length above 0) as whole numbers; None when it points nowhere.

    Raises ValueError when a component is not finite.
    """
    values = np.asarray(vector, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValueError("a vector component is not finite")
    longest = np.abs(values).max(initial=0.0)
    if longest == 0:
        return None
    return np.rint(values / longest * largest(len(values))).astype(np.int16)


def nothing(dimensions: int) -> Whole:
    """What is kept of a text in which the model finds nothing: it was asked, and no vector is owed. It points
    nowhere, so that pgvector's cosine distance to it is not a number.
    """
    return np.zeros(dimensions, dtype=np.int16)


def literal(quantized: Whole) -> str:
    """A quantized vector in pgvector's text form."""
    return f"[{','.join(map(str, quantized.tolist()))}]"


def halfvecs(quantized: Sequence[Whole]) -> NDArray[Any]:
    """Quantized vectors of one length in pgvector's binary form: dimensions, a word that is not used, half-precision
    components, high byte first.
    """
    dimensions = len(quantized[0]) if quantized else 0
    layout = [("dimensions", ">i2"), ("unused", ">i2"), ("components", ">f2", (dimensions,))]
    packed = np.zeros(len(quantized), dtype=layout)
    packed["dimensions"] = dimensions
    packed["components"] = np.array(quantized, dtype=np.float16).reshape(len(quantized), dimensions)
    return packed


def cosines(distances: NDArray[np.float64]) -> NDArray[np.int64]:
    """Cosine distances (0..2) as cosines in units of 1/10,000."""
    return np.rint((1.0 - distances) * COSINE_SCALE).astype(np.int64)
