"""Playout policies by name, as the agents' parameter `playout` writes them.

A policy that knows a move only in some positions is followed by the one that it asks in all others,
after a plus: ``"decisive+lgrf2+mast"`` is decisive moves, else the last good reply, else MAST. If
none follows, ``"fast"`` is asked.
"""

from typing import Any, Final

from agents.search.playout import Playout
from agents.search.reward import WinLoss
from agents.search.variant import Variant
from hexenv.common.importing import attribute_at
from hexenv.common.messages import suggestion

COMPLETE: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "fast": ("agents.search.playout:Uniform", {}),
    "generic": ("agents.search.playout:Uniform", {"fast": False}),
    "mast": ("agents.mcts.mast:Mast", {}),
    "nst": ("agents.mcts.mast:NST", {}),
    "ppa": ("agents.mcts.ppa:PolicyAdaptation", {}),
}
"""Policies that always know a move: where the class is, and its arguments."""

PARTIAL: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "decisive": ("agents.search.playout:Decisive", {}),
    "bridges": ("agents.knowledge.hex.bridges:SaveBridge", {}),
    "lgr1": ("agents.mcts.lgr:LastGoodReply", {"order": 1, "forgetting": False}),
    "lgr2": ("agents.mcts.lgr:LastGoodReply", {"order": 2, "forgetting": False}),
    "lgrf1": ("agents.mcts.lgr:LastGoodReply", {"order": 1, "forgetting": True}),
    "lgrf2": ("agents.mcts.lgr:LastGoodReply", {"order": 2, "forgetting": True}),
}
"""Policies that ask another one, `otherwise`, where they know no move."""


def make_playout(text: str) -> Playout:
    """The policy that a text names.

    Raises:
        ValueError: If there is no such policy, or one follows that is never asked.
    """
    *partial, last = text.split("+") if isinstance(text, str) else [""]  # pyright: ignore[reportUnnecessaryIsInstance]
    if last in PARTIAL:
        partial, last = [*partial, last], "fast"
    unknown = [name for name in partial if name not in PARTIAL]
    if unknown or last not in COMPLETE:
        meant = suggestion(unknown[0] if unknown else last, [*COMPLETE, *PARTIAL])
        raise ValueError(
            f"expected a playout of {', '.join(COMPLETE)}, or of {', '.join(PARTIAL)} and another "
            f"after a plus; got {text!r}{meant}"
        )
    if "decisive" in partial[1:]:
        raise ValueError(f"expected decisive before all other policies, got {text!r}")
    path, arguments = COMPLETE[last]
    policy = attribute_at(path)(**arguments)
    for name in reversed(partial):
        path, arguments = PARTIAL[name]
        policy = attribute_at(path)(otherwise=policy, **arguments)
    return policy


def variant_of(selection: Any, playout: str, reward: Any = WinLoss()) -> Variant:  # noqa: B008
    """The search with a rule, the policy that a text names, and a reward."""
    return Variant(selection, make_playout(playout), reward)
