"""What a page may ask for: games, and agents that neither read files nor run commands.

Other agents have to be offered, by their texts, when the server is started.
"""

import inspect
import math
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from agents.apps.web.opponents import opponents, shipped_networks
from agents.apps.web.protocol import Setup
from agents.core.agent import Agent
from agents.registry import (
    AGENTS,
    environment_makers,
    import_named,
    make_agent,
    make_environment,
    parameters,
    type_hints,
    with_parameters,
)
from hexenv import GAMES
from hexenv.common.importing import attribute_at
from hexenv.common.options import OneOf, Option, Within
from hexenv.games.gomoku import FORBIDDEN, RULES
from hexenv.games.gomoku.openings import OPENINGS

LIMITS: Final = {
    "simulations": (1, 200_000),
    "seconds": (0.01, 30.0),
    "depth": (0, 30),
    "batch": (1, 64),
    "level": (1, 6),
    "iterations": (1, 10_000),
    "neighbourhood": (1, 5),
    "positions": (1, 20_000_000),
    "lines": (1, 20),
}
"""Bounds of numbers that decide about time and memory; other numbers are bounded by agents."""
PATTERNS: Final = {
    "playout": r"[a-z0-9]+(\+[a-z0-9]+)*",
    "heuristics": "[1-9]*",
    "without": r"[a-z+]*",
}
"""What the texts of other parameters may look like; the agents look at them closely."""
KEPT: Final = (
    "assume", "knowledge_at", "max_nodes", "route", "seed", "table_entries", "workers",
)  # fmt: skip
"""Parameters that pages do not set: most take memory or processors of the server."""
DEFAULT_SECONDS: Final = 1.0
"""Seconds a move if the page gives no budget."""
MAX_NODES: Final = 1_000_000
"""Maximal size of a tree, about 40 MB."""

OPTION_WORDS: Final = {"rule": RULES, "forbidden": FORBIDDEN, "opening": ("none", *OPENINGS)}
"""The values of options of games that are words."""


class Field(NamedTuple):
    """A parameter that a page may set.

    Attributes:
        default: As a text; an empty one where there is none.
        is_required: Whether it must have a value.
        words: All its values, or none if others are allowed.
        limits: The least and the most, of a number; None of anything else.
        pattern: What a text without `words` and `limits` has to look like.
        proposed: Some of its values.
    """

    default: str
    is_required: bool = False
    words: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None
    pattern: str | None = None
    proposed: tuple[str, ...] = ()


class Offer(NamedTuple):
    """What who starts a server offers besides what a page may always ask for.

    Attributes:
        agents: As texts for `agents.registry.make_agent`.
        games: Of their own, as ``module:function``.
    """

    agents: tuple[str, ...] = ()
    games: tuple[str, ...] = ()

    def environment(self, game: str, options: Sequence[str]) -> Any:
        """An environment; ValueError for a game that is not offered, which would be imported."""
        known = (*environment_makers(), *self.games)
        if game not in known:
            raise ValueError(f"expected a game of {', '.join(known)}, got {game!r}")
        return make_environment(game, options)

    def agent(self, text: str, seed: int | None = None) -> Any:
        """An agent; ValueError for one that is not offered, and not for pages."""
        return make_agent(text if text in self.agents else bounded(text), seed)


NOTHING_MORE: Final = Offer()


def choices(offer: Offer = NOTHING_MORE) -> dict[str, Any]:
    """What the page offers.

    Returns:
        ``games``: for each its ``title``, its ``options`` with ``default`` and ``words`` (all
        values, or none if any text is allowed), and its ``opponents``
        (`agents.apps.web.opponents`);
        ``agents``: the ``name``, the ``about`` and the ``parameters`` of each, as `Field`;
        ``extra``: the texts of agents that are offered besides.
    """

    def option(key: str, default: Any) -> dict[str, Any]:
        words = ["false", "true"] if isinstance(default, bool) else [*OPTION_WORDS.get(key, ())]
        return {"default": str(default).lower(), "words": words}

    own = {game: import_named(*game.split(":", 1)) for game in offer.games}
    makers = environment_makers() | own
    games = {
        game: {
            "title": GAMES.get(game, game),
            "options": {key: option(key, each.default) for key, each in parameters(maker).items()},
            "opponents": [opponent._asdict() for opponent in opponents(game)],
        }
        for game, maker in makers.items()
    }
    agents = [
        {
            "name": name,
            "about": (inspect.getdoc(attribute_at(AGENTS[name])) or "").partition("\n")[0],
            "parameters": {key: _as_json(field) for key, field in fields(name).items()},
        }
        for name in allowed_agents()
    ]
    return {"games": games, "agents": agents, "extra": list(offer.agents)}


def _as_json(field: Field) -> dict[str, Any]:
    """A field for a page; JSON has no infinity."""
    limits = field.limits and [None if math.isinf(limit) else limit for limit in field.limits]
    return {**field._asdict(), "limits": limits}


def fields(name: str) -> dict[str, Field]:
    """The parameters of an agent that a page may set, the budget first.

    They are its flags, its numbers, its texts of declared words, and those of `PATTERNS`: no other
    text is taken, as it could name a file or a command.
    """
    agent_class = attribute_at(AGENTS[name])
    known, hints = parameters(agent_class), type_hints(agent_class, include_extras=True)
    found: dict[str, Field] = {}
    for key, parameter in known.items():
        field = None if key in KEPT else _field(key, hints.get(key), parameter.default)
        if field is not None:
            found[key] = field
    return found


def _field(key: str, hint: Any, default: Any) -> Field | None:
    """A parameter with a type; None for one that pages may not set."""
    kinds, bounds = Option.of(hint)
    is_required = default is inspect.Parameter.empty
    shown = "" if default in (None, inspect.Parameter.empty) else str(default).lower()
    if key == "net":
        nets = tuple(shipped_networks())
        return Field(shown, is_required, nets) if nets else None
    if bool in kinds:
        return Field(shown, is_required, ("false", "true"))
    if int in kinds or float in kinds:
        declared = bounds if isinstance(bounds, Within) else Within(-math.inf, math.inf)
        least, most = LIMITS.get(key, declared)
        limits = max(least, declared.least), min(most, declared.most)
        return Field(shown, is_required, limits=limits)
    if str not in kinds:
        return None
    if isinstance(bounds, OneOf):
        return Field(shown, is_required, tuple(bounds.words))
    if key in PATTERNS:
        proposed = tuple(proposed_playouts()) if key == "playout" else ()
        return Field(shown, is_required, pattern=PATTERNS[key], proposed=proposed)
    return None


def proposed_playouts() -> list[str]:
    """Some of the playout policies, which may also be combined."""
    from agents.mcts.playouts import COMPLETE, PARTIAL  # it loads most of the search

    return [*COMPLETE, *PARTIAL, "decisive+lgrf2"]


def allowed_agents() -> tuple[str, ...]:
    """The names of the agents that a page may start.

    All their required parameters can be set on a page, so they need no path and no command.
    """
    return tuple(filter(_is_allowed, AGENTS))


def _is_allowed(name: str) -> bool:
    required = {
        key
        for key, parameter in parameters(attribute_at(AGENTS[name])).items()
        if parameter.default is parameter.empty or key == "net"
    }
    return required <= fields(name).keys()


def start(setup: Setup, offer: Offer = NOTHING_MORE) -> tuple[Any, Agent]:
    """The environment, before `reset`, and the agent.

    Raises:
        ValueError: If there is no such game, option or agent, or it is not for pages.
    """
    env = offer.environment(setup.game, setup.options)
    return env, offer.agent(setup.agent, setup.seed)


def bounded(text: str) -> str:
    """The text of an agent that a page asks for, with limits on its time and memory.

    Raises:
        ValueError: If a page may not start it, or not with these parameters.
    """
    name, _, rest = text.partition(":")
    if name not in AGENTS or not _is_allowed(name):
        raise ValueError(f"expected an agent of {', '.join(allowed_agents())}, got {name!r}")
    given: dict[str, str] = {}
    for pair in rest.split(",") if rest else []:
        key, _, value = pair.partition("=")
        _check_parameter(name, key, value)
        given[key] = value
    known = parameters(attribute_at(AGENTS[name]))
    if "seconds" in known and "seconds" not in given:
        has_budget = not {"simulations", "depth", "positions"}.isdisjoint(given)
        given["seconds"] = str(LIMITS["seconds"][1] if has_budget else DEFAULT_SECONDS)
    if "max_nodes" in known:
        given["max_nodes"] = str(MAX_NODES)
    return with_parameters(name, given)


def _check_parameter(name: str, key: str, value: str) -> None:
    field = fields(name).get(key)
    if field is None:
        known = ", ".join(fields(name)) or "none"
        raise ValueError(f"{name}: expected a parameter of {known} on a page, got {key!r}")
    if field.words:
        if value not in field.words:
            raise ValueError(f"{name}: expected {key} of {', '.join(field.words)}, got {value!r}")
    elif field.pattern is not None:
        if not re.fullmatch(field.pattern, value):
            raise ValueError(f"{name}: expected {key} such as {field.default}, got {value!r}")
    elif field.limits is not None:
        low, high = field.limits
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not low <= number <= high:
            expected = "as a number" if math.isinf(high) else f"from {low} to {high}"
            raise ValueError(f"{name}: expected {key} {expected}, got {value!r}")
