"""Operations for which machine code has faster instructions than Python's rules allow.

Eight bytes at once make the owners of a board's cells several times as fast as one at a time. A
division that looks for signs and zeros takes as long as a third of a ply of Hex.
"""

# Numba's types are partly missing.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false
# pyright: reportUnknownLambdaType=false, reportCallIssue=false

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled.numba_parts import cgutils, intrinsic, ir, overload, types


def count_bits(bits: int) -> int:
    """How many bits of a number from 0 to 2^63 - 1 are set."""
    return int(bits).bit_count()


def lowest(bits: int) -> int:
    """The number of the lowest bit that is set; for a number that is not 0."""
    return (int(bits) & -int(bits)).bit_length() - 1


def row_and_column(cell: int, columns: int) -> tuple[int, int]:
    """The row and the column of a cell; it is from 0 to 2^32 - 1, `columns` from 1."""
    return divmod(int(cell), int(columns))


ONES: Final = 0x0101010101010101
SPREAD: Final[NDArray[np.int64]] = (
    np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little") * 0xFF
).view("<i8")[:, 0]
"""``(256,)``: eight bytes, each all ones where a bit of the number is set."""


def load_bytes(array: Any, start: int) -> int:
    """Eight bytes of a contiguous int8 array as one number, the first of them the lowest."""
    return int(array[start : start + 8].view("<i8")[0])


def store_bytes(array: Any, start: int, number: int) -> None:
    """Write a number of 64 bits over eight bytes of a contiguous int8 array; see `load_bytes`."""
    array[start : start + 8].view("<i8")[0] = number


# ---- machine code --------------------------------------------------------------------------------

_INLINED: Final[Any] = {"forceinline": True}


@intrinsic
def _ones(_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(context.cast(builder, arguments[0], signature.args[0], types.int64))

    return types.int64(number), generate


@intrinsic
def _zeros_below(_context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = context.cast(builder, arguments[0], signature.args[0], types.int64)
        return builder.cttz(wide, cgutils.true_bit)

    return types.int64(number), generate


@overload(count_bits, strict=False, jit_options=_INLINED)
def _overload_count(bits: Any) -> Any:
    return lambda bits: _ones(bits)


@overload(lowest, strict=False, jit_options=_INLINED)
def _overload_lowest(bits: Any) -> Any:
    return lambda bits: _zeros_below(bits)


@overload(row_and_column, strict=False, jit_options=_INLINED)
def _overload_row_and_column(cell: Any, columns: Any) -> Any:
    def divide(cell: Any, columns: Any) -> Any:
        whole, width = np.uint32(cell), np.uint32(columns)
        return np.int64(whole // width), np.int64(whole % width)

    return divide


def _word(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """A pointer to eight bytes of an array."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    start = context.cast(builder, arguments[1], signature.args[1], types.intp)
    place = builder.gep(array.data, [start])
    return builder.bitcast(place, ir.IntType(64).as_pointer())


@intrinsic
def _load(_context: Any, array: Any, start: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_word(context, builder, signature, arguments), align=1)

    return types.int64(array, start), generate


@intrinsic
def _store(_context: Any, array: Any, start: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = context.cast(builder, arguments[2], signature.args[2], types.int64)
        builder.store(number, _word(context, builder, signature, arguments), align=1)
        return context.get_dummy_value()

    return types.void(array, start, number), generate


def _is_plain(array: Any) -> bool:
    """Whether an array has one byte after the other."""
    return isinstance(array, types.Array) and (array.layout, array.dtype) == ("C", types.int8)


@overload(load_bytes, strict=False, jit_options=_INLINED)
def _overload_load(array: Any, start: Any) -> Any:
    return (lambda array, start: _load(array, start)) if _is_plain(array) else None


@overload(store_bytes, strict=False, jit_options=_INLINED)
def _overload_store(array: Any, start: Any, number: Any) -> Any:
    return (lambda array, start, number: _store(array, start, number)) if _is_plain(array) else None
