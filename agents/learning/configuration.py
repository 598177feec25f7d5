"""The configuration of a training run: every parameter, its range and its default for each game.

A file is JSON with the shape of `Configuration`; a value that it leaves out is the game's default.
Nothing here imports PyTorch, so that ``hexenv train --describe`` works without it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, cast, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, field

from agents.core.reading import parse_json
from agents.core.structured import fields_of, meta_of, to_structure
from agents.registry import environment_name
from hexenv.common.importing import attribute_at
from hexenv.common.messages import not_one_of, shortened


def about(text: str, least: float | None = None, most: float | None = None) -> Meta:
    """What a parameter is, and its bounds."""
    return Meta(description=text, ge=least, le=most)


Heads = Literal["dense", "convolutional"]
Method = Literal["gumbel", "puct", "rollouts", "uct", "rave"]
Device = Literal["auto", "cpu", "cuda"]
OPTIMISERS: Final = ("adamw", "adam", "sgd", "rmsprop", "adagrad")
"""Those of PyTorch that have a name here."""
PolicyLoss = Literal["cross_entropy", "squared_error"]
Engine = Literal["processes", "local", "ray"]
Layer = dict[str, Any]
LAYERS: Final = (
    "anet: from the input on; types convolution (filters, kernel, activation) and dense "
    "(units, activation); activations relu, tanh, sigmoid, linear"
)


def _default_layers() -> list[Layer]:
    convolution = {"type": "convolution", "filters": 32, "kernel": 3, "activation": "relu"}
    return [convolution, dict(convolution), {"type": "dense", "units": 64, "activation": "relu"}]


class NetworkOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The network: residual policy and value, the layers of an ANET, or one of your own."""

    kind: Annotated[str, about("residual: policy and value; anet; module:Net of your own")] = (
        "residual"
    )
    planes: Annotated[list[str], about("planes besides the game's own: side, last_move")] = []
    channels: Annotated[int, about("residual: filters of a layer", 1, 1024)] = 32
    blocks: Annotated[int, about("residual: blocks of two layers", 0, 100)] = 4
    pooling: Annotated[bool, about("residual: every second block looks at the whole board")] = True
    heads: Annotated[Heads, about("residual: dense (one board size), convolutional (any)")] = (
        "dense"
    )
    head_channels: Annotated[int, about("residual: filters in each head", 1, 1024)] = 16
    value_units: Annotated[int, about("residual: units in the value head", 1, 4096)] = 64
    canonical: Annotated[bool, about("Hex: both players see the board as the first one")] = False
    layers: Annotated[list[Layer], about(LAYERS)] = field(default_factory=_default_layers)
    value: Annotated[bool, about("anet: whether it has a value besides the policy")] = True
    arguments: Annotated[dict[str, Any], about("module:Net: its arguments besides the board")] = {}

    def __post_init__(self) -> None:
        if not self.is_own and self.kind not in ("residual", "anet"):
            known = ("residual", "anet", "module:Net")
            raise ValueError(not_one_of("kind", known, self.kind))

    @property
    def is_own(self) -> bool:
        """Whether it is of a class of the user's own."""
        return ":" in self.kind


class GuidedSearchOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The search that plays and is learnt from."""

    method: Annotated[
        Method,
        about("puct: AlphaZero; rollouts: the network plays out; uct, rave: playouts, no network"),
    ] = "gumbel"
    simulations: Annotated[int, about("a move", 1, 1_000_000)] = 32
    considered: Annotated[int, about("gumbel: actions considered at the root", 1, 1024)] = 16
    c_visit: Annotated[float, about("gumbel: offset of the visits in sigma", 0, 1e6)] = 50.0
    c_scale: Annotated[float, about("gumbel: scale of the values in sigma", 0, 1e6)] = 0.25
    c: Annotated[float, about("puct, rollouts, uct: weight of exploration", 0, 1e6)] = 1.0
    playout: Annotated[str, about("uct, rave: a policy of agents.mcts.playouts")] = "fast"
    fpu: Annotated[float, about("puct: how much less an unvisited action counts", -1, 1)] = 0.1
    noise: Annotated[float, about("gumbel: scale of the Gumbel noise", 0, 1)] = 1.0
    dirichlet: Annotated[float, about("puct: share of Dirichlet noise at the root", 0, 1)] = 0.25
    noise_total: Annotated[float, about("puct: sum of the Dirichlet parameters", 1e-3, 1e6)] = 10.0
    temperature: Annotated[float, about("all but gumbel: of the first moves", 0, 100)] = 1.0
    temperature_plies: Annotated[int, about("all but gumbel: first moves", 0, 100_000)] = 10
    reuse: Annotated[bool, about("all but gumbel: keep the subtree of the move played")] = True
    knowledge: Annotated[
        str, about("gumbel, puct, rollouts: what is known of the game, as inferior+connections")
    ] = ""
    knowledge_at: Annotated[int, about("visits of a node that it looks at", 1, 2**31 - 1)] = 2
    cache: Annotated[int, about("evaluations a worker keeps in an iteration", 0, 2**26)] = 65536
    epsilon: Annotated[float, about("rollouts: share of random moves", 0, 1)] = 0.2
    epsilon_decay: Annotated[float, about("rollouts: factor on epsilon per iteration", 0, 1)] = 0.99


class SelfPlayOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The games that the network learns from."""

    games: Annotated[int, about("in lockstep, in each worker", 1, 65536)] = 128
    plies: Annotated[int, about("that each game goes on in an iteration", 1, 100_000)] = 32
    opening_plies: Annotated[int, about("most random first moves, not learnt from", 0, 1000)] = 0
    device: Annotated[Device, about("of the network that plays; auto: cuda if there is one")] = (
        "auto"
    )
    gpus: Annotated[float, about("share of a GPU for each actor of Ray; 0 asks for none", 0, 1)] = (
        0.0
    )


class ReplayOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The positions that are kept."""

    capacity: Annotated[int, about("positions", 1, 10**9)] = 200_000
    recency: Annotated[float, about("log of newest to oldest chance; 0: all alike", 0, 100)] = 0.0
    reuse: Annotated[float, about("how often a position is drawn on average", 0, 1000)] = 2.0
    most_reuse: Annotated[int, about("how often a position is drawn at most", 1, 65535)] = 50
    fill: Annotated[int, about("positions before the first step of training", 1, 10**9)] = 4096
    decided: Annotated[bool, about("data: learn from positions of value 1 and -1, too")] = True


class LearningOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The steps of training."""

    batch: Annotated[int, about("positions in a step", 1, 65536)] = 256
    optimiser: Annotated[str, about(f"{', '.join(OPTIMISERS)}; module:Class of your own")] = "adamw"
    optimiser_arguments: Annotated[dict[str, Any], about("its further arguments")] = {}
    rate: Annotated[float, about("learning rate", 0, 10)] = 2e-3
    final_rate: Annotated[float, about("factor on the rate at the end, by a cosine", 0, 1)] = 0.05
    warmup: Annotated[int, about("steps over which the rate rises", 0, 10**9)] = 100
    momentum: Annotated[float, about("sgd, rmsprop", 0, 1)] = 0.9
    weight_decay: Annotated[float, about("adamw: decoupled; else a squared penalty", 0, 10)] = 1e-4
    clip: Annotated[float, about("greatest norm of a gradient; 0: any", 0, 1e9)] = 5.0
    policy_loss: Annotated[PolicyLoss, about("from the search's policy")] = "cross_entropy"
    value_weight: Annotated[float, about("of the value's squared error in the loss", 0, 1e6)] = 1.0
    value_mix: Annotated[float, about("share of the search's value in the target", 0, 1)] = 0.25
    symmetries: Annotated[bool, about("show positions in random symmetries of the game")] = True
    average: Annotated[float, about("decay of the average that plays; 0: none", 0, 0.99999)] = 0.99
    device: Annotated[Device, about("of the learner; auto: cuda if there is one")] = "auto"
    compile: Annotated[bool, about("torch.compile on CUDA")] = False
    half: Annotated[bool, about("mixed precision on CUDA")] = True
    threads: Annotated[int, about("of the learner on the CPU", 1, 1024)] = 1

    def __post_init__(self) -> None:
        if ":" not in self.optimiser and self.optimiser not in OPTIMISERS:
            known = (*OPTIMISERS, "module:Class")
            raise ValueError(not_one_of("optimiser", known, self.optimiser))


class Configuration(Struct, frozen=True, forbid_unknown_fields=True):
    """A training run.

    Examples:
        >>> Configuration(game="hex", options={"board_size": 5}, iterations=60).options
        {'board_size': 5}
    """

    game: Annotated[str, about("hex, connect4, tictactoe, gomoku; module:function")] = "hex"
    options: Annotated[dict[str, Any], about("of the game's environment, such as board_size")] = {}
    iterations: Annotated[int, about("in all", 1, 10**9)] = 100
    checkpoint_interval: Annotated[int, about("iterations between checkpoints", 1, 10**9)] = 1
    save_interval: Annotated[int, about("iterations between saved networks", 1, 10**9)] = 5
    gate: Annotated[float, about("score that a new network needs to play; 0: none", 0, 1)] = 0.0
    duel_games: Annotated[int, about("of the gate, and of the Elo in the log", 0, 100_000)] = 100
    start: Annotated[str, about("a network to start from: its file or a shipped name")] = ""
    seed: Annotated[int, about("of all chance", 0, 2**63 - 1)] = 0
    engine: Annotated[Engine, about("where workers play")] = "processes"
    workers: Annotated[int, about("that play", 1, 4096)] = 2
    data: Annotated[str, about("a folder of hexenv data to learn from, without self-play")] = ""
    keep_games: Annotated[bool, about("keep files of games that left the buffer")] = False
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
    """The default configuration of a game, as plain values."""
    return merged(as_dict(Configuration()) | {"game": game}, DEFAULTS.get(game, {}))


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
    """The configuration of plain values, with the game's defaults for what they leave out.

    ``network.kind`` and ``learner.optimiser`` may be a class or a function instead of its name.

    Raises:
        ValueError: If a key is unknown, or a value is of another type or out of its range.
    """
    game = values.get("game", "hex")
    if not isinstance(game, str):
        raise ValueError(f"expected game as a text, got {shortened(game)}")
    game = environment_name(game)
    if game not in DEFAULTS and ":" not in game:  # that is a function, for an environment of ours
        known = [*sorted(DEFAULTS), "module:function"]
        raise ValueError(not_one_of("a game", known, game))
    named = _by_name(_by_name(values, "network", "kind"), "learner", "optimiser")
    before = defaults(game)
    network: Any = named.get("network")
    if isinstance(network, dict) and ":" in str(cast("dict[str, Any]", network).get("kind")):
        before["network"]["canonical"] = False  # it sees the board as it is
    found = to_structure(merged(before, {**named, "game": game}), Configuration)
    if found.gate > 0 and found.duel_games < 2:
        raise ValueError(f"expected duel_games from 2 for a gate, got {found.duel_games}")
    return found


def _by_name(values: Mapping[str, Any], section: str, key: str) -> Mapping[str, Any]:
    """The values with the name of a class or function in the place of itself."""
    inner = values.get(section)
    value = cast("dict[str, Any]", inner).get(key) if isinstance(inner, dict) else None
    if not callable(value):
        return values
    module, name = getattr(value, "__module__", ""), getattr(value, "__qualname__", "")
    try:
        is_found = module != "__main__" and attribute_at(f"{module}:{name}") is value
    except (ImportError, AttributeError, ValueError):
        is_found = False
    if not is_found:
        raise ValueError(
            f"expected {section}.{key} as a class or function of a module that other processes "
            f"can import, got {name} of {module}"
        )
    return merged(values, {section: {key: f"{module}:{name}"}})


def as_dict(configuration: Struct) -> dict[str, Any]:
    """Plain values of a configuration or a section of it."""
    return msgspec.to_builtins(configuration)


def described(configuration: Configuration) -> list[tuple[str, str, str]]:
    """Every parameter: its name, its value as JSON, and what it is."""
    return list(_rows(configuration, ""))


def _rows(section: Struct, where: str) -> Iterator[tuple[str, str, str]]:
    for name, kind in fields_of(type(section)).items():
        value = getattr(section, name)
        if isinstance(value, Struct):
            yield from _rows(value, f"{where}{name}.")
            continue
        text = meta_of(kind).description or ""
        bare = get_args(kind)[0]
        choices = get_args(bare) if get_origin(bare) is Literal else ()
        if not all(choice in text for choice in choices):
            text = f"{text} ({', '.join(choices)})"
        yield f"{where}{name}", json.dumps(msgspec.to_builtins(value)), text
