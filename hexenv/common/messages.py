"""What a user is told: what was expected, what came, and what may have been meant.

Errors, and the signatures of functions and classes whose parameters come by
``**options: Unpack[SomeTypedDict]``: they name every parameter, and so do the errors of wrong ones.
"""

import functools
import inspect
import operator
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar, Unpack, get_args, get_origin
from weakref import WeakKeyDictionary

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")

LONGEST_MESSAGE: Final = 300
"""Characters of a message about a file."""
LONGEST_VALUE: Final = 60
"""Characters of a value in a message."""
OTHER_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "mcts": ("uct",),
    "minimax": ("alphabeta",),
    **dict.fromkeys(("alpha_beta", "negamax"), ("alphabeta", "hexalphabeta")),
    **dict.fromkeys(("rollouts", "num_rollouts", "playouts", "iterations"), ("simulations",)),
    **dict.fromkeys(("time", "time_limit", "timeout", "movetime", "budget"), ("seconds",)),
    **dict.fromkeys(("exploration", "exploration_constant", "exploration_weight", "uct_c"), ("c",)),
    **dict.fromkeys(("model", "network", "net", "model_path"), ("policy", "net", "file", "path")),
    **dict.fromkeys(("rng", "random_state", "random_seed"), ("seed",)),
    **dict.fromkeys(("width", "size", "board_size", "n"), ("columns", "board_size")),
    **dict.fromkeys(("height", "rows"), ("rows", "board_size")),
    "render": ("render_mode",),
    "first_player": ("side", "to_play"),
    **dict.fromkeys(
        ("workers", "threads", "n_jobs", "num_threads", "processes"), ("threads", "workers")
    ),
}
"""What words of other libraries, in lower case, are called here: the first that there is."""
PASSED_OVER: Final = ("hexenv", "gymnasium", "pettingzoo")
"""Packages whose lines a warning does not point at."""


def shortened(value: Any) -> str:
    """A value as a message shows it."""
    text = " ".join(repr(value).split())  # of an array, in one line
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def hundredths(value: float, is_proven: bool) -> int:
    """A value, -1 to 1, as people are shown it: -100 and 100 stand for proofs alone.

    However sure a search is of an outcome that it has not proven, it is shown as 99.
    """
    most = 100 if is_proven else 99
    return max(-most, min(most, round(100 * value)))


def error_in(path: str | os.PathLike[str], error: ValueError) -> ValueError:
    """An error with the name of the file before it; a long message is cut."""
    text = str(error)
    if len(text) > LONGEST_MESSAGE:
        text = f"{text[:LONGEST_MESSAGE]}..."
    return ValueError(f"{path}: {text}")


def error_at(line: int, message: object) -> ValueError:
    """An error with the line of a file."""
    return ValueError(f"line {line}: {message}")


def not_one_of(what: str, known: Iterable[Any], got: Any) -> str:
    """``expected a game of hex, connect4, got 'hx' (did you mean hex?)``."""
    names = [str(name) for name in known]
    return f"expected {what} of {', '.join(names)}, got {shortened(got)}{suggestion(got, names)}"


def suggestion(got: Any, known: Iterable[str]) -> str:
    """`` (did you mean hex?)``, or nothing if no known name is close.

    A name is meant by a word of other libraries (`OTHER_WORDS`), by one that is written nearly
    alike, or by some of its words: `size` means `board_size`, `n_threads` means `threads`.
    """
    if not isinstance(got, str) or len(got) > LONGEST_VALUE:
        return ""
    import difflib  # only errors need it

    names = {name.lower().removesuffix("agent") or "agent": name for name in known}
    word = got.lower().replace("-", "_").removesuffix("agent").rstrip("_") or "agent"
    parts = set(word.split("_"))
    found = [
        *(each for each in OTHER_WORDS.get(word.removeprefix("max_"), ()) if each in names),
        *difflib.get_close_matches(word, list(names), 1, 0.66),
        *(each for each in names if parts < set(each.split("_")) or parts > set(each.split("_"))),
    ]
    return f" (did you mean {names[found[0]]}?)" if found else ""


def warn_user(message: str) -> None:
    """A UserWarning at the line of the program that has called us, however many wrappers between.

    Lines of our own and of the libraries whose wrappers are around environments are passed over.
    """
    frame, level = inspect.currentframe(), 1
    while frame is not None and _package_of(frame) in PASSED_OVER:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, UserWarning, stacklevel=level)


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]


# ---- values ------------------------------------------------------------------------------------


def whole_number(name: str, value: Any) -> int:
    """A parameter as an integer; ValueError if it is none."""
    try:
        return operator.index(value)
    except TypeError:
        raise ValueError(f"expected a whole number of {name}, got {value!r}") from None


def true_or_false(name: str, value: Any) -> bool:
    """A flag; ValueError for anything else, as the text ``"no"``, which Python counts as true."""
    is_flag = isinstance(value, int | np.bool_)
    if not is_flag or value not in (0, 1):
        raise ValueError(f"expected {name} to be True or False, got {shortened(value)}")
    return value == 1


def check_seed(seed: Any) -> None:
    """Refuse what no random stream can begin with; None is allowed: any stream."""
    if seed is None or (isinstance(seed, int) and seed >= 0):
        return
    try:
        np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise _wrong_seed(seed) from None


def check_whole_seed(seed: Any) -> None:
    """Refuse what the streams of an environment cannot begin with; None: as they are."""
    is_whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if seed is not None and not (is_whole and seed >= 0):
        raise _wrong_seed(seed)


def _wrong_seed(seed: Any) -> ValueError:
    got = shortened(seed)
    return ValueError(f"expected a seed as a whole number from 0, or None, got {got}")


# ---- parameters of functions and classes ---------------------------------------------------------


def typed_dict_of(annotation: Any) -> Any:
    """The ``TypedDict`` of an ``Unpack[TypedDict]``; None for anything else."""
    return get_args(annotation)[0] if get_origin(annotation) is Unpack else None


def full_signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of a class or a function, with every parameter by its name.

    ``**options: Unpack[SomeTypedDict]`` stands for parameters: those of the base class where a
    class has it, those of the class that is returned where a function does. The class attribute
    `settings_class` is a class whose parameters they are besides, and `other_defaults` has the
    defaults that differ.
    """
    is_class = inspect.isclass(function)
    if is_class and inspect.isfunction(function.__init__):
        signature = inspect.signature(function.__init__)
        found = list(signature.parameters.values())[1:]
    else:
        signature = inspect.signature(function)
        found = list(signature.parameters.values())
    returned = inspect.Signature.empty if is_class else signature.return_annotation
    options = typed_dict_of(found[-1].annotation) if found else None
    of = function.__mro__[1] if inspect.isclass(function) else returned
    if options is not None and inspect.isclass(of):
        defaults: Mapping[str, Any] = getattr(function, "other_defaults", {})
        declaring: list[Any] = [getattr(function, "settings_class", None), of]
        known = {
            name: parameter
            for each in declaring
            if inspect.isfunction(getattr(each, "__init__", None))
            for name, parameter in full_signature(each).parameters.items()
        }
        found.pop()
        for name in options.__annotations__:
            one = known.get(name, inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY))
            default = defaults.get(name, one.default)
            found.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=default))
    return signature.replace(parameters=found, return_annotation=returned)


class _Accepted(NamedTuple):
    """What a function takes: the names, and how many arguments may come without one."""

    names: tuple[str, ...]
    takes_any_name: bool
    unnamed: float


_accepted_by: Final[WeakKeyDictionary[Callable[..., Any], _Accepted]] = WeakKeyDictionary()


def _accepted(function: Callable[..., Any]) -> _Accepted:
    try:
        if (found := _accepted_by.get(function)) is not None:
            return found
    except TypeError:  # it cannot be looked for, or not by a weak reference
        return _find_accepted(function)
    found = _accepted_by[function] = _find_accepted(function)
    return found


def _find_accepted(function: Callable[..., Any]) -> _Accepted:
    each = full_signature(function).parameters.values()
    of_kind = [parameter.kind for parameter in each]
    unnamed = sum(kind <= inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in of_kind)
    names = [one.name for one in each if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    return _Accepted(
        tuple(names),
        inspect.Parameter.VAR_KEYWORD in of_kind,
        float("inf") if inspect.Parameter.VAR_POSITIONAL in of_kind else unnamed,
    )


def expect_parameters(
    title: str,
    function: Callable[..., Any],
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    also: Iterable[str] = (),
) -> tuple[str, ...]:
    """Refuse by a TypeError what a class or a function, called `title`, does not take.

    `also` are names that are known besides. Returns the names of its parameters.
    """
    names, takes_any_name, unnamed = _accepted(function)
    for name in named:
        if name not in names and not takes_any_name and name not in also:
            known = [*names, *also]
            expected = f"a parameter of {', '.join(known)}" if known else "no parameters"
            # Python's own words: libraries such as TorchRL try an option, and look for them.
            got = f"got an unexpected keyword argument {name!r}{suggestion(name, known)}"
            raise TypeError(f"{title}: expected {expected}, {got}")
    if len(arguments) > unnamed:
        got = ", ".join(map(shortened, arguments))
        raise TypeError(f"{title}: expected at most {unnamed} arguments without a name, got {got}")
    return names


def with_full_signature(function: Callable[P, T], returns: Any = None) -> Callable[P, T]:
    """A function whose signature and docstring name every parameter, as do errors of wrong ones.

    See `full_signature`. `returns` is what it returns, where the annotation does not say so.
    """
    signature = full_signature(function)
    if returns is not None:
        signature = signature.replace(return_annotation=returns)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        title = f"{call.__module__.rpartition('.')[2]}.{call.__name__}"
        expect_parameters(title, function, args, kwargs)
        return function(*args, **kwargs)

    call.__doc__ = _with_options(function)
    call.__dict__["__signature__"] = signature
    return call


def _with_options(function: Callable[..., Any]) -> str:
    """The docstring, with the lines of a ``TypedDict`` in the place of its ``**options``."""
    doc = inspect.cleandoc(function.__doc__ or "")  # from Python 3.13 on, all docstrings are
    for name, parameter in inspect.signature(function).parameters.items():
        options = typed_dict_of(parameter.annotation)
        described = inspect.cleandoc(getattr(options, "__doc__", "") or "")
        attributes = described.partition("Attributes:\n")[2].rstrip()
        if attributes:
            line = re.search(rf"^ *\*\*{name}: .*$", doc, re.MULTILINE)
            doc = doc if line is None else doc.replace(line[0], attributes)
    return doc
