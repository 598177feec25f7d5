"""Bits of numbers, counted and found by one instruction of the processor in machine code."""

# Numba's types are partly missing.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false
# pyright: reportUnknownLambdaType=false, reportCallIssue=false

from typing import Any, Final

from hexenv.compiled.numba_parts import cgutils, intrinsic, overload, types


def count_bits(bits: int) -> int:
    """How many bits of a number from 0 to 2^63 - 1 are set."""
    return int(bits).bit_count()


def lowest(bits: int) -> int:
    """The number of the lowest bit that is set; for a number that is not 0."""
    return (int(bits) & -int(bits)).bit_length() - 1


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
