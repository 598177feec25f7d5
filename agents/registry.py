"""Agents and environments by name, as the command line writes them.

``uct:simulations=1000,c=0.7`` is the agent of that name in `AGENTS` with these parameters;
``mymodule.MyAgent:depth=3`` is a class of your own. ``hex`` is the newest version of `hexenv`'s
environment of that name; ``mymodule:env`` is a function of your own that returns an environment.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from hexenv.common.importing import attribute_at
from hexenv.common.messages import full_signature, not_one_of, typed_dict_of

if TYPE_CHECKING:
    from agents.core.agent import Agent

AGENTS: Final = {
    "alphabeta": "agents.solvers.alphabeta:AlphaBeta",
    "alphazero": "agents.mcts.alphazero:AlphaZero",
    "anet": "agents.mcts.anet:ANETRolloutMCTS",
    "chat": "agents.policies.text_agent:ChatAgent",
    "connectx": "agents.apps.protocols.connectx:ConnectXAgent",
    "distance": "agents.mcts.distance:DistanceMCTS",
    "dqn": "agents.policies.shipped:DQNAgent",
    "flat": "agents.mcts.flat:FlatMonteCarlo",
    "gomocup": "agents.apps.protocols.gomocup:GomocupEngine",
    "gomoku-engine": "agents.knowledge.gomoku.engine:GomokuEngine",
    "gomokupert": "agents.knowledge.gomoku.gomokupert:Gomokupert",
    "grave": "agents.mcts.grave:GRAVE",
    "greedy": "agents.core.baselines:GreedyAgent",
    "gumbel": "agents.mcts.gumbel:GumbelAgent",
    "hex-alphabeta": "agents.knowledge.hex.hex_alphabeta:HexAlphaBeta",
    "hexpert": "agents.knowledge.hex.hexpert:Hexpert",
    "hexzero": "agents.knowledge.hex.hexzero:HexZero",
    "history": "agents.mcts.history:HistoryMCTS",
    "htp": "agents.apps.protocols.htp:HTPEngine",
    "lgr": "agents.mcts.lgr:LGR",
    "mast": "agents.mcts.mast:MAST",
    "network": "agents.policies.network:NetworkAgent",
    "nrpa": "agents.mcts.nrpa:NRPA",
    "own-network": "agents.policies.network:OwnNetworkAgent",
    "ppo": "agents.policies.shipped:PPOAgent",
    "puct": "agents.mcts.puct:PUCTAgent",
    "quality": "agents.mcts.quality:QualityMCTS",
    "random": "agents.core.baselines:RandomAgent",
    "rave": "agents.mcts.rave:RAVE",
    "rhmcts": "agents.knowledge.gomoku.rhmcts:RHMCTS",
    "rllib": "agents.policies.policy:RLlibPolicy",
    "sb3": "agents.policies.policy:SB3Policy",
    "solver": "agents.solvers.solver:Solver",
    "transposition": "agents.mcts.transposition:TranspositionMCTS",
    "ucb1-tuned": "agents.mcts.ucb1_tuned:UCB1TunedMCTS",
    "uct": "agents.mcts.uct:UCT",
}
"""Class of each agent by name, imported on demand."""

KNOWLEDGE: Final = {
    "connect4": "agents.knowledge.connect4.game_knowledge:Connect4Knowledge",
    "gomoku": "agents.knowledge.gomoku.game_knowledge:GomokuKnowledge",
    "hex": "agents.knowledge.hex.game_knowledge:HexKnowledge",
    "tictactoe": "agents.knowledge.gomoku.game_knowledge:GomokuKnowledge",
}
"""What is known of games, by a game's `name`; see `agents.core.knowledge`."""

BOOKS: Final = "agents.knowledge.connect4.book"
"""The module that builds and loads opening books: there are books of Connect4 alone."""


def agent_classes() -> dict[str, type[Any]]:
    """The agents by name."""
    return {name: attribute_at(path) for name, path in AGENTS.items()}


def agent_class_of(name: str) -> Any:
    """The class of an agent: by its name here, or ``module.Class``; ValueError if there is none."""
    if "." in name:
        return import_named(*name.rpartition(".")[::2])
    if name in AGENTS:
        return attribute_at(AGENTS[name])
    meant = not_one_of("an agent", AGENTS, name)
    if (word := re.split(r"\W", name)[0]) in AGENTS and "did you mean" not in meant:
        meant += f" (did you mean {word}:parameter=value?)"
    raise ValueError(meant)


def with_parameters(text: str, values: Mapping[str, Any]) -> str:
    """The text of an agent with these values of parameters, instead of those that it gives."""
    name, _, rest = text.partition(":")
    kept = [pair for pair in rest.split(",") if pair and pair.partition("=")[0] not in values]
    pairs = ",".join([*kept, *(f"{key}={value}" for key, value in values.items())])
    return f"{name}:{pairs}" if pairs else name


def make_agent(text: str, seed: int | None = None, or_function: bool = False) -> "Agent":
    """The agent that a text names.

    Args:
        text: ``name`` or ``name:parameter=value,parameter=value``.
        seed: For an agent that has a parameter `seed`, unless the text gives one.
        or_function: Whether a function may be returned too, for `agents.arena.CallableAgent`.

    Raises:
        ValueError: If there is no such agent or parameter, or the agent refuses a value.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"expected the name of an agent, got {text!r}")
    name, _, rest = text.partition(":")
    agent_class = agent_class_of(name)
    pairs = rest.split(",") if rest else []
    options = parse_options(agent_class, pairs, name, ("seed",), "a parameter")
    if "seed" in parameters(agent_class):
        options.setdefault("seed", seed)
    try:
        agent: Any = agent_class(**options)
    except (TypeError, ValueError, OSError, ImportError) as error:  # a missing file or library
        raise ValueError(f"{name}: {error}") from None
    is_agent = hasattr(agent, "act") and hasattr(agent, "reset")
    if not (is_agent or (or_function and callable(agent))):
        raise ValueError(f"{name}: expected an agent, with act(env) and reset(seed), got {agent!r}")
    return cast("Agent", agent)


def environment_makers() -> dict[str, Callable[..., Any]]:
    """The functions that make `hexenv`'s environments, by game; the newest version of each."""
    import hexenv

    return {game: attribute_at(f"hexenv.{game}_v0:env") for game in hexenv.GAMES}


def environment_name(name: str) -> str:
    """The name of a game of `hexenv`, or ``module:function``, of a game's registered name too.

    `hexenv.register` makes such names: ``Breakthrough-v0``, and ``breakthrough:Breakthrough-v0``,
    which imports the module. Any other name is returned as it is.
    """
    import gymnasium

    import hexenv

    module, _, registered = name.rpartition(":")
    if module and not registered.isidentifier():
        with suppress(ImportError, TypeError, ValueError):  # `make_environment` says what is wrong
            importlib.import_module(module)
    spec = gymnasium.registry.get(registered)
    path = "" if spec is None else str(spec.kwargs.get("game", ""))
    if not path.endswith(":raw_env"):
        return name
    module = path.removesuffix(":raw_env")
    ours = {f"hexenv.{game}_v0": game for game in hexenv.GAMES}
    return ours.get(module, f"{module}:env")


def make_environment(name: str, options: Iterable[str] = (), **view: Any) -> Any:
    """The environment of a game of `hexenv`, of ``module:function``, or of a registered name.

    Args:
        name: The game, or the function; see `environment_name`.
        options: ``key=value`` texts for the function's own parameters.
        **view: Further arguments for the function, such as `render_mode`.

    Raises:
        ValueError: If there is no such game or option, or the game refuses a value.
    """
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"expected the name of a game, got {name!r}")
    name = environment_name(name)
    makers = environment_makers()
    if ":" not in name and name not in makers:
        raise ValueError(not_one_of("a game", makers, name))
    maker = import_named(*name.split(":", 1)) if ":" in name else makers[name]
    arguments = {**parse_options(maker, options, name, view), **view}
    try:
        env = maker(**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None
    if not (hasattr(env, "step") and hasattr(env, "reset")):
        raise ValueError(f"{name}: expected an environment, which has step and reset, got {env!r}")
    return env


def import_named(module: str, attribute: str) -> Any:
    """A class or a function of a module; ValueError if there is none."""
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"expected a name to import, got {module}.{attribute}: {error}") from None
    if not callable(found):
        raise ValueError(f"expected a class or a function, got {module}.{attribute}")
    return found


# ---- parameters ----------------------------------------------------------------------------------


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The named parameters of a class or function.

    Of a class they are those of `hexenv.common.messages.full_signature`; of a function its own,
    without those that ``**options: Unpack[SomeTypedDict]`` stands for.
    """
    is_class = inspect.isclass(function)
    known = full_signature(function) if is_class else inspect.signature(inspect.unwrap(function))
    return {
        name: parameter
        for name, parameter in known.parameters.items()
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    }


def type_hints(function: Callable[..., Any], include_extras: bool = False) -> dict[str, Any]:
    """The types of a class's or a function's parameters, by name.

    With `include_extras` they say what is allowed as well: ``Annotated[str, OneOf(...)]``. What a
    class hands on to its base is allowed as it is there.
    """
    declared = function.__init__ if inspect.isclass(function) else function
    hints = get_type_hints(declared, include_extras=include_extras)
    for options in filter(None, map(typed_dict_of, list(hints.values()))):
        hints |= get_type_hints(options)
    if include_extras and hasattr(function, "settings_class"):
        settings = get_type_hints(cast("Any", function).settings_class, include_extras=True)
        hints |= {name: settings[name] for name in settings.keys() & hints.keys()}
    if include_extras and inspect.isclass(function):
        for base in function.__mro__[1:-1]:
            of_base = get_type_hints(base.__init__, include_extras=True)
            for name in of_base.keys() & hints.keys():
                if get_origin(hints[name]) is not Annotated:
                    hints[name] = of_base[name]
    return hints


def parse_options(
    function: Callable[..., Any],
    pairs: Iterable[str],
    name: str,
    given: Container[str] = (),
    word: str = "an option",
) -> dict[str, Any]:
    """Arguments for a function or class from ``key=value`` texts, by its type hints.

    Parameters in `given` need none. In messages `name` is the function, and `word` a parameter.
    """
    if isinstance(pairs, str):
        raise ValueError(f"{name}: expected a list of key=value, got the text {pairs!r}")
    known = parameters(function)
    hints = type_hints(function)
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise ValueError(f"{name}: expected key=value, got {pair!r}")
        if key in options:
            raise ValueError(f"{name}: expected {key} once, got it twice")
        if key not in known:
            none = f"expected no {word.split()[1]}s, got {key!r}"
            raise ValueError(f"{name}: {not_one_of(word, known, key) if known else none}")
        try:
            options[key] = parse_value(text, hints.get(key, str))
        except ValueError as error:
            raise ValueError(f"{name}: expected {key} as {error}, got {text!r}") from None
    for key, parameter in known.items():
        if parameter.default is parameter.empty and key not in options and key not in given:
            raise ValueError(f"{name}: expected a value for {key}, got none")
    return options


def parse_value(text: str, hint: Any) -> Any:
    """The value of a text, of the first type in `hint` that it fits."""
    if get_origin(hint) is Literal:
        if text in get_args(hint):
            return text
        raise ValueError(f"one of {', '.join(map(str, get_args(hint)))}")
    is_union = get_origin(hint) in (Union, UnionType)
    kinds = [get_origin(kind) or kind for kind in (get_args(hint) if is_union else (hint,))]
    readers = [READERS[kind] for kind in kinds if kind in READERS]
    for pattern, read in readers:
        if re.fullmatch(pattern, text, re.IGNORECASE):
            return read(text)
    if str in kinds or not readers:
        return text
    raise ValueError(" or ".join(words for kind, words in EXPECTED.items() if kind in kinds))


READERS: Final[dict[Any, tuple[str, Callable[[str], Any]]]] = {
    tuple: (r"\(?\d+[x,]\d+\)?", lambda text: tuple(map(int, re.findall(r"\d+", text)))),
    NoneType: ("none", lambda text: None),
    bool: ("true|false|on|off|yes|no|1|0", lambda text: text.lower() in ("true", "on", "yes", "1")),
    int: (r"[+-]?\d+(_\d+)*", int),
    float: (r"[+-]?(\d+(_\d+)*\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf", float),
}
"""Pattern of the texts of a type, and their reader."""

EXPECTED: Final = {tuple: "5x7", bool: "true or false", int: "a whole number", float: "a number"}
"""Words for types in messages."""
