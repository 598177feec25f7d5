"""A game of your own: its class says what is different, `game` adds the rest.

    @game
    class Subtraction(NamedTuple):
        counters: int = 21
        state_dtype = base.state_dtype(("left", np.int16))

        def num_actions(self) -> int: ...
        def max_plies(self) -> int: ...
        def initial(self, state: State) -> None: ...
        def legal_actions(self, state: State, out: Actions) -> int: ...
        def step(self, state: State, action: int) -> None: ...

What a class has beside these five and `state_dtype`, it has because it differs:

* the *core*, enough for searches, matches and environments: `to_play` where the players do not
  alternate, `outcome`, `position_hash`, `action_text` and `parse_action`, ...;
* the *board*, for planes and pictures: `rows`, `columns` and `owner`, and perhaps `labels`,
  `last_cell`, `cells_of_action`, `winning_cells`, `symmetries`. A game without one shows one
  empty cell, and learners see the bits of its state's fields (`planes_of_fields`), until it has
  `planes` and `observe` of its own;
* *stones that are placed* and stay: `place` and `completes`. Then a position can be built from its
  stones, an action is the cell it fills, and a move is refused because the cell is taken. All other
  games keep a position as the bytes of its state.

`hexenv.testing.check_game` checks the result.
"""

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hexenv.common.messages import shortened
from hexenv.compiled import compiled, hash_record, kernel, scratch_array, write_bits
from hexenv.compiled.callees import members_of
from hexenv.games import base
from hexenv.games.base import DRAW, EMPTY, IN_PLAY, NO_ACTION, Cells, Game, State
from hexenv.games.promises import keep_promises

REQUIRED: Final = ("num_actions", "max_plies", "initial", "legal_actions", "step")
"""The methods that every game has to write itself."""
CONTRACT: Final = {
    name: value
    for protocol in (base.Game, base.StoneGame, base.OptionalVerbs)
    for name, value in vars(protocol).items()
    if not name.startswith("_")
}
"""The contract's properties and methods by name."""


@kernel
def position_hash(self: Any, state: State) -> int:
    """`Game.position_hash` by all fields but those that every state has, and the player to move."""
    return hash_record(state) ^ (base.SECOND_PLAYER_KEY * int(self.to_play(state)))


@kernel
def legal_mask(self: Any, state: State, owners: Cells, out: NDArray[np.int8]) -> None:
    """`Game.legal_mask` for every game: by `Game.legal_actions`."""
    actions = scratch_array(out.size, np.int32)
    count = self.legal_actions(state, actions)
    out[:] = 0
    for pick in range(count):
        out[actions[pick]] = 1


@kernel
def no_owner(self: Any, state: State, cell: int) -> int:
    """`Game.owner` of a game without a board."""
    return EMPTY


@kernel
def observe_fields(self: Any, state: State, player: int, owners: Cells, out: NDArray[Any]) -> None:
    """`Game.observe` of a game without a board: see `planes_of_fields`."""
    out[0, :] = 0
    out[0, 2] = player
    write_bits(state, 3, out)
    for cell in range(1, out.shape[0]):  # it may have rows and columns all the same
        for plane in range(out.shape[1]):
            out[cell, plane] = out[0, plane]


def planes_of_fields(self: Any) -> tuple[str, ...]:
    """`Game.planes` of a game without a board: the bits of all that its state holds.

    After own and opponent, which are 0, comes ``player``, the number of who looks. The fields
    follow in the order of `state_dtype`, without the three that every state has; of each the
    planes are its bits, the lowest one first: ``left.0`` to ``left.15`` of an `int16`. Of a field
    that is an array, the bits of its second number follow those of its first, and so on.
    """
    fields = dict(self.state_dtype.fields or {})
    own = [name for name in fields if name not in dict(base.STATE_FIELDS)]
    bits = [f"{name}.{bit}" for name in own for bit in range(8 * fields[name][0].itemsize)]
    return (*base.stone_planes(self), "player", *bits)


@kernel
def no_cell(self: Any, state: State) -> int:
    """`Game.last_cell` where an action fills no cell."""
    return NO_ACTION


def action_text(self: Any, action: int) -> str:
    """`Game.action_text`: the number."""
    return str(action)


def parse_action(self: Any, text: str) -> int:
    """`Game.parse_action`: by the texts of all actions."""
    if (action := _actions_by_text(self.__class__, self).get(text)) is not None:
        return action
    legal = base.legal_actions(self, base.new_state(self))  # some actions may never be so
    first, last = self.action_text(legal[0]), self.action_text(legal[-1])
    raise ValueError(f"expected a move of {self.name} such as {first} or {last}, got {text!r}")


@functools.lru_cache(maxsize=16)
def _actions_by_text(kind: type, game: Game) -> dict[str, int]:
    """The first action of each text; games of two classes may be equal, as tuples are."""
    return {game.action_text(action): action for action in reversed(range(game.num_actions()))}


def why_illegal(self: Any, state: State, action: int) -> str:
    """`Game.why_illegal` where there is no more to say."""
    return f"the rules do not allow {self.action_text(action)} here"


def no_cells_of_action(self: Any, state: State, action: int) -> tuple[int, ...]:
    """`Game.cells_of_action` where an action fills no cell: it is shown by its text."""
    return ()


def labels(self: Any) -> tuple[list[str], list[str]]:
    """`Game.labels`: none."""
    return [], []


def symmetries(self: Any) -> NDArray[np.int32]:
    """`Game.symmetries`: the identity alone."""
    return np.arange(self.num_actions(), dtype=np.int32)[np.newaxis]


def no_winning_cells(self: Any, state: State) -> list[int]:
    """`Game.winning_cells` where cells do not win."""
    return []


def completing_cells(self: Any, state: State) -> list[int]:
    """`Game.winning_cells`: the winner's stones that complete something."""
    if state.winner in (IN_PLAY, DRAW):
        return []
    owners = base.cell_owners(self, state).ravel()
    mine: list[int] = np.flatnonzero(owners == state.winner).tolist()
    return [cell for cell in mine if self.completes(state, cell)]


DEFAULTS: Final[dict[str, Any]] = {
    # the core
    "copy": base.copy,
    "is_terminal": base.is_terminal,
    "to_play": base.to_play,
    "outcome": base.outcome,
    "next_actions": base.next_actions,
    "legal_mask": legal_mask,
    "position_hash": position_hash,
    "random_playout": base.play_randomly,
    "cell_of": base.cell_of,
    "num_cells": base.num_cells,
    "action_text": action_text,
    "parse_action": parse_action,
    "why_illegal": why_illegal,
    "symmetries": symmetries,
    # the board
    "style": "squares",
    "rows": 1,
    "columns": 1,
    "owner": no_owner,
    "owners": base.owners,
    "observe": observe_fields,
    "planes": planes_of_fields,
    "labels": labels,
    "cells_of_action": no_cells_of_action,
    "last_cell": no_cell,
    "winning_cells": no_winning_cells,
}
"""What `game` adds where a class has nothing of the name."""
OF_BOARD: Final[dict[str, Any]] = {"observe": base.observe, "planes": base.stone_planes}
"""What it adds instead to a game with a board."""
OF_STONES: Final[dict[str, Any]] = {
    "cells_of_action": base.cells_of_action,
    "last_cell": base.last_cell,
    "winning_cells": completing_cells,
    "why_illegal": base.why_illegal,
    "count_plies": base.count_plies,
}
"""What it adds instead to a game of stones that are placed."""


def game(cls: type[Any]) -> Callable[..., Game]:
    """Class decorator: make a NamedTuple class a game that compiles, with defaults.

    Args:
        cls: A `typing.NamedTuple` class with at least one field, `state_dtype`, and the methods
            `num_actions`, `max_plies`, `initial`, `legal_actions` and `step`.

    Returns:
        The same class, with what it lacks of `hexenv.games.base.Game`.

    Raises:
        TypeError: If something is missing, or a method has other parameters than the contract says.
    """
    fields: tuple[str, ...] = getattr(cls, "_fields", ())
    name = getattr(cls, "__name__", shortened(cls))
    if not fields or not isinstance(cls, type):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"expected a NamedTuple class with at least one field, got {name}")
    found = members_of(cls)
    if missing := [each for each in ("state_dtype", *REQUIRED) if each not in found]:
        raise TypeError(f"{name}: expected {', '.join(map(_written, missing))}, got none")
    has_board = {"owner", "owners", "place"} & {
        each for each, value in found.items() if value is not DEFAULTS.get(each)
    }
    defaults = DEFAULTS | {"name": name.lower()} | (OF_BOARD if has_board else {})
    defaults |= OF_STONES if "place" in found else {}
    board = ("rows", "columns", "owner") if has_board else ()
    if missing := [each for each in board if each not in found]:
        raise TypeError(f"{name}: expected {', '.join(missing)} of its board, got none")
    for each, value in found.items():
        if each in CONTRACT:
            kind = "field" if each in fields else type(value).__name__
            _check_member(name, each, value, f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}")
    for each, value in defaults.items():
        if each not in found or found[each] is DEFAULTS.get(each):  # that of a base class, perhaps
            setattr(cls, each, value)
    keep_promises(cls)
    return compiled(cls)


def _written(name: str) -> str:
    """A member as the contract writes it: ``step(self, state, action)``."""
    method = CONTRACT[name]
    if not isinstance(method, FunctionType):
        return name
    return f"{name}({', '.join(inspect.signature(method).parameters)})"


def _check_member(cls: str, name: str, method: Any, kind: str) -> None:
    """Refuse what is no method where the contract has one, or cannot be called as it calls it."""
    if not isinstance(CONTRACT[name], FunctionType):
        if isinstance(method, (FunctionType, staticmethod, classmethod)):
            expected = "a field, a constant or a property"
            raise TypeError(f"{cls}.{name}: expected {expected}, got a method")
        if name == "state_dtype" and kind not in ("a field", "a property"):
            _check_state_dtype(cls, method)
        return
    if not isinstance(method, FunctionType):
        raise TypeError(f"{cls}.{name}: expected a method {_written(name)}, got {kind}")
    parameters = inspect.signature(method).parameters.values()
    asked = len(inspect.signature(CONTRACT[name]).parameters)
    needed = sum(each.default is each.empty for each in parameters)
    if not needed <= asked <= len(parameters):
        got = ", ".join(each.name for each in parameters)
        raise TypeError(f"{cls}: expected {_written(name)}, got {name}({got})")


def _check_state_dtype(cls: str, dtype: Any) -> None:
    fields = dict(getattr(dtype, "fields", None) or {})
    if any(name not in fields or fields[name][0] != kind for name, kind in base.STATE_FIELDS):
        shared = ", ".join(f"{name} of {kind.__name__}" for name, kind in base.STATE_FIELDS)
        expected = f"base.state_dtype(...), which adds {shared}"
        raise TypeError(f"{cls}.state_dtype: expected {expected}; got {shortened(dtype)}")
