"""The networks.

A network is a PyTorch module: one of those here, or of a class of your own (``module:Net``), which
is called with the `Board` and `NetworkOptions.arguments`. Its input is float32 planes ``(N, rows,
columns, K)`` as an environment shows them. Its outputs are logits over the actions ``(N,
num_actions)`` and values ``(N,)`` in [-1, 1], both for the player to move.
"""

# PyTorch's types are partly missing.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import copy
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, cast

import torch
from msgspec import Meta, Struct
from torch import Tensor, nn
from torch.nn import functional

from agents.core.structured import to_structure
from agents.learning.configuration import NetworkOptions
from agents.registry import import_named
from hexenv.common.messages import shortened
from hexenv.envs.observation import plane_names
from hexenv.games.base import Game

Activation: TypeAlias = Literal["relu", "tanh", "sigmoid", "linear"]
ACTIVATIONS: Final[dict[Activation, type[nn.Module]]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
    "linear": nn.Identity,
}


class Board(NamedTuple):
    """The shape of a game for a network."""

    rows: int
    columns: int
    planes: tuple[str, ...]
    """Names of the planes, in order."""
    num_actions: int

    @staticmethod
    def of(game: Game, options: NetworkOptions) -> "Board":
        """The board of a game, with the planes that the options name."""
        planes = plane_names(game, tuple(options.planes))
        if options.is_own and options.canonical:
            raise ValueError("expected network.canonical false for a network of your own, got true")
        board = Board(game.rows, game.columns, planes, game.num_actions())
        if options.canonical and (game.name != "hex" or game.rows != game.columns):
            raise ValueError(f"expected network.canonical for Hex on a square board, got {game}")
        fits = board.extra_actions in (0, 1) or board.num_actions == board.columns
        if options.heads == "convolutional" and not fits and not options.is_own:
            raise ValueError(f"expected network.heads dense, as actions of {game} are no cells")
        return board

    @property
    def extra_actions(self) -> int:
        """Actions besides the cells (1 for the swap); negative where actions are no cells."""
        return self.num_actions - self.rows * self.columns


class Canonical(nn.Module):
    """Transposes Hex boards for player 1, who then sees them as player 0 does.

    The side plane is left out, because it would be constant. The board's edges are shown instead:
    as a border of stones, those of the player to move above and below.
    """

    def __init__(self, planes: tuple[str, ...]) -> None:
        super().__init__()
        self.side = planes.index("side")

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Planes ``(N, K, R, C)`` with a border, and ``(N, 1, 1)`` whether transposed."""
        turned = x[:, self.side, :1, :1] == 0
        x = torch.where(turned[:, None], x.transpose(2, 3), x)
        own, opponent = x[:, 0], x[:, 1]
        own = functional.pad(functional.pad(own, (0, 0, 1, 1), value=1.0), (1, 1), value=0.0)
        opponent = functional.pad(functional.pad(opponent, (1, 1), value=1.0), (0, 0, 1, 1))
        others = [
            functional.pad(x[:, k], (1, 1, 1, 1)) for k in range(2, x.shape[1]) if k != self.side
        ]
        return torch.stack([own, opponent, *others], 1), turned


class BoardNetwork(nn.Module):
    """What networks of all kinds share: the input, and what a canonical one does to the board."""

    def __init__(self, board: Board, options: NetworkOptions) -> None:
        super().__init__()
        self.canonical = Canonical(board.planes) if options.canonical else None
        self.planes = len(board.planes) - options.canonical

    def judge(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and values of planes ``(N, K, R, C)``."""
        raise NotImplementedError

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        x = planes.permute(0, 3, 1, 2)
        if self.canonical is None:
            return self.judge(x)
        x, turned = self.canonical(x)
        logits, values = self.judge(x)
        rows, columns = planes.shape[1:3]
        field: Tensor = logits[:, : rows * columns].unflatten(1, (rows, columns))
        field = torch.where(turned, field.transpose(1, 2), field)
        return torch.cat([field.flatten(1), logits[:, rows * columns :]], 1), values


class Block(nn.Module):
    """A residual block (He et al. 2016), with or without global pooling (Wu 2019, section 3.3)."""

    def __init__(self, channels: int, pooling: bool) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)
        self.whole = nn.Linear(2 * channels, channels) if pooling else None

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu(self.first_norm(self.first(x)))
        if self.whole is not None:
            y = y + self.whole(pooled(y))[:, :, None, None]
        return functional.relu(x + self.second_norm(self.second(y)))


def pooled(x: Tensor) -> Tensor:
    """Mean and maximum over the board: ``(N, channels, R, C)`` to ``(N, 2 channels)``."""
    flat = x.flatten(2)
    return torch.cat([flat.mean(2), flat.amax(2)], 1)


class Residual(BoardNetwork):
    """A residual network with a policy and a value head (Silver et al. 2017, "Methods").

    With convolutional heads it fits any board size.
    """

    def __init__(self, board: Board, options: NetworkOptions) -> None:
        super().__init__(board, options)
        channels, head = options.channels, options.head_channels
        padding = 0 if options.canonical else 1  # or a border instead
        self.stem = nn.Conv2d(self.planes, channels, 3, padding=padding, bias=False)
        self.stem_norm = nn.BatchNorm2d(channels)
        self.blocks = nn.Sequential(
            *(Block(channels, options.pooling and i % 2 == 1) for i in range(options.blocks))
        )
        self.policy = nn.Conv2d(channels, head, 1)
        self.value = nn.Conv2d(channels, head, 1)
        cells = board.rows * board.columns
        self.is_dense = options.heads == "dense"
        self.extra: nn.Module | None = None
        self.by_columns = board.extra_actions < 0
        if self.is_dense:
            self.logits: nn.Module = nn.Linear(head * cells, board.num_actions)
            seen = head * cells
        else:
            self.logits = nn.Conv2d(head, 1, 1)
            seen = 2 * head
            if board.extra_actions == 1:
                self.extra = nn.Linear(2 * channels, 1)
        self.value_hidden = nn.Linear(seen, options.value_units)
        self.value_out = nn.Linear(options.value_units, 1)

    def judge(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.blocks(functional.relu(self.stem_norm(self.stem(x))))
        p, v = functional.relu(self.policy(x)), functional.relu(self.value(x))
        if self.is_dense:
            logits, v = self.logits(p.flatten(1)), v.flatten(1)
        else:
            field: Tensor = self.logits(p)[:, 0]
            logits = field.amax(1) if self.by_columns else field.flatten(1)
            if self.extra is not None:
                logits = torch.cat([logits, self.extra(pooled(x))], 1)
            v = pooled(v)
        values = torch.tanh(self.value_out(functional.relu(self.value_hidden(v))))
        return logits, values[:, 0]


Size: TypeAlias = Annotated[int, Meta(ge=1, le=65536)]


class Convolution(Struct):
    """A convolution in `NetworkOptions.layers`."""

    type: str
    filters: Size
    kernel: Size
    activation: Activation = "relu"


class Dense(Struct):
    """A dense layer in `NetworkOptions.layers`."""

    type: str
    units: Size
    activation: Activation = "relu"


class Anet(BoardNetwork):
    """An actor network of the layers in its options; without a value, its values are 0."""

    def __init__(self, board: Board, options: NetworkOptions) -> None:
        super().__init__(board, options)
        border = 2 if options.canonical else 0
        planes, cells = self.planes, (board.rows + border) * (board.columns + border)
        layers: list[nn.Module] = []
        units: int | None = None
        for number, layer in enumerate(options.layers):
            where = f"network.layers[{number}]"
            kind = layer.get("type")
            if kind == "convolution" and units is None:
                described = to_structure(layer, Convolution, where)
                layers.append(
                    nn.Conv2d(planes, described.filters, described.kernel, padding="same")
                )
                planes = described.filters
            elif kind == "dense":
                described = to_structure(layer, Dense, where)
                if units is None:
                    layers.append(nn.Flatten())
                    units = planes * cells
                layers.append(nn.Linear(units, described.units))
                units = described.units
            else:
                expected = "convolution or dense" if units is None else "dense (after dense ones)"
                raise ValueError(f"expected {where}.type as {expected}, got {kind!r}")
            layers.append(ACTIVATIONS[described.activation]())
        if units is None:
            layers.append(nn.Flatten())
            units = planes * cells
        self.layers = nn.Sequential(*layers)
        self.logits = nn.Linear(units, board.num_actions)
        self.value_out = nn.Linear(units, 1) if options.value else None

    def judge(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.layers(x)
        logits = self.logits(x)
        if self.value_out is None:
            return logits, torch.zeros_like(logits[:, 0])
        return logits, torch.tanh(self.value_out(x))[:, 0]


def new_network(game: Game, options: NetworkOptions, seed: int | None = None) -> nn.Module:
    """A network for a game; a seed makes its first weights, and leaves PyTorch's state as it was.

    Raises:
        ValueError: If the options are wrong, or do not fit the game.
    """
    board = Board.of(game, options)
    with torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(seed)
        if options.is_own:
            return own_network(board, options)
        made = Residual(board, options) if options.kind == "residual" else Anet(board, options)
    return cast("Any", made).to(memory_format=torch.channels_last)


def own_network(board: Board, options: NetworkOptions) -> nn.Module:
    """A network of a class of your own, or of a function that makes it, tried on some planes."""
    where = f"network.kind {options.kind}"
    try:
        network = import_named(*options.kind.split(":", 1))(board, **options.arguments)
    except Exception as error:  # it is code of others
        raise ValueError(f"{where}: cannot make it of {board}: {reason(error)}") from error
    if not isinstance(network, nn.Module):
        raise ValueError(f"{where}: expected a torch.nn.Module, got {shortened(network)}")
    if not any(parameter.requires_grad for parameter in network.parameters()):
        raise ValueError(f"{where}: expected parameters that learn, got none")
    for name, part in network.state_dict().items():
        if not isinstance(part, Tensor):
            raise ValueError(
                f"{where}: expected tensors alone in its state, got {name} {kind_of(part)}"
            )
    twin = copy.deepcopy(network)  # a trial may change averages in it
    for count, is_training in ((3, True), (3, False), (1, False)):
        twin.train(is_training)
        try_network(twin, board, count, where)
    return network


def try_network(network: nn.Module, board: Board, count: int, where: str) -> None:
    """Check what a network answers for some planes."""
    shape = count, board.rows, board.columns, len(board.planes)
    try:
        answer: Any = network((torch.rand(shape) < 0.4).float())
    except Exception as error:  # it is code of others
        raise ValueError(
            f"{where}: its forward failed for planes of {shape} (batch, rows, columns, planes): "
            f"{reason(error)}"
        ) from error
    if not isinstance(answer, tuple) or len(cast("tuple[Any, ...]", answer)) != 2:
        raise ValueError(f"{where}: expected two tensors, logits and values, got {kind_of(answer)}")
    expected = {
        "logits": ((count, board.num_actions), "batch, actions"),
        "values": ((count,), "batch"),
    }
    for part, (name, (wanted, dimensions)) in zip(answer, expected.items(), strict=True):
        if not isinstance(part, Tensor) or tuple(part.shape) != wanted:
            raise ValueError(
                f"{where}: expected {name} of shape {wanted} ({dimensions}), got {kind_of(part)}"
            )
        if not part.is_floating_point() or not part.isfinite().all():
            raise ValueError(f"{where}: expected {name} as finite floats, got {shortened(part)}")
    if network.training and not answer[0].requires_grad:
        raise ValueError(f"{where}: expected logits that depend on its parameters, got others")


def reason(error: Exception) -> str:
    """What went wrong in code of others, in a line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def kind_of(value: Any) -> str:
    """A value in a message: a tensor by its shape."""
    return (
        f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else shortened(value)
    )


def folded(network: nn.Module) -> nn.Module:
    """A copy for inference, with the normalisations folded into the convolutions before them."""
    twin = copy.deepcopy(network).eval()
    for parameter in twin.parameters():
        parameter.requires_grad_(False)
    for module in twin.modules():
        for convolution, norm in FOLDS.get(type(module), ()):
            before, after = getattr(module, convolution), getattr(module, norm)
            fused = torch.nn.utils.fusion.fuse_conv_bn_eval(before, after)
            setattr(module, convolution, fused)
            setattr(module, norm, nn.Identity())
    if not isinstance(network, BoardNetwork):
        return twin
    return cast("Any", twin).to(memory_format=torch.channels_last)


FOLDS: Final[dict[type[nn.Module], tuple[tuple[str, str], ...]]] = {
    Block: (("first", "first_norm"), ("second", "second_norm")),
    Residual: (("stem", "stem_norm"),),
}


def parameter_table(network: nn.Module) -> list[tuple[str, str, int]]:
    """Every parameter of a network: its name, its shape as text, and how many numbers it has."""
    return [
        (name, " x ".join(map(str, parameter.shape)), parameter.numel())
        for name, parameter in network.named_parameters()
    ]
