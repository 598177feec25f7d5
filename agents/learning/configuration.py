"""The configuration of a training run: every parameter, its range and its default for each game.

A file is JSON with the shape of `Configuration`; what it leaves out has the game's default. Nothing
here imports PyTorch, so that ``hexenv train --describe`` works without it.
"""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

from agents.core.reading import parse_json

VERSION: Final = 1

T = TypeVar("T")


def option(
    default: Any,
    about: str,
    least: float | None = None,
    most: float | None = None,
    of: tuple[str, ...] = (),
) -> Any:
    """A parameter: its default, what it is, and what it may be."""
    metadata = {"about": about, "least": least, "most": most, "of": of}
    if isinstance(default, (list, dict)):
        made = cast("Any", default)
        return field(default_factory=lambda: made.copy(), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class NetworkOptions:
    """The network: residual policy and value, or the layers of an ANET."""

    kind: str = option("residual", "residual (policy and value), or anet", of=("residual", "anet"))
    planes: list[str] = option([], "planes besides the game's own: side, last_move")
    channels: int = option(32, "residual: filters of a layer", 1, 1024)
    blocks: int = option(4, "residual: blocks of two layers", 0, 100)
    pooling: bool = option(True, "residual: every second block looks at the whole board")
    heads: str = option(
        "dense",
        "residual: dense (one board size) or convolutional (any)",
        of=("dense", "convolutional"),
    )
    head_channels: int = option(16, "residual: filters in each head", 1, 1024)
    value_units: int = option(64, "residual: units in the value head", 1, 4096)
    canonical: bool = option(
        False, "Hex: both players see the board from top to bottom, as the first one"
    )
    layers: list[dict[str, Any]] = option(
        [
            {"type": "convolution", "filters": 32, "kernel": 3, "activation": "relu"},
            {"type": "convolution", "filters": 32, "kernel": 3, "activation": "relu"},
            {"type": "dense", "units": 64, "activation": "relu"},
        ],
        "anet: from the input on; types convolution (filters, kernel, activation) and dense "
        "(units, activation); activations relu, tanh, sigmoid, linear",
    )
    value: bool = option(True, "anet: whether it has a value besides the policy")


@dataclass(frozen=True)
class GuidedSearchOptions:
    """The search that plays and is learnt from."""

    method: str = option(
        "gumbel",
        "gumbel; puct (AlphaZero); or rollouts (the network plays games to the end)",
        of=("gumbel", "puct", "rollouts"),
    )
    simulations: int = option(32, "a move", 1, 1_000_000)
    considered: int = option(16, "gumbel: actions considered at the root", 1, 1024)
    c_visit: float = option(50.0, "gumbel: see agents.mcts.gumbel", 0, 1e6)
    c_scale: float = option(0.25, "gumbel: see agents.mcts.gumbel", 0, 1e6)
    c: float = option(1.0, "puct, rollouts: weight of exploration, for rewards in [0, 1]", 0, 1e6)
    fpu: float = option(0.1, "puct: how much less an action without a visit counts", -1, 1)
    noise: float = option(1.0, "gumbel: scale of its noise", 0, 1)
    dirichlet: float = option(0.25, "puct: share of Dirichlet noise in the root's priors", 0, 1)
    noise_total: float = option(10.0, "puct: sum of the Dirichlet parameters", 1e-3, 1e6)
    temperature: float = option(1.0, "puct, rollouts: of the first moves", 0, 100)
    temperature_plies: int = option(10, "puct, rollouts: how many first moves", 0, 100_000)
    reuse: bool = option(True, "puct, rollouts: keep the subtree of the move played")
    cache: int = option(65536, "evaluations that a worker keeps during an iteration", 0, 2**26)
    epsilon: float = option(0.2, "rollouts: share of random moves", 0, 1)
    epsilon_decay: float = option(0.99, "rollouts: factor on epsilon after an iteration", 0, 1)


@dataclass(frozen=True)
class SelfPlayOptions:
    """The games that the network learns from."""

    games: int = option(128, "in lockstep, in each worker", 1, 65536)
    plies: int = option(32, "that each game goes on in an iteration", 1, 100_000)
    opening_plies: int = option(
        0, "random moves at the start of a game, 0 to so many; they are not learnt from", 0, 1000
    )
    device: str = option(
        "auto",
        "of the network that plays; auto: cuda where there is one",
        of=("auto", "cpu", "cuda"),
    )
    gpus: float = option(
        0.0,
        "share of one that an actor of Ray's claims; 0: none is asked for, and by some versions of "
        "Ray none is seen",
        0,
        1,
    )


@dataclass(frozen=True)
class ReplayOptions:
    """The positions that are kept."""

    capacity: int = option(200_000, "positions", 1, 10**9)
    recency: float = option(
        0.0,
        "0: all positions alike; else the newest are drawn exp(recency) times as often as the "
        "oldest",
        0,
        100,
    )
    reuse: float = option(2.0, "how often a position is drawn on average", 0, 1000)
    most_reuse: int = option(50, "how often a position is drawn at most", 1, 65535)
    fill: int = option(4096, "positions before the first step of training", 1, 10**9)


@dataclass(frozen=True)
class LearningOptions:
    """The steps of training."""

    batch: int = option(256, "positions in a step", 1, 65536)
    optimiser: str = option(
        "adamw", "of PyTorch", of=("adamw", "adam", "sgd", "rmsprop", "adagrad")
    )
    rate: float = option(2e-3, "learning rate", 0, 10)
    final_rate: float = option(0.05, "factor on the rate at the end, reached along a cosine", 0, 1)
    warmup: int = option(100, "steps over which the rate rises", 0, 10**9)
    momentum: float = option(0.9, "sgd, rmsprop", 0, 1)
    weight_decay: float = option(1e-4, "decoupled with adamw, else a squared penalty", 0, 10)
    clip: float = option(5.0, "greatest norm of a gradient; 0: any", 0, 1e9)
    policy_loss: str = option(
        "cross_entropy", "from the search's policy", of=("cross_entropy", "squared_error")
    )
    value_weight: float = option(1.0, "of the value's squared error in the loss", 0, 1e6)
    value_mix: float = option(
        0.25, "target of the value: share of the search's own value; the rest is the outcome", 0, 1
    )
    symmetries: bool = option(True, "show positions in random symmetries of the game")
    average: float = option(
        0.99,
        "the network that plays is a moving average with this decay a step; 0: the last one",
        0,
        0.99999,
    )
    device: str = option(
        "auto", "of the learner; auto: cuda where there is one", of=("auto", "cpu", "cuda")
    )
    compile: bool = option(False, "torch.compile on CUDA")
    half: bool = option(True, "mixed precision on CUDA")
    threads: int = option(1, "of the learner on the CPU", 1, 1024)


@dataclass(frozen=True)
class Configuration:
    """A training run."""

    game: str = option("hex", "hex, connect4, tictactoe or gomoku")
    options: dict[str, Any] = option({}, "of the game's environment, such as board_size")
    iterations: int = option(100, "in all", 1, 10**9)
    checkpoint_interval: int = option(1, "iterations from one checkpoint to the next", 1, 10**9)
    save_interval: int = option(5, "iterations from one saved network to the next", 1, 10**9)
    gate: float = option(
        0.0, "0: the newest network plays; else only one that scores so much against the last", 0, 1
    )
    duel_games: int = option(
        100, "policy against policy: for the gate, and for the Elo in the log", 0, 100_000
    )
    start: str = option("", "a network to start from: its file, or the name of a shipped one")
    seed: int = option(0, "of all chance", 0, 2**63 - 1)
    engine: str = option("processes", "where workers play", of=("processes", "local", "ray"))
    workers: int = option(2, "that play", 1, 4096)
    keep_games: bool = option(False, "keep the shards of games that the buffer has let go")
    network: NetworkOptions = field(default_factory=NetworkOptions)
    search: GuidedSearchOptions = field(default_factory=GuidedSearchOptions)
    self_play: SelfPlayOptions = field(default_factory=SelfPlayOptions)
    replay: ReplayOptions = field(default_factory=ReplayOptions)
    learner: LearningOptions = field(default_factory=LearningOptions)


DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "tictactoe": {
        "iterations": 30,
        "network": {"channels": 16, "blocks": 2},
        "search": {"simulations": 16, "considered": 9},
        "self_play": {"games": 64, "plies": 32, "opening_plies": 3},
        "replay": {"capacity": 50_000, "fill": 2048},
    },
    "connect4": {
        "iterations": 160,
        "network": {"channels": 32, "blocks": 5},
        "search": {"considered": 7},
        "self_play": {"opening_plies": 6},
        "replay": {"capacity": 400_000, "fill": 8192},
    },
    "hex": {
        "iterations": 200,
        "network": {"heads": "convolutional", "canonical": True},
        "self_play": {"opening_plies": 2},
        "replay": {"fill": 8192},
    },
    "gomoku": {
        "iterations": 400,
        "network": {"heads": "convolutional", "planes": ["last_move"]},
        "self_play": {"opening_plies": 4},
        "replay": {"fill": 8192},
    },
}
"""What differs for a game from the defaults above."""


# ---- reading -------------------------------------------------------------------------------------


def defaults(game: str) -> dict[str, Any]:
    """The configuration of a game that says nothing else, as plain values."""
    return merged(as_dict(Configuration(game=game)), DEFAULTS.get(game, {}))


def merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The first, with the values of the second in place of its own, section by section."""
    found = dict(first)
    for key, value in second.items():
        inner = found.get(key)
        is_section = isinstance(inner, dict) and isinstance(value, dict)
        found[key] = merged(inner, value) if is_section else value  # pyright: ignore
    return found


def parse_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Values of ``section.key=value`` texts; a value is JSON, or else text.

    Raises:
        ValueError: If a text is no such pair.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        if not equals or not path:
            raise ValueError(f"expected section.key=value, got {pair!r}")
        try:
            value = parse_json(text)
        except ValueError:
            value = text
        *sections, key = path.split(".")
        inner = found
        for section in sections:
            below: Any = inner.setdefault(section, {})
            if not isinstance(below, dict):
                raise ValueError(f"expected section.key=value, got {pair!r}: {section} has a value")
            inner = cast("dict[str, Any]", below)
        inner[key] = value
    return found


def make(values: Mapping[str, Any]) -> Configuration:
    """The configuration of plain values; what they leave out has the game's default.

    Raises:
        ValueError: If a key is unknown, or a value of another type or out of its range; named.
    """
    game = values.get("game", "hex")
    if not isinstance(game, str):
        raise ValueError(f"expected game as text, got {game!r}")
    if game not in DEFAULTS and ":" not in game:  # that is a function, for an environment of ours
        raise ValueError(f"expected a game of {', '.join(sorted(DEFAULTS))}, got {game!r}")
    found = parsed(Configuration, merged(defaults(game), values), "")
    if found.gate > 0 and found.duel_games < 2:
        raise ValueError(f"expected duel_games from 2 for a gate, got {found.duel_games}")
    return found


def parsed(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """A dataclass of plain values, each checked.

    Raises:
        ValueError: As `make`.
    """
    hints = get_type_hints(kind)
    known = {each.name: each for each in dataclasses.fields(cast("Any", kind))}
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{where}{key}"
        if key not in known:
            raise ValueError(f"expected a key of {', '.join(known)}, got {name}")
        hint = hints[key]
        if dataclasses.is_dataclass(hint):
            if not isinstance(value, dict):
                raise ValueError(f"expected a section of values for {name}, got {value!r}")
            section = cast("dict[str, Any]", value)
            found[key] = parsed(cast("type[Any]", hint), section, f"{name}.")
        else:
            found[key] = checked(value, hint, name, known[key].metadata)
    return kind(**found)


WORDS: Final = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    list: "a list",
    dict: "an object",
    NoneType: "null",
}


def checked(value: Any, hint: Any, name: str, about: Mapping[str, Any]) -> Any:
    """A value of its type and within its range.

    Raises:
        ValueError: If it is not.
    """
    kind = get_origin(hint) or hint
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        with suppress(OverflowError):
            value = float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"expected {name} as {WORDS[kind]}, got {value!r}")
    if kind is list and get_args(hint):
        inner = get_origin(get_args(hint)[0]) or get_args(hint)[0]
        for item in cast("list[Any]", value):
            if not isinstance(item, inner):
                raise ValueError(f"expected {name} as a list of {WORDS[inner]}, got {item!r} in it")
    if about.get("of") and value not in about["of"]:
        raise ValueError(f"expected {name} of {', '.join(about['of'])}, got {value!r}")
    least, most = about.get("least"), about.get("most")
    if least is not None and not least <= value <= (math.inf if most is None else most):
        raise ValueError(f"expected {name} from {least:g} to {most:g}, got {value!r}")
    return value


def as_dict(configuration: Any) -> dict[str, Any]:
    """Plain values of a configuration or a section of it."""
    return dataclasses.asdict(configuration)


def described(configuration: Configuration) -> list[tuple[str, str, str]]:
    """Every parameter: its name, its value as JSON, and what it is."""

    def rows(section: Any, where: str) -> Iterable[tuple[str, str, str]]:
        for each in dataclasses.fields(section):
            value = getattr(section, each.name)
            if dataclasses.is_dataclass(value):
                yield from rows(value, f"{where}{each.name}.")
            else:
                about = each.metadata["about"]
                names = each.metadata["of"]
                if names and not all(name in about for name in names):
                    about = f"{about} ({', '.join(names)})".strip()
                yield f"{where}{each.name}", json.dumps(value), about

    return list(rows(configuration, ""))
