"""Sets of cells of large boards, as the bits of three integers, for compiled code."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import inlined_kernel
from hexenv.compiled.bits import count_bits

WORD: Final = 63
"""Bits of one word of a large set; a set has three words."""
NONE: Final = (0, 0, 0)
"""The empty large set."""


@inlined_kernel
def one_bit(number: int) -> tuple[int, int, int]:
    """The large set of one number, 0 to 188, which is not checked."""
    if number < WORD:
        return (1 << number, 0, 0)
    if number < 2 * WORD:
        return (0, 1 << (number - WORD), 0)
    return (0, 0, 1 << (number - 2 * WORD))


@inlined_kernel
def union(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    """What is in one of two large sets."""
    return (one[0] | other[0], one[1] | other[1], one[2] | other[2])


@inlined_kernel
def common(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    """What is in both of two large sets."""
    return (one[0] & other[0], one[1] & other[1], one[2] & other[2])


@inlined_kernel
def without(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    """What is in one of two large sets and not in the other."""
    return (one[0] & ~other[0], one[1] & ~other[1], one[2] & ~other[2])


@inlined_kernel
def meet(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """Whether two large sets have something in common."""
    return (one[0] & other[0]) | (one[1] & other[1]) | (one[2] & other[2]) != 0


@inlined_kernel
def contains(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """Whether all of another large set is in one."""
    return (other[0] & ~one[0]) | (other[1] & ~one[1]) | (other[2] & ~one[2]) == 0


@inlined_kernel
def size_of(one: tuple[int, int, int]) -> int:
    """How many numbers are in a large set."""
    return count_bits(one[0]) + count_bits(one[1]) + count_bits(one[2])


@inlined_kernel
def set_in(sets: NDArray[np.int64], row: int) -> tuple[int, int, int]:
    """The large set in a row of an array ``(rows, 3)``."""
    return (int(sets[row, 0]), int(sets[row, 1]), int(sets[row, 2]))


@inlined_kernel
def put_set(sets: NDArray[np.int64], row: int, one: tuple[int, int, int]) -> None:
    """Write a large set into a row of an array ``(rows, 3)``."""
    sets[row, 0], sets[row, 1], sets[row, 2] = one
