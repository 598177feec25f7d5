"""Plain Python that also compiles: the interface between rules, searches and numba.

* `@kernel` marks a function that compiled code may call; called from Python it stays what it is.
* `@compiled` marks a NamedTuple class whose methods compiled code may call: a game, a selection
  rule, a playout policy. The class selects the method at compile time, so a search is specialised
  for its game and variant, without branches at run time.
* `CompiledFunction(search)` is a search (or any kernel) as machine code, cached on disk.

The interpreted form is the function itself. `with interpreted():` uses it for a part of a program,
and the environment variable `NUMBA_DISABLE_JIT=1` for all of it. Without numba there is no other.
"""

# Numba's types are partly missing and partly wrong.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false
# pyright: reportMissingParameterType=false, reportUntypedFunctionDecorator=false
# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false, reportCallIssue=false

import ctypes
import functools
import inspect
import operator
import os
import shutil
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import NoneType
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np

from hexenv.compiled.cache import CheckedFiles, cache_directory, digest
from hexenv.compiled.callees import (
    CALLEE,
    CLASSES,
    constants_of,
    is_ours,
    register_class,
    register_kernel,
)
from hexenv.compiled.numba_parts import (
    HAS_NUMBA,
    MISSING,
    NumbaError,
    NumbaRuntimeError,
    cgutils,
    cpu_target,
    event,
    intrinsic,
    ir,
    lower_builtin,
    numba,
    overload,
    private,
    type_callable,
    types,
)

__all__ = [
    "COMPILE_ERRORS",
    "CompiledFunction",
    "announced",
    "can_be_compiled",
    "compiled",
    "copy_array",
    "copy_entry",
    "copy_record",
    "hash_record",
    "inlined_kernel",
    "interpreted",
    "interpreted_only",
    "is_compiled",
    "kernel",
    "optional_method",
    "random_stream",
    "scratch_array",
    "uses_machine_code",
    "write_bits",
]

_OPTIONS: Final[Any] = CALLEE
_INLINED: Final[Any] = {**CALLEE, "forceinline": True}

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def kernel(function: F) -> F:
    """Mark a function as callable from compiled code. It stays an ordinary Python function.

    A kernel must not call itself.
    """
    return register_kernel(function)


def inlined_kernel(function: F) -> F:
    """A `kernel` that is written out in its caller, so that no call of it remains.

    For the inner steps of a search: passing their many arguments takes a tenth of a simulation's
    time.
    """
    return register_kernel(function, forceinline=True)


def compiled(cls: C) -> C:
    """Class decorator: let compiled code use the methods of a NamedTuple class.

    Names belong to the class, as in Python: another class may use the same for a field, or for a
    method with other parameters. Compiled code also finds methods whose names begin with an
    underscore, properties, and class attributes that are numbers, tuples of numbers, or arrays,
    which it takes as constants. What base classes have it finds as well. A class may not change
    after its first use.

    Args:
        cls: A `typing.NamedTuple` class with at least one field.

    Returns:
        The same class.

    Raises:
        TypeError: If `cls` is not a NamedTuple or has no field.
    """
    if not getattr(cls, "_fields", None):
        raise TypeError(f"expected a NamedTuple class with at least one field, got {cls.__name__}")
    register_class(cls)
    return cls


def is_compiled(value: object) -> bool:
    """Whether `value` and all NamedTuples in it are instances of `@compiled` classes."""
    return type(value) in CLASSES and CLASSES.keys() >= classes_of([value])


def can_be_compiled(value: Any) -> bool:
    """Whether compiled code may use a global value: a kernel, a number, an array, ..."""
    cpu_target.typing_context.refresh()
    try:
        return cpu_target.typing_context.resolve_value_type(value) is not None
    except (ValueError, *COMPILE_ERRORS):
        return False


def _parameters(method: Callable[..., Any]) -> inspect.Signature:
    """The signature without annotations, by which numba checks the parameters of an overload."""
    signature = inspect.signature(method)
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return inspect.Signature(parameters)


def interpreted_only(function: F) -> F:
    """Mark a check that interpreted code makes: in machine code, a call of it does nothing."""

    def resolve(*_arguments: Any, **_keywords: Any) -> Any:
        return _do_nothing

    resolve.__signature__ = _parameters(function)  # type: ignore[attr-defined]
    overload(function, strict=False, jit_options=_OPTIONS)(resolve)
    return function


def _do_nothing(*_arguments: Any) -> None:
    pass


def optional_method(name: str, default: F) -> F:
    """A function that calls a method of its first argument, or `default` where its class has none.

    Compiled code knows which one. Both have the parameters of `default`, a kernel.
    """

    def call(self: Any, *arguments: Any) -> Any:
        return getattr(type(self), name, default)(self, *arguments)

    def resolve(self: Any, *_arguments: Any) -> Any:
        return getattr(self.instance_class, name, default)

    resolve.__signature__ = _parameters(default)  # type: ignore[attr-defined]
    overload(call, strict=False, jit_options=_OPTIONS)(resolve)
    return cast("F", call)


def refusal(message: str) -> Callable[[Any], None]:
    """A function that compiled code may call too: it raises a ValueError of its argument's class.

    The message follows the name of the class. Machine code can raise only what is known when it is
    compiled, as the message is here.
    """

    def refuse(value: Any) -> None:
        raise ValueError(f"{type(value).__name__}: {message}")

    def resolve(value: Any) -> Any:
        text = f"{value.instance_class.__name__}: {message}"

        def raise_it(value: Any) -> None:
            raise ValueError(text)

        return raise_it

    overload(refuse, strict=False, jit_options=_OPTIONS)(resolve)
    return refuse


NOT_NEGATIVE: Final = 2**31 - 1
"""A mask: ``index & NOT_NEGATIVE`` tells a compiler that an index is not negative, so
that it leaves out the code for negative ones."""


def scratch_array(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """An array that lives until the function that asks for it returns; never ask in a loop.

    In machine code it lies on the stack of the thread, so it should be no larger than a board.
    """
    return np.empty(shape, dtype)


_populate_array = private("scratch arrays", "numba.np.arrayobj:populate_array")


def _type_scratch_array(_context: Any) -> Any:
    def array_type(shape: Any, dtype: Any) -> Any:
        return types.Array(dtype.dtype, getattr(shape, "count", 1), "C")

    return array_type


def _lower_scratch_array(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kind = signature.return_type
    shape = arguments[:1] if kind.ndim == 1 else cgutils.unpack_tuple(builder, arguments[0])
    given = getattr(signature.args[0], "dtype", signature.args[0])
    shape = [context.cast(builder, length, given, types.intp) for length in shape]
    element = context.get_data_type(kind.dtype)
    width = cgutils.intp_t(context.get_abi_sizeof(element))
    strides, size = [width], shape[-1]
    for length in shape[-2::-1]:
        strides.insert(0, builder.mul(width, size))
        size = builder.mul(size, length)
    data = builder.alloca(element, size=size)
    array = context.make_array(kind)(context, builder)
    _populate_array(array, data, shape, strides, itemsize=width, meminfo=None)
    return array._getvalue()


def _overload_scratch_array(shape: Any, dtype: Any) -> Any:  # with a counted reference
    return lambda shape, dtype: np.empty(shape, dtype)  # pyright: ignore[reportUnknownLambdaType]


if "scratch arrays" in MISSING:
    overload(scratch_array, strict=False)(_overload_scratch_array)
else:
    type_callable(scratch_array)(_type_scratch_array)
    for _shape in (types.Integer, types.UniTuple):
        lower_builtin(scratch_array, _shape, types.Any)(_lower_scratch_array)


@kernel
def copy_array(source: Any, into: Any) -> None:
    """``into[:] = source``, of two dimensions, without a counted reference."""
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            into[row, column] = source[row, column]


def copy_record(source: Any, into: Any) -> None:
    """Copy one record (an element of a structured array) over another of the same dtype."""
    into.setfield(source, into.dtype)


@intrinsic
def _copy_memory(_context: Any, source: Any, into: Any) -> Any:
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        size = cgutils.intp_t(source.size)
        cgutils.raw_memcpy(builder, arguments[1], arguments[0], size, 1)
        return context.get_dummy_value()

    return types.void(source, into), generate


@overload(copy_record, strict=False)
def _overload_copy_record(source: Any, into: Any) -> Any:
    def copy_memory(source: Any, into: Any) -> None:
        _copy_memory(source, into)

    return copy_memory if isinstance(source, types.Record) and source == into else None


SHARED_FIELDS: Final = ("ply", "last_action", "winner")
"""The fields of a game's state that say nothing of the position."""
HASH_START: Final = 0xBF29CE484222325
HASH_FACTOR: Final = 0x100000001B3
HASH_BITS: Final = 2**63 - 1


def hash_record(record: Any) -> int:
    """A hash of 63 bits of a record: FNV-1a over the bytes of its fields, but for `SHARED_FIELDS`.

    It is for records that have no hash of their own; one byte takes about a nanosecond.
    """
    value = HASH_START
    data = record.tobytes()
    for start, end in _hashed_parts(record.dtype):
        for byte in data[start:end]:
            value = ((value ^ byte) * HASH_FACTOR) & HASH_BITS
    return value


def _hashed_parts(dtype: np.dtype[Any]) -> list[tuple[int, int]]:
    """Where the bytes of fields begin and end; what lies between them may hold anything."""
    fields = dtype.fields or {}
    return [
        (place[1], place[1] + place[0].itemsize)
        for name, place in fields.items()
        if name not in SHARED_FIELDS
    ]


@intrinsic
def _byte_of(_context: Any, record: Any, place: Any) -> Any:
    """A byte of a record."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = context.cast(builder, arguments[1], signature.args[1], types.intp)
        data = builder.bitcast(arguments[0], ir.IntType(8).as_pointer())
        return builder.zext(builder.load(builder.gep(data, [place])), ir.IntType(64))

    return types.int64(record, place), generate


@overload(hash_record, strict=False, jit_options=_OPTIONS)
def _overload_hash_record(record: Any) -> Any:
    parts = np.array(_hashed_parts(record.dtype)).reshape(-1, 2)

    start, factor, bits = np.uint64(HASH_START), np.uint64(HASH_FACTOR), np.uint64(HASH_BITS)

    def hash_bytes(record: Any) -> int:
        value = start  # unsigned, as the compiler may think that no signed product overflows
        for part in range(len(parts)):
            for place in range(parts[part, 0], parts[part, 1]):
                value = ((value ^ np.uint64(_byte_of(record, place))) * factor) & bits
        return np.int64(value)  # type: ignore[return-value]

    return hash_bytes


def write_bits(record: Any, first: int, out: Any) -> None:
    """Write the bits of a record's fields, but for `SHARED_FIELDS`, into a row of an array.

    From ``out[0, first]`` on, field by field, each number's lowest bit first.
    """
    data = np.frombuffer(record.tobytes(), np.uint8)
    for start, end in _hashed_parts(record.dtype):
        bits = np.unpackbits(data[start:end], bitorder="little")
        out[0, first : first + bits.size] = bits
        first += bits.size


@overload(write_bits, strict=False, jit_options=_OPTIONS)
def _overload_write_bits(record: Any, first: Any, out: Any) -> Any:
    parts = np.array(_hashed_parts(record.dtype)).reshape(-1, 2)

    def write(record: Any, first: int, out: Any) -> None:
        at = first
        for part in range(len(parts)):
            for place in range(parts[part, 0], parts[part, 1]):
                byte = _byte_of(record, place)
                for bit in range(8):
                    out[0, at + bit] = (byte >> bit) & 1
                at += 8

    return write


def copy_entry(arrays: Any, source: int, into: int) -> None:
    """``array[into] = array[source]`` for every array in a tuple of arrays, or of more such."""
    for array in arrays:
        if isinstance(array, tuple):
            copy_entry(array, source, into)
        else:
            array[into] = array[source]


@overload(copy_entry, strict=False, jit_options=_INLINED)
def _overload_copy_entry(arrays: Any, source: Any, into: Any) -> Any:
    def copy_none(arrays: Any, source: Any, into: Any) -> None:
        pass

    def copy_one(arrays: Any, source: Any, into: Any) -> None:
        for index in np.ndindex(arrays.shape[1:]):
            arrays[(into, *index)] = arrays[(source, *index)]

    def copy_all(arrays: Any, source: Any, into: Any) -> None:
        copy_entry(arrays[0], source, into)
        copy_entry(arrays[1:], source, into)

    if isinstance(arrays, types.Array):
        return copy_one
    return copy_all if len(arrays) else copy_none


@intrinsic
def _next_double(_context: Any, address: Any) -> Any:
    """The next number of a numpy bit generator, from the address of its interface in C."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = ir.IntType(8).as_pointer()
        draw = ir.FunctionType(ir.DoubleType(), [pointer]).as_pointer()
        interface = ir.LiteralStructType([pointer, pointer, pointer, draw, pointer])  # bitgen_t
        place = builder.inttoptr(arguments[0], interface.as_pointer())
        state = builder.load(cgutils.gep_inbounds(builder, place, 0, 0))
        function = builder.load(cgutils.gep_inbounds(builder, place, 0, 3))
        return builder.call(function, [state])

    return types.float64(address), generate


_pointer_of: Final[Any] = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
_pointer_of.restype = ctypes.c_size_t


@compiled
class RandomStream(NamedTuple):
    """A numpy generator in machine code: a number in place of a counted reference."""

    bitgen_address: int
    """Of its `bitgen_t`; valid as long as the generator exists."""

    def random(self) -> float:
        return _next_double(self.bitgen_address)


def random_stream(generator: np.random.Generator) -> RandomStream:
    """A generator as compiled code draws from it."""
    return RandomStream(_pointer_of(generator.bit_generator.capsule, b"BitGenerator"))


def _without_generator(argument: Any) -> Any:
    """A generator's `RandomStream`; anything else as it is."""
    return random_stream(argument) if type(argument) is np.random.Generator else argument


def _is_counted(kind: Any, is_result: bool = False) -> bool:
    """Whether an argument, or a result, of a numba type needs counted references."""
    if isinstance(kind, types.BaseTuple):
        return any(_is_counted(item, is_result) for item in cast("Iterable[Any]", kind))
    if isinstance(kind, (types.Number, types.Boolean, types.NoneType, types.Omitted)):
        return False
    return is_result or getattr(
        kind, "is_counted", not isinstance(kind, (types.Array, types.Record))
    )


class CompiledFunction:
    """A kernel as machine code, compiled for the types of its arguments when first called.

    The code is cached on disk for later processes, until one of its sources changes. Functions and
    classes of `__main__`, of a prompt or inside a function are compiled for this process only, as a
    later process cannot import them; so are sources edited during this process. A module's
    constants may not depend on the process, as on its environment variables: only those of classes
    are looked at.

    Code counts no references to arrays if it can do without, as they would take more than half the
    time of a small search: no function of it makes an array, a list or a text, or returns an array.

    While one process compiles, others that need the same code wait for it; see
    `hexenv.compiled.compiling`.

    Examples:
        >>> def doubled(number: int) -> int:
        ...     return 2 * number
        >>> CompiledFunction(doubled)(21)
        42

    Args:
        function: A function under `@kernel`, or any function that numba compiles.
        title: What it is called while it compiles, unless a method under `@announced` has asked for
            it; None: its name.
    """

    def __init__(self, function: Callable[..., Any], title: str | None = None) -> None:
        self.function = function
        self.title = title or function.__name__
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._dispatchers: dict[tuple[frozenset[type], bool], Any] = {}
        self._code: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code for these arguments, compiling it first if needed."""
        return self.specialise(*arguments)(*arguments)

    def fitting(self, value: object, compiles: bool = True) -> Callable[..., Any]:
        """This function where `value` compiles, as a game does or not; else the plain Python one.

        `compiles`: whether machine code is wanted at all.
        """
        return self if compiles and is_compiled(value) else self.function

    def specialise(
        self, *arguments: Any, decided_by: tuple[Any, ...] | None = None
    ) -> Callable[..., Any]:
        """The machine code for the types of `arguments`, without numba's dispatch.

        Call it only with arguments of exactly these types: types are not checked again. Where a few
        values decide the types of all arguments, `decided_by` saves looking at the others.
        """
        if not uses_machine_code():
            return self.function
        kinds = tuple(map(_kind_of, arguments if decided_by is None else (decided_by,)))
        if kinds not in self._code:
            with _lock:
                if kinds not in self._code:
                    self._code[kinds] = self._machine_code(arguments)
        return self._code[kinds]

    def _machine_code(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """The code; where a class is not ours, an index out of range is told with its name."""
        code = self._fastest_code(arguments)
        kinds = [kind for kind in classes_of(arguments) if not is_ours(kind)]
        if not kinds:
            return code
        names = " and ".join(sorted(kind.__name__ for kind in kinds))

        def run(*arguments: Any) -> Any:
            try:
                return code(*arguments)
            except IndexError as error:
                where = "in hexenv.compiled.interpreted() Python shows where"
                raise IndexError(f"{names}: {error} in machine code; {where}") from error

        return run

    def _fastest_code(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """The code without counted references; where that cannot be, the code with them."""
        plain = tuple(map(_without_generator, arguments))
        signature = _signature_of(plain)
        kept_in = self._dispatcher(plain, False).stats.cache_path
        place = kept_in and Path(kept_in)
        name = digest([repr(signature), numba.__version__])
        mark = place and place / f"counts-references-{name}"

        def counts() -> bool:
            counted = "uncounted" in MISSING or any(map(_is_counted, signature))
            return counted or bool(mark and mark.exists())

        def is_kept() -> bool:
            given = arguments if counts() else plain
            return _is_kept(self._dispatcher(given, counts()), _signature_of(given))

        with ExitStack() as stack:
            found = is_kept()
            if not found:
                from hexenv.compiled.compiling import alone, timed  # most processes load everything

                what = _words(self.title, arguments)
                if (watcher := on_compiling.get()) is not None:
                    watcher(True)
                    stack.callback(watcher, False)
                stack.enter_context(alone(place, what))
                found = is_kept()  # another process has compiled it meanwhile
                if not found:
                    stack.enter_context(timed(place, what))
            made.setdefault(f"{place or self.function} {name}", not found)
            code = None if counts() else self._uncounted(plain, signature)
            if code is None:
                code = self._compile(arguments, _signature_of(arguments), True)
                if mark:  # later processes need not try
                    with suppress(OSError):
                        mark.parent.mkdir(parents=True, exist_ok=True)
                        mark.touch()
                return code
        if all(map(operator.is_, plain, arguments)):
            return code
        return lambda *arguments: code(*map(_without_generator, arguments))

    def _uncounted(
        self, plain: tuple[Any, ...], signature: tuple[Any, ...]
    ) -> Callable[..., Any] | None:
        callees = _Callees()
        with event.install_listener("numba:compile", callees), suppress(*COMPILE_ERRORS):
            code = self._compile(plain, signature, False)
            found = self._dispatcher(plain, False).overloads[signature]
            if not _is_counted(found.signature.return_type, is_result=True):
                return code
        callees.forget()
        return None

    def _dispatcher(self, arguments: tuple[Any, ...], counts: bool) -> Any:
        """Numba's dispatcher of the code for the classes of some arguments."""
        classes = classes_of(arguments)
        if (classes, counts) not in self._dispatchers:
            made = _make_dispatcher(self.function, classes, counts)
            self._dispatchers[classes, counts] = made
        return self._dispatchers[classes, counts]

    def _compile(self, arguments: tuple[Any, ...], signature: tuple[Any, ...], counts: bool) -> Any:
        """The code that numba has for one signature, or now compiles or loads."""
        dispatcher = self._dispatcher(arguments, counts)
        if signature not in dispatcher.overloads:
            dispatcher = _compile(dispatcher, signature, counts)
            self._dispatchers[classes_of(arguments), counts] = dispatcher
        if "entry points" in MISSING:
            return dispatcher
        return dispatcher.overloads[signature].entry_point


class _Callees(event.Listener):
    """The functions under `numba.njit` that were compiled, or refused, for a caller.

    Numba keeps both for callers of every kind: what counts no references, and the refusal.
    """

    def __init__(self) -> None:
        self.found: list[tuple[Any, Any]] = []

    def on_start(self, event: Any) -> None:
        pass

    def on_end(self, event: Any) -> None:
        self.found.append((event.data["dispatcher"], event.data["args"]))

    def forget(self) -> None:
        for dispatcher, arguments in self.found:
            dispatcher._compiler._failed_cache.clear()
            function = dispatcher.py_func
            if function.__globals__.get(function.__name__) is dispatcher:  # not one of a kernel
                dispatcher.overloads.pop(tuple(arguments), None)


def _signature_of(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(numba.typeof, arguments))


_PLAIN: Final = frozenset({float, bool, str, np.random.Generator, NoneType})


def _kind_of(value: Any) -> Any:
    """What decides the type of a value; `numba.typeof` takes as long as a short search."""
    kind = type(value)
    if kind in _PLAIN:
        return kind
    if kind is int:
        return kind, value.bit_length() > 63
    if kind is np.ndarray or issubclass(kind, np.recarray):
        return kind, value.dtype, value.ndim, value.flags.num
    if issubclass(kind, tuple):
        return kind, *map(_kind_of, value)
    if issubclass(kind, np.void):
        return value.dtype
    return kind if issubclass(kind, (np.number, np.bool_)) else numba.typeof(value)


COMPILE_ERRORS: Final = (NumbaError, NumbaRuntimeError)
"""What `CompiledFunction.specialise` raises where numba cannot compile a function."""

_lock: Final = threading.RLock()
if hasattr(os, "register_at_fork"):  # else a process forked while a thread compiles waits for ever
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )
_interpreting = 0
"""How many bodies of `interpreted` are running, in all threads."""


def uses_machine_code() -> bool:
    """Whether compiled functions are machine code: not in `interpreted`, or `NUMBA_DISABLE_JIT`."""
    return HAS_NUMBA and not (numba.config.DISABLE_JIT or _interpreting)


@contextmanager
def interpreted() -> Generator[None, None, None]:
    """Use plain Python instead of machine code in the body of the `with` statement.

    A debugger can then step through the rules and the searches; results are the same, slowly. This
    holds for all threads of the process. An environment or agent that was used before may keep
    the machine code that it found then, so make new ones in the body.
    """
    global _interpreting
    with _lock:
        _interpreting += 1
    try:
        yield
    finally:
        with _lock:
            _interpreting -= 1


def classes_of(values: Iterable[Any]) -> frozenset[type]:
    """The classes of the NamedTuples among some values, and of those within them."""
    found: set[type] = set()
    for value in values:
        value = getattr(value, "first_row", value)  # of a `hexenv.compiled.packing.Packed`
        if isinstance(value, tuple):
            found |= classes_of(value)
            if hasattr(value, "_fields"):
                found.add(type(value))
    return frozenset(found)


def _jit(function: Callable[..., Any], cache: bool, counts: bool) -> Any:
    options: dict[str, Any] = {} if counts else {"_nrt": False}  # callees inherit it
    if "entry points" not in MISSING:
        options["no_cfunc_wrapper"] = True
    return numba.njit(cache=cache, nogil=True, error_model="numpy", **options)(function)


def _make_dispatcher(function: Callable[..., Any], classes: frozenset[type], counts: bool) -> Any:
    for cls in classes & CLASSES.keys():
        register_class(cls)  # it may have changed since its decoration
    constants = [text for cls in sorted(classes, key=repr) for text in constants_of(cls)]
    directory = cache_directory(function, classes, constants, counts)
    if directory is not None:
        before = numba.config.CACHE_DIR
        # Numba reads the setting when it decorates, so other functions keep their directory.
        numba.config.CACHE_DIR = str(directory)
        try:
            dispatcher = _jit(function, cache=True, counts=counts)
            # If numba cannot write there, it uses another place, whose name misses our key.
            if Path(dispatcher.stats.cache_path).is_relative_to(directory):
                if "index of the cache" not in MISSING:
                    dispatcher._cache._cache_file = CheckedFiles(dispatcher._cache._cache_file)
                return dispatcher
        except RuntimeError:
            pass  # numba found no directory
        finally:
            numba.config.CACHE_DIR = before
    return _jit(function, cache=False, counts=counts)


def _compile(dispatcher: Any, signature: tuple[Any, ...], counts: bool) -> Any:
    """Compile for one signature, or load it; returns the dispatcher that has it."""
    cache = dispatcher.stats.cache_path
    try:
        dispatcher.compile(signature)
    except Exception as error:
        if cache is None or isinstance(error, COMPILE_ERRORS):
            raise
        # Code of another numba, or a full disk: compile without a cache; the next process tries.
        from hexenv.compiled.compiling import tell

        tell(f"machine code cannot be kept ({error}): {cache}")
        shutil.rmtree(cache, ignore_errors=True)
        dispatcher = _jit(dispatcher.py_func, cache=False, counts=counts)
        dispatcher.compile(signature)
    return dispatcher


def _is_kept(dispatcher: Any, signature: tuple[Any, ...]) -> bool:
    """Whether this process or the cache on disk has the code."""
    if signature in dispatcher.overloads or dispatcher.stats.cache_path is None:
        return signature in dispatcher.overloads
    if "index of the cache" in MISSING:
        return False
    with suppress(Exception):  # of files that cannot be read, which `_compile` removes
        cache = dispatcher._cache
        key = cache._index_key(signature, dispatcher.targetctx.codegen())
        return cache._cache_file.has(key)
    return False


# ---- in words ------------------------------------------------------------------------------------

made: Final[dict[str, bool]] = {}
"""The code of this process, by its place and signature: whether it was compiled, not loaded."""
on_compiling: Final[ContextVar[Callable[[bool], None] | None]] = ContextVar(
    "on_compiling", default=None
)
"""Called in its context with True when code begins to be compiled (or waited for, while another
process compiles it), and with False when that has ended."""
_asking: Final[ContextVar[tuple[Any, ...]]] = ContextVar("asking", default=())
"""The object that asked for what is compiled now, and what it was asked with."""


def announced(method: F) -> F:
    """Let what a method compiles be announced by the `name` of its object, such as "uct".

    Where such methods call each other, it is the name of the first.
    """

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        token = _asking.set(_asking.get() or (self, *arguments))
        try:
            return method(self, *arguments, **options)
        finally:
            _asking.reset(token)

    return cast("F", call)


def _words(title: str, arguments: tuple[Any, ...]) -> str:
    """What is compiled, as a person would say it: who asks, and the game.

    That is the one among the arguments, else that of the environment that an agent was asked with.
    """
    asking = _asking.get()
    if asking:
        title = getattr(asking[0], "name", None) or type(asking[0]).__name__
    games = {cls for cls in classes_of(arguments) if hasattr(cls, "state_dtype")}
    for each in () if games else asking[1:]:
        game = getattr(getattr(each, "unwrapped", None), "game", None)
        games |= set() if game is None else {type(game)}
    names = sorted({game.name if isinstance(game.name, str) else game.__name__ for game in games})
    return title + (f" for {' and '.join(names)}" if names else "")
