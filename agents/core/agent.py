"""What an agent is."""

import copy
import functools
import inspect
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, ClassVar, Final, Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.common.messages import (
    check_seed,
    expect_parameters,
    full_signature,
    hundredths,
    shortened,
)
from hexenv.common.options import checks_options

F = TypeVar("F", bound=Callable[..., Any])


class Turn:
    """The lock of an agent, or of what agents share. A deep copy or pickle gets one of its own.

    Raises:
        RuntimeError: In a forked process, if another thread had the turn at the fork: that thread
            is not in this process, and has left its search in the middle.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()

    def __enter__(self) -> None:
        process = os.getpid()
        if self._process == process:
            self._lock.acquire()
        elif self._lock.acquire(blocking=False):  # the first time since a fork
            self._process = process
        else:
            raise RuntimeError(
                "expected no agent in act when this process was forked, got one (start processes "
                'by "spawn", or fork between two moves)'
            )

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type["Turn"], tuple[()]]:
        return Turn, ()


def in_turn(method: F) -> F:
    """Let the threads that share an agent call such methods of it one after another."""

    @functools.wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        with self.turn:
            return method(self, *arguments, **options)

    return cast("F", call)


IN_TURN: Final = ("act", "prepare", "reset", "save", "load", "__getstate__")
"""The methods of every agent that its threads call one after another."""


@dataclass(frozen=True)
class Statistics:
    """What the last search of an agent found at its root.

    Examples:
        >>> agent = UCT(simulations=50, seed=1)
        >>> agent.act(env)  # the third of three in a row
        2
        >>> agent.statistics.proven, agent.statistics.principal_variation
        (1, [2])

    Attributes:
        visits: ``(num_actions,) int64``: simulations that began with each action.
        values: ``(num_actions,) float64``: their mean result, -1 (lost) to 1 (won), for the player
            to move; 0 where `visits` is 0. For a proven action, its outcome.
        principal_variation: The line of the most visited actions, from the root.
        simulations: Simulations run in this search.
        seconds: Time it took, without compilation.
        proven: The outcome of the position with perfect play for the player to move, -1, 0 or 1,
            where the search has proven it; (the search then stopped early); otherwise None.
        priors: ``(num_actions,) float64``: the evaluator's probability of each action, where the
            search has one, with the root noise; they add up to 1. Else None.
        proven_actions: The actions whose value is proven.
        depth: Plies that a search to a fixed depth has looked ahead; its values are no means of
            visits. Else None.
        table_hits: How many positions the search had not to search again, as its table knew them;
            None where that is not counted.
        assumed: What the search assumed although it is false in this environment (see
            `agents.planning.view.planner_view`); then nothing is proven. Else None.
    """

    visits: NDArray[np.int64]
    values: NDArray[np.float64]
    principal_variation: list[int]
    simulations: int
    seconds: float
    proven: int | None = None
    priors: NDArray[np.float64] | None = None
    assumed: str | None = None
    proven_actions: Sequence[int] = ()
    depth: int | None = None
    table_hits: int | None = None

    @property
    def simulations_per_second(self) -> float:
        """The rate of the search; 0 where no time was measured.

        Over an environment of others it is the environment that sets it, by its own step.
        """
        return self.simulations / self.seconds if self.seconds > 0 else 0.0

    def _best(self, count: int) -> list[int]:
        """The most visited actions, or what was chosen without visits."""
        order = np.argsort(-self.visits, kind="stable")[:count].tolist()
        return [action for action in order if self.visits[action] > 0]

    def _shown_value(self, action: int) -> str:
        """1.00 stands for a proof alone."""
        shown = hundredths(float(self.values[action]), action in self.proven_actions)
        return f"{shown / 100:+.2f}"

    def __repr__(self) -> str:
        best = [
            f"{action} ({self.visits[action]} visits, value {self._shown_value(action)})"
            for action in self._best(3)
        ]
        line = self.principal_variation
        parts = [
            f"simulations={self.simulations}",
            f"seconds={self.seconds:.3g}",
            f"best actions: {', '.join(best) or 'none'}",
            f"line: {' '.join(map(str, line[:SHOWN_LINE]))}{' ...' * (len(line) > SHOWN_LINE)}",
        ]
        parts += [f"proven={self.proven}"] * (self.proven is not None)
        parts += [f"assumed={self.assumed!r}"] * (self.assumed is not None)
        return f"Statistics({', '.join(parts)})"

    def _repr_html_(self) -> str:
        columns = ["action", "visits", "value"] + ["prior"] * (self.priors is not None)
        rows = [
            [str(action), str(self.visits[action]), self._shown_value(action)]
            + ([] if self.priors is None else [f"{self.priors[action]:.3f}"])
            for action in self._best(10)
        ]
        title = f"{self.simulations} simulations in {self.seconds:.3g} s"
        title += "" if self.proven is None else f", proven {self.proven:+d}"
        title += "" if self.assumed is None else f", assumed: {self.assumed}"
        return html_table(title, columns, rows)


SHOWN_LINE: Final = 12
"""Actions of a principal variation that are shown."""


def html_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table for a notebook; the cells are HTML already, the title is not."""

    def row(cells: Iterable[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{cell}</{tag}>' for cell in cells)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table><caption>{escape(title)}</caption>{row(columns, 'th')}{body}</table>"


def with_assumption(statistics: Statistics, assumed: str | None) -> Statistics:
    """The statistics of a search that has assumed something; then nothing is proven."""
    return (
        statistics
        if assumed is None
        else replace(statistics, proven=None, proven_actions=(), assumed=assumed)
    )


OnSlice = Callable[[Callable[[], Statistics]], None]
"""Called between two slices of a search, with a function that returns the statistics so far.

An exception that it raises ends the search.
"""


class StoppedError(Exception):
    """Ends a search whose result is not needed any more: raised by an `OnSlice`."""


class ForfeitError(Exception):
    """Raised by an agent's `act` when it loses the game at once: its engine crashed, or was late.

    `agents.arena.match.play_game` counts the game as lost. An agent raises any other exception for
    errors that do not count as a loss.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Agent(Protocol):
    """An object that chooses actions in a PettingZoo AEC environment."""

    @property
    def statistics(self) -> Statistics | None:
        """Statistics of the last search; None before the first and for agents without a search."""
        ...

    def act(self, env: Any) -> int:
        """A legal action for the agent to move. The environment is left as it was.

        Raises:
            ValueError: If the game is over, or the agent cannot play in this environment.
            ForfeitError: If the agent gives the game up, or its engine breaks the protocol.
        """
        ...

    def reset(self, seed: int | None = None) -> None:
        """Forget the game played so far; with a seed, start the random stream anew."""
        ...


# ---- what classes of agents share ----------------------------------------------------------------


class _Signature:
    """What `inspect.signature` and `help` read of a class; an agent that is called has its own."""

    def __get__(self, agent: object | None, kind: type[Any]) -> inspect.Signature:
        if agent is not None:
            raise AttributeError("__signature__")
        return full_signature(kind)


class _NameOfClass(str):
    """The class of an argument, which stands for it where an agent is shown."""

    __slots__ = ()
    __repr__ = str.__str__


_SHOWN: Final = (bool, int, float, str, type(None), _NameOfClass)


class AgentBase:
    """The base of the agents' classes: all parameters by name, and what an agent shows of itself.

    Threads may share an agent: it makes one move at a time, and is copied and saved between moves.
    `help`, and the error of a parameter that there is not, name each of them, those too that come
    by ``**options: Unpack[SomeTypedDict]``.
    """

    __signature__ = _Signature()
    _given: dict[str, Any]
    turn: Turn
    changed_in_place: ClassVar[tuple[str, ...]] = ("_rng",)
    """The attributes in which a search writes."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in IN_TURN:
            if inspect.isfunction(vars(cls).get(name)):
                setattr(cls, name, in_turn(vars(cls)[name]))
        if "__init__" in vars(cls):
            cls.__init__ = checks_options(vars(cls)["__init__"])

    @in_turn
    def __getstate__(self) -> dict[str, Any]:
        # It is pickled after this has returned, when the agent may search again.
        held = vars(self)
        changed = {name: held[name] for name in self.changed_in_place if name in held}
        return {**held, **copy.deepcopy(changed)}

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        names = expect_parameters(cls.__name__, cls, args, kwargs)
        agent = super().__new__(cls)
        given = dict(zip(names, args, strict=False)) | kwargs
        for name, value in given.items():  # models and functions are not for messages, nor files
            if not isinstance(value, _SHOWN):
                given[name] = _NameOfClass(type(value).__name__)
        agent._given = given
        agent.turn = Turn()
        return agent

    def _parameters(self) -> dict[str, tuple[Any, bool]]:
        """The value of each parameter, and whether it is another than the default."""
        defaults = {
            name: one.default for name, one in full_signature(type(self)).parameters.items()
        }
        found: dict[str, tuple[Any, bool]] = {}
        for name in dict.fromkeys((*defaults, *self._given)):
            default = defaults.get(name, inspect.Parameter.empty)
            value = vars(self).get(name, inspect.Parameter.empty)
            if not isinstance(value, _SHOWN):  # an attribute may have changed, or be an object
                value = self._given.get(name, default)
            if value is not inspect.Parameter.empty:
                found[name] = value, default is inspect.Parameter.empty or value != default
        return found

    def __repr__(self) -> str:
        shown = [
            f"{name}={shortened(value)}"
            for name, (value, differs) in self._parameters().items()
            if differs
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        rows = [
            (f"<b>{name}</b>" if differs else name, escape(shortened(value)))
            for name, (value, differs) in self._parameters().items()
        ]
        table = html_table(type(self).__name__, ("parameter", "value"), rows)
        found: Statistics | None = getattr(self, "statistics", None)
        return table if found is None else table + found._repr_html_()  # pyright: ignore[reportPrivateUsage]


class SeededAgent(AgentBase):
    """An agent with one stream of random numbers; without a seed, a different one each time."""

    def __init__(self, seed: int | None = None) -> None:
        check_seed(seed)
        self.statistics: Statistics | None = None
        self._rng = np.random.default_rng(seed)

    def reset(self, seed: int | None = None) -> None:
        check_seed(seed)
        self.statistics = None
        if seed is not None:
            self._rng = np.random.default_rng(seed)
