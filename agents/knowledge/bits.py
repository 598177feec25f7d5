"""Sets of cells as the bits of one integer, for compiled code."""

from typing import Final

import numpy as np

from hexenv.compiled import kernel

BIT_NUMBERS: Final = np.zeros(67, np.int64)
"""The number of a bit, found by what is left of it modulo 67."""
for _number in range(63):
    BIT_NUMBERS[(1 << _number) % 67] = _number


@kernel
def lowest(bits: int) -> int:
    """The number of the lowest bit; for a set that is not empty."""
    return int(BIT_NUMBERS[(bits & -bits) % 67])


@kernel
def lowest_bit(bits: int) -> int:
    """The lowest bit alone."""
    return bits & -bits


@kernel
def count_bits(bits: int) -> int:
    """How many bits of a number from 0 to 2^63 - 1 are set."""
    bits = bits - ((bits >> 1) & 0x5555555555555555)
    bits = (bits & 0x3333333333333333) + ((bits >> 2) & 0x3333333333333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F0F0F0F0F
    bits = bits + (bits >> 8)
    bits = bits + (bits >> 16)
    return (bits + (bits >> 32)) & 127
