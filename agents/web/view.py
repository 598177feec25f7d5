"""What a page shows of positions and searches, as values that JSON knows.

A *frame* is one position of a game: its stones, the move that led there, whose turn it is, and what
the player to move found in a search. A page has a list of them, from the start of the game on.
"""

from typing import Any, Final

from agents.protocols.cells import cell_of, is_by_column
from agents.records import Search
from hexenv.games import base
from hexenv.games.base import EMPTY, NO_ACTION, Game, State
from hexenv.games.notation import SYMBOLS

Values = dict[str, Any]
"""An object of JSON."""

MOST_OF_LINE: Final = 20
"""How much of a principal variation is shown."""


def frame_view(game: Game, state: State, move: Values | None = None) -> Values:
    """A position.

    Args:
        game: The game.
        state: The position.
        move: What has led there (see `move_view`); None at the start.

    Returns:
        ``owners``: a text of ``X``, ``O`` and ``.``, a letter for each cell; ``player``: who is to
        move, None where the game is over; ``last`` and ``winning``: cells to mark; ``move``;
        ``search``, None for now.
    """
    owners = base.cell_owners(game, state).ravel().tolist()
    last = game.last_cell(state)
    return {
        "owners": "".join("." if owner == EMPTY else SYMBOLS[owner] for owner in owners),
        "player": None if game.is_terminal(state) else int(game.to_play(state)),
        "last": None if last == NO_ACTION else int(last),
        "winning": [int(cell) for cell in game.winning_cells(state)],
        "move": move,
        "search": None,
    }


def move_view(game: Game, state: State, action: int, seconds: float | None) -> Values:
    """An action in the position where it was played.

    Returns:
        ``action``, ``text``, ``player``, and ``seconds`` that it took, None where nobody counted.
    """
    text, player = game.action_text(action), int(game.to_play(state))
    return {"action": action, "text": text, "player": player, "seconds": seconds}


def search_view(game: Game, state: State, search: Search) -> Values:
    """A search from a position.

    Returns:
        ``seconds``, ``simulations``, ``value`` and ``proven`` as in `Search`; ``actions``: for each
        action that the search tells of its ``action``, ``text``, ``cell`` (None for one without),
        ``visits``, ``value`` and ``prior`` (None where it tells none), the most visited first;
        ``line``: the principal variation, of each move the ``text``, ``cell`` and ``player``.
    """
    told = {**search.visits, **search.values, **search.priors}
    actions = [
        {
            "action": action,
            "text": game.action_text(action),
            "cell": cell_of(game, state, action),
            "visits": search.visits.get(action),
            "value": search.values.get(action),
            "prior": search.priors.get(action),
        }
        for action in sorted(told, key=lambda action: (-search.visits.get(action, 0), action))
    ]
    return {
        "seconds": search.seconds,
        "simulations": search.simulations,
        "value": search.value,
        "proven": search.proven,
        "actions": actions,
        "line": line_view(game, state, search.principal_variation[:MOST_OF_LINE]),
    }


def line_view(game: Game, state: State, actions: tuple[int, ...]) -> list[Values]:
    """Moves that follow each other from a position; see `search_view`."""
    state = base.clone(game, state)
    line: list[Values] = []
    for action in actions:
        line.append(
            {
                "text": game.action_text(action),
                "cell": cell_of(game, state, action),
                "player": int(game.to_play(state)),
            }
        )
        game.step(state, action)
    return line


def choices_view(game: Game, state: State, legal: list[int]) -> Values:
    """What a player may click.

    Args:
        game: The game.
        state: The position.
        legal: The legal actions.

    Returns:
        ``cells``: for each cell that chooses an action the ``action``, its ``text`` and the
        ``cell`` that it fills; ``others``: ``action`` and ``text`` of those that no cell chooses.
    """
    found: Values = {"cells": {}, "others": []}
    for action in legal:
        text, cell = game.action_text(action), cell_of(game, state, action)
        choice = {"action": action, "text": text, "cell": cell}
        if cell is None:
            found["others"].append({"action": action, "text": text})
        elif is_by_column(game):
            found["cells"] |= {row * game.columns + action: choice for row in range(game.rows)}
        else:
            found["cells"][cell] = choice
    return found


def result_text(outcome: int | None, reason: str | None, names: tuple[str, str]) -> str:
    """How a game ended, in words; an empty text while it goes on.

    Args:
        outcome: For player 0; None for a game without an end.
        reason: Why, where the rules do not say.
        names: Of the players.
    """
    if outcome is None:
        return "" if reason is None else f"stopped: {reason}"
    if outcome == 0:
        words = "a draw"
    else:
        name = names[0 if outcome > 0 else 1]
        words = f"{name} {'win' if name == 'you' else 'wins'}"
    return words if reason is None else f"{words} ({reason})"
