"""Playout policies by name, as the agents' parameter `playout` writes them.

A policy that knows only some answers is followed by the one that answers for it, behind a plus:
``"decisive+lgrf2"`` is decisive moves, else the last good reply, else (nothing follows) random.
"""

from collections.abc import Callable
from typing import Any, Final

from agents.knowledge.hex.bridges import SaveBridge
from agents.search.adaptation import PolicyAdaptation
from agents.search.mast import NST, Mast
from agents.search.playout import Decisive, Playout, Uniform
from agents.search.replies import LastGoodReply

COMPLETE: Final[dict[str, Callable[[], Any]]] = {
    "fast": Uniform,
    "generic": lambda: Uniform(fast=False),
    "mast": Mast,
    "nst": NST,
    "ppa": PolicyAdaptation,
}
"""Policies that always know a move: fast and generic random ones, MAST, NST, PPA."""

PARTIAL: Final[dict[str, Callable[[Any], Any]]] = {
    "decisive": Decisive,
    "bridges": SaveBridge,
    "lgr1": lambda otherwise: LastGoodReply(1, False, otherwise),
    "lgr2": lambda otherwise: LastGoodReply(2, False, otherwise),
    "lgrf1": lambda otherwise: LastGoodReply(1, True, otherwise),
    "lgrf2": lambda otherwise: LastGoodReply(2, True, otherwise),
}
"""Policies that ask another one where they know nothing."""


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
    policy = COMPLETE[last]()
    for name in reversed(partial):
        policy = PARTIAL[name](policy)
    return policy
