"""Runs of set bits: the win test of all games that are won by stones in a row."""

from hexenv.compiled import kernel


@kernel
def runs(bits: int, stride: int, length: int) -> int:
    """The bits at which a run of `length` (2 to 8) set bits starts, going up `stride` bits a step.

    A run is found by doubling: the bits that have a set neighbour, then those that begin two such
    pairs, and so on; three steps reach eight.
    """
    second = min(2, length - 2)
    bits &= bits >> stride
    bits &= bits >> (second * stride)
    if length > 4:
        bits &= bits >> ((length - 4) * stride)
    return bits
