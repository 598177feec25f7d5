"""Arguments of machine code in memory, so that one call can go through many of them.

`Packed` keeps rows of arguments as numba lays them out; a kernel reads one with `unpacked`.
"""

# Numba's types are partly missing.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUnknownLambdaType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false
# pyright: reportAttributeAccessIssue=false, reportPrivateImportUsage=false

import functools
import struct
from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np

from hexenv.compiled import random_stream, uses_machine_code
from hexenv.compiled.numba_parts import (
    NativeValue,
    cgutils,
    cpu_target,
    intrinsic,
    models,
    numba,
    overload,
    register_model,
    typeof_impl,
    types,
    unbox,
)


class PackingError(TypeError):
    """Raised for a value that rows cannot hold."""


class Packed:
    """Rows of values of one type, tuples of arrays and numbers, for `unpacked` in a kernel.

    Arrays are packed by their address: what a kernel writes into one is seen by all who have it,
    and a row must be set again when one of its arrays is replaced.

    Args:
        rows: The values, at least one.

    Raises:
        PackingError: If the rows hold anything but arrays, numbers and tuples.
        TypeError: If the rows differ in type.
    """

    def __init__(self, rows: Iterable[Any]) -> None:
        self._rows = list(rows)
        self.kind = PackedType(numba.typeof(self._rows[0]))
        self._outline = _outline(self._rows[0])
        self._layout = _layout(self.kind.row)
        self._memory = np.zeros((len(self._rows), self._layout.size), np.uint8)
        self.address: int = self._memory.ctypes.data
        for number, row in enumerate(self._rows):
            self[number] = row

    @property
    def first_row(self) -> Any:
        return self._rows[0]

    def __getitem__(self, number: int) -> Any:
        return self._rows[number]

    def __setitem__(self, number: int, row: Any) -> None:
        """Set a row, of the same type as the first; TypeError for another one."""
        # Numba takes 50 times as long to find a type, and most rows are like the first.
        if _outline(row) != self._outline and (kind := numba.typeof(row)) != self.kind.row:
            raise TypeError(f"expected a row of {self.kind.row}, got {kind}")
        self._layout.pack_into(self._memory[number], 0, *_words(row))
        self._rows[number] = row

    def __len__(self) -> int:
        return len(self._rows)

    def __reduce__(self) -> Any:  # the arrays and generators of a copy lie elsewhere
        raise TypeError("expected no copy of packed rows: pack the rows of the copy")


def unpacked(rows: Any, number: int) -> Any:
    """One of some rows: in machine code of a `Packed`, in Python of a list too."""
    return rows[number]


def packed(rows: list[Any], compiles: bool) -> Any:
    """Rows for `unpacked`: `Packed` for machine code, else the list."""
    return Packed(rows) if compiles and uses_machine_code() else rows


def stream_rows(generators: Iterable[np.random.Generator], compiles: bool) -> Any:
    """Rows ``(stream,)`` for `unpacked`: the generators as machine code or as Python sees them."""
    if compiles and uses_machine_code():
        return Packed((random_stream(generator),) for generator in generators)
    return [(generator,) for generator in generators]


# ---- how numba lays values out -------------------------------------------------------------------


@functools.cache
def _layout(kind: Any) -> struct.Struct:
    """How the words of a value, as `_words` gives them, lie in memory."""
    context = cpu_target.target_context
    form, end = "=", 0
    for place, word in _places(kind, 0):
        form += f"{place - end}x{word}"
        end = place + struct.calcsize(word)
    size = context.get_abi_sizeof(context.data_model_manager[kind].get_data_type())
    return struct.Struct(f"{form}{size - end}x")


def _places(kind: Any, start: int) -> Iterator[tuple[int, str]]:
    """The places of a value's words, in bytes from the start, and their formats in `struct`."""
    context = cpu_target.target_context
    if isinstance(kind, types.BaseTuple):
        for item in cast("Iterable[Any]", kind):
            data = context.data_model_manager[item].get_data_type()
            start = -(-start // (align := context.get_abi_alignment(data))) * align
            yield from _places(item, start)
            start += context.get_abi_sizeof(data)
    elif isinstance(kind, types.Array):
        # The first two words say who owns the memory: nobody, for machine code.
        yield from ((start + 8 * word, "q") for word in range(2, 5 + 2 * kind.ndim))
    elif isinstance(kind, types.Boolean):
        yield start, "?"
    elif isinstance(kind, types.Number):
        yield start, np.dtype(str(kind)).char.replace("l", "q").replace("L", "Q")
    else:
        raise PackingError(f"expected arrays and numbers to pack, got {kind}")


def _outline(value: Any) -> Any:
    """All that the type of a value follows from, for those that rows hold."""
    if isinstance(value, tuple):
        return type(value), *map(_outline, cast("tuple[Any, ...]", value))
    if isinstance(value, np.ndarray):
        flags = value.flags
        return value.dtype, value.ndim, flags.c_contiguous, flags.writeable, flags.aligned
    return type(value)


def _words(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        for item in cast("tuple[Any, ...]", value):
            yield from _words(item)
    elif isinstance(value, np.ndarray):
        data = value.__array_interface__["data"][0]
        yield from (value.size, value.itemsize, data, *value.shape, *value.strides)
    else:
        yield value


# ---- numba's side --------------------------------------------------------------------------------


class PackedType(types.Type):
    """Numba's type of a `Packed` with rows of one type."""

    is_counted = False  # no reference to it is counted

    def __init__(self, row: Any) -> None:
        self.row = row
        super().__init__(name=f"Packed({row})")


@typeof_impl.register(Packed)
def _type_of_packed(value: Packed, _context: Any) -> PackedType:
    return value.kind


@register_model(PackedType)
class _PackedModel(models.PrimitiveModel):
    """The address of the first row."""

    def __init__(self, manager: Any, kind: PackedType) -> None:
        super().__init__(manager, kind, cgutils.intp_t)


@unbox(PackedType)
def _unbox_packed(kind: Any, value: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(value, "address")
    found = c.unbox(types.intp, address)
    c.pyapi.decref(address)
    return NativeValue(found.value, is_error=found.is_error)


@intrinsic
def _row(_context: Any, packed: Any, number: Any) -> Any:
    row = packed.row

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        model = context.data_model_manager[row]
        number = context.cast(builder, arguments[1], signature.args[1], types.intp)
        offset = builder.mul(number, cgutils.intp_t(_layout(row).size))
        address = builder.add(arguments[0], offset)
        place = builder.inttoptr(address, model.get_data_type().as_pointer())
        return model.load_from_data_pointer(builder, place)

    return row(packed, number), generate


@overload(unpacked, strict=False, inline="always")
def _overload_unpacked(packed: Any, number: Any) -> Any:
    def row_of(packed: Any, number: Any) -> Any:
        return _row(packed, number)  # pyright: ignore[reportCallIssue]

    return row_of if isinstance(packed, PackedType) else None
