"""What a page may ask for: games, and agents that neither read files nor run commands.

Other agents have to be offered, by their texts, when the server is started.
"""

import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, Final

from agents.core.agent import Agent
from agents.registry import (
    agent_classes,
    environment_makers,
    make_agent,
    make_environment,
    parameters,
)
from agents.web.protocol import Setup
from hexenv.games.gomoku import FORBIDDEN, RULES
from hexenv.games.gomoku.openings import OPENINGS

NETWORKS: Final = ("tictactoe", "connect4", "hex5", "hex7")
"""The networks that are shipped."""

LIMITS: Final = {
    "simulations": (1, 200_000),
    "seconds": (0.01, 30.0),
    "depth": (1, 30),
    "c": (0.0, 100.0),
}
"""The numeric parameters of agents that a page may set, and their bounds."""
WORDS: Final = {"net": NETWORKS}
"""The other parameters that a page may set, and their values."""
DEFAULT_SECONDS: Final = 1.0
"""Seconds a move if the page gives no budget."""
MAX_NODES: Final = 1_000_000
"""Maximal size of a tree, about 40 MB."""

OPTION_WORDS: Final = {"rule": RULES, "forbidden": FORBIDDEN, "opening": ("none", *OPENINGS)}
"""The values of options of games that are words."""


def choices(extra: Sequence[str] = ()) -> dict[str, Any]:
    """What the page offers; `extra` has agents as texts that are offered besides.

    Returns:
        ``games``: the options of each, with ``default`` and ``words`` (all values, or none if any
        text is allowed); ``agents``: the ``name`` of each, and the ``parameters`` of `LIMITS` and
        `WORDS` that it takes.
    """

    def option(key: str, default: Any) -> dict[str, Any]:
        words = ["false", "true"] if isinstance(default, bool) else [*OPTION_WORDS.get(key, ())]
        return {"default": str(default).lower(), "words": words}

    games = {
        game: {key: option(key, each.default) for key, each in parameters(maker).items()}
        for game, maker in environment_makers().items()
    }
    agents: list[dict[str, Any]] = [{"name": text, "parameters": []} for text in extra]
    classes = agent_classes()
    # The page proposes the first.
    for name in sorted(allowed_agents(), key=lambda name: name != "uct"):
        known = parameters(classes[name])
        taken = [key for key in (*LIMITS, *WORDS) if key in known]
        agents.append({"name": name, "parameters": taken})
    return {"games": games, "agents": agents, "limits": LIMITS, "words": WORDS}


def allowed_agents() -> tuple[str, ...]:
    """The names of the agents that a page may start.

    All their required parameters can be set on a page, so they need no path and no command. Agents
    with a network also need PyTorch.
    """
    settable = {*LIMITS, *(WORDS if find_spec("torch") is not None else ())}
    return tuple(
        name
        for name, agent_class in agent_classes().items()
        if all(
            key in settable or parameter.default is not parameter.empty
            for key, parameter in parameters(agent_class).items()
        )
    )


def start(setup: Setup, extra: Sequence[str] = ()) -> tuple[Any, Agent]:
    """The environment, before `reset`, and the agent. The texts in `extra` are allowed besides.

    Raises:
        ValueError: If there is no such game, option or agent, or it is not for pages.
    """
    known = environment_makers()
    if setup.game not in known:  # a module:function would be imported
        raise ValueError(f"expected a game of {', '.join(known)}, got {setup.game!r}")
    env = make_environment(setup.game, setup.options)
    text = setup.agent if setup.agent in extra else bounded(setup.agent)
    return env, make_agent(text, setup.seed)


def bounded(text: str) -> str:
    """The text of an agent that a page asks for, with limits on its time and memory.

    Raises:
        ValueError: If a page may not start it, or not with these parameters.
    """
    name, _, rest = text.partition(":")
    if name not in allowed_agents():
        raise ValueError(f"expected an agent of {', '.join(allowed_agents())}, got {name!r}")
    given: dict[str, str] = {}
    for pair in rest.split(",") if rest else []:
        key, _, value = pair.partition("=")
        _check_parameter(name, key, value)
        given[key] = value
    known = parameters(agent_classes()[name])
    if "seconds" in known and "seconds" not in given:
        has_budget = "simulations" in given or "depth" in given
        given["seconds"] = str(LIMITS["seconds"][1] if has_budget else DEFAULT_SECONDS)
    if "max_nodes" in known:
        given["max_nodes"] = str(MAX_NODES)
    pairs = ",".join(f"{key}={value}" for key, value in given.items())
    return f"{name}:{pairs}" if pairs else name


def _check_parameter(name: str, key: str, value: str) -> None:
    if key in WORDS:
        if value not in WORDS[key]:
            raise ValueError(f"{name}: expected {key} of {', '.join(WORDS[key])}, got {value!r}")
        return
    if key not in LIMITS:
        known = ", ".join((*LIMITS, *WORDS))
        raise ValueError(f"{name}: expected a parameter of {known} on a page, got {key!r}")
    low, high = LIMITS[key]
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not low <= number <= high:
        raise ValueError(f"{name}: expected {key} from {low} to {high}, got {value!r}")
