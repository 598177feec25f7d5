"""Which agent to take, and who has which rating: what README, guides, site and pages quote."""

import ast
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from agents.registry import AGENTS, with_parameters


@cache
def source() -> dict[str, Any]:
    """What ``which_agent.toml`` beside this module says: boards, and groups of agents."""
    return _read("which_agent.toml")


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files("agents.arena") / name).read_text(encoding="utf-8"))


class Board(NamedTuple):
    """A board of the bench.

    Attributes:
        name: In words.
        game: A game of `hexenv`.
        options: ``key=value`` texts for it.
        anchors: Agents with their fixed ratings, the weakest first.
        levels: Those of them that pages propose.
    """

    name: str
    game: str
    options: tuple[str, ...]
    anchors: dict[str, float]
    levels: tuple[str, ...]


@cache
def boards() -> tuple[Board, ...]:
    """The boards in ``anchors.toml`` beside this module, which says how they were measured.

    In every game 1000 is UCT with 100 simulations; 200 more are a score of 76 %.
    """
    return tuple(
        Board(
            one["name"],
            one["game"],
            tuple(one["options"]),
            {agent: float(numbers[0]) for agent, numbers in one["anchors"].items()},
            tuple(one["levels"]),
        )
        for one in _read("anchors.toml")["board"]
    )


def levels(game: str) -> list[tuple[str, int]]:
    """Agents of rising strength on the usual board of a game, each as text with its rating."""
    return [
        (name, round(board.anchors[name]))
        for board in boards()
        if (board.game, board.options) == (game, ())
        for name in board.levels
    ]


def strongest(game: str, with_network: bool = False) -> str | None:
    """The recommended agent of those that need no other program, as text.

    Args:
        game: A game's `name`, such as ``hex``.
        with_network: Of those that play with a shipped network; otherwise of the others.

    Returns:
        What `make_agent` reads, without a budget; None for a game of which nothing is known.
    """
    key = "with_network" if with_network else "take"
    boards = (board for board in source()["board"] if board["game"].lower() == game)
    board = next(boards, None)
    return None if board is None or key not in board else _as_text(board[key])


def _as_text(call: str) -> str:
    """``RAVE(playout="bridges")`` as ``rave:playout=bridges``."""
    made = ast.parse(call, mode="eval").body
    if not (isinstance(made, ast.Call) and isinstance(made.func, ast.Name)):
        raise ValueError(f"expected an agent such as UCT(), got {call}")
    class_name = made.func.id
    name = next(name for name, path in AGENTS.items() if path.endswith(f":{class_name}"))
    given = {str(each.arg): ast.literal_eval(each.value) for each in made.keywords}
    return with_parameters(name, given)
