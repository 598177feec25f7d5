"""Atomic operations on the elements of arrays, for compiled threads that work in the same arrays.

Each is a plain Python function too, which is atomic only where a single thread runs.
"""

# Numba's types are partly missing.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false
# pyright: reportAttributeAccessIssue=false, reportUnknownLambdaType=false, reportCallIssue=false

from typing import Any, Final

from hexenv.compiled_numba import cgutils, intrinsic, overload, types


def add_atomically(array: Any, index: int, amount: int) -> int:
    """``array[index] += amount``, of which no thread's is lost; returns the number before."""
    before = int(array[index])
    array[index] = before + amount
    return before


def compare_and_swap(array: Any, index: int, expected: int, new: int) -> bool:
    """``array[index] = new`` if it is `expected`; returns whether it was."""
    if array[index] != expected:
        return False
    array[index] = new
    return True


def load_in_order(array: Any, index: int) -> int:
    """``array[index]``, read after all that the thread reads before, and before all after.

    Who reads a number that a `store_in_order` has written also sees all that was written before it.
    """
    return int(array[index])


def store_in_order(array: Any, index: int, value: int) -> None:
    """``array[index] = value``, written after all that the thread has read and written before."""
    array[index] = value


# ---- machine code --------------------------------------------------------------------------------

_INLINED: Final[Any] = {"forceinline": True}


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """The address of an element, of arguments that begin with an array and an index."""
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], signature.args[1], types.intp)
    return cgutils.get_item_pointer(context, builder, kind, array, [index])


def _number(context: Any, builder: Any, signature: Any, arguments: Any, position: int) -> Any:
    """An argument as an element of the array."""
    given, wanted = signature.args[position], signature.args[0].dtype
    return context.cast(builder, arguments[position], given, wanted)


@intrinsic
def _add(_context: Any, array: Any, index: Any, amount: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        more = _number(context, builder, signature, arguments, 2)
        return builder.atomic_rmw("add", place, more, "acq_rel")

    return array.dtype(array, index, amount), generate


@intrinsic
def _swap(_context: Any, array: Any, index: Any, expected: Any, new: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        numbers = [_number(context, builder, signature, arguments, i) for i in (2, 3)]
        found = builder.cmpxchg(place, *numbers, "acq_rel", "acquire")
        return builder.extract_value(found, 1)

    return types.boolean(array, index, expected, new), generate


@intrinsic
def _load(_context: Any, array: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        builder.fence("acquire")  # for what was read before
        return builder.load_atomic(place, "acquire", array.dtype.bitwidth // 8)

    return array.dtype(array, index), generate


@intrinsic
def _store(_context: Any, array: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        number = _number(context, builder, signature, arguments, 2)
        builder.store_atomic(number, place, "release", array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, index, value), generate


@overload(add_atomically, strict=False, jit_options=_INLINED)
def _overload_add(array: Any, index: Any, amount: Any) -> Any:
    return lambda array, index, amount: _add(array, index, amount)


@overload(compare_and_swap, strict=False, jit_options=_INLINED)
def _overload_swap(array: Any, index: Any, expected: Any, new: Any) -> Any:
    return lambda array, index, expected, new: _swap(array, index, expected, new)


@overload(load_in_order, strict=False, jit_options=_INLINED)
def _overload_load(array: Any, index: Any) -> Any:
    return lambda array, index: _load(array, index)


@overload(store_in_order, strict=False, jit_options=_INLINED)
def _overload_store(array: Any, index: Any, value: Any) -> Any:
    return lambda array, index, value: _store(array, index, value)
