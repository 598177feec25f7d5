"""Which agent to take for a game: the one source that README, guides, site and pages quote."""

import ast
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from agents.arena.anchors import boards
from agents.registry import AGENTS


@cache
def source() -> dict[str, Any]:
    """What ``which_agent.toml`` beside this module says: boards, and groups of agents."""
    text = (files("agents.arena") / "which_agent.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def levels(game: str) -> list[tuple[str, int]]:
    """Agents of rising strength on the usual board of a game, each as text with its rating."""
    return [
        (name, round(board.anchors.elo[name]))
        for board in boards()
        if (board.anchors.game, board.anchors.options) == (game, ())
        for name in board.levels
    ]


def strongest(game: str, with_network: bool = False) -> str | None:
    """The recommended agent of those that need no other program, as text.

    Args:
        game: A game's `name`, such as ``hex``.
        with_network: Of those that play with a shipped network, which needs PyTorch; otherwise of
            those that need no network.

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
    given = [f"{each.arg}={ast.literal_eval(each.value)}" for each in made.keywords]
    return name + (f":{','.join(given)}" if given else "")
