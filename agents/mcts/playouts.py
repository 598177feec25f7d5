"""Playout policies by name, as the agents' parameter `playout` writes them.

A policy that knows only some answers is followed by the one that answers for it, behind a plus:
``"decisive+lgrf2"`` is decisive moves, else the last good reply, else (nothing follows) random.
"""

from typing import Any, Final

from agents.registry import attribute_at
from agents.search.playout import Playout

COMPLETE: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "fast": ("agents.search.playout:Uniform", {}),
    "generic": ("agents.search.playout:Uniform", {"fast": False}),
    "mast": ("agents.search.mast:Mast", {}),
    "nst": ("agents.search.mast:NST", {}),
    "ppa": ("agents.search.adaptation:PolicyAdaptation", {}),
}
"""Policies that always know a move: a class, imported when it is asked for, and its parameters."""

PARTIAL: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "decisive": ("agents.search.playout:Decisive", {}),
    "bridges": ("agents.knowledge.hex.bridges:SaveBridge", {}),
    "lgr1": ("agents.search.replies:LastGoodReply", {"order": 1, "forgetting": False}),
    "lgr2": ("agents.search.replies:LastGoodReply", {"order": 2, "forgetting": False}),
    "lgrf1": ("agents.search.replies:LastGoodReply", {"order": 1, "forgetting": True}),
    "lgrf2": ("agents.search.replies:LastGoodReply", {"order": 2, "forgetting": True}),
}
"""Policies that ask another one, their parameter `otherwise`, where they know nothing."""


def make_playout(text: str) -> Playout:
    """The policy that a text names.

    Raises:
        ValueError: If there is no such policy, or one follows that is never asked.
    """
    *partial, last = text.split("+")
    if last in PARTIAL:
        partial, last = [*partial, last], "fast"
    if last not in COMPLETE or not set(partial) <= set(PARTIAL):
        raise ValueError(
            f"expected a playout of {', '.join(COMPLETE)}, or of {', '.join(PARTIAL)} and another "
            f"behind a plus; got {text!r}"
        )
    if "decisive" in partial[1:]:
        raise ValueError(f"expected decisive in front of all other policies, got {text!r}")
    path, parameters = COMPLETE[last]
    policy = attribute_at(path)(**parameters)
    for name in reversed(partial):
        path, parameters = PARTIAL[name]
        policy = attribute_at(path)(**parameters, otherwise=policy)
    return policy
