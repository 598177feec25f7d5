"""What a file of a network says, without PyTorch; `agents.learning.files` writes and reads it."""

import functools
import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from agents.core.formats import Format
from agents.learning.configuration import NetworkOptions
from agents.registry import make_environment
from hexenv.envs.aec import BoardEnv
from hexenv.games import base
from hexenv.games.base import Game

NETWORK: Final = Format("hexenv-network", 2)
MOST_HEADER: Final = 1 << 20
"""Bytes of a network's header, enough for a thousand blocks."""
SHIPPED: Final = Path(__file__).with_name("nets")


class SavedNetwork(NamedTuple):
    """A network from a file."""

    network: Any
    """A module of PyTorch, or an `agents.learning.plain.PlainNetwork`."""
    options: NetworkOptions
    game: Game
    """The game that it was trained for."""
    about: dict[str, Any]
    """Its origin: the run's configuration, iteration, positions."""
    path: str

    def why_not(self, game: Game) -> str | None:
        """Why it cannot play a game; None if it can.

        A convolutional network plays on boards of any size.
        """
        if game.name != self.game.name:
            return f"expected the game of {self.game.name}, got {game.name}"
        own, found = base.parameters(self.game), base.parameters(game)
        is_any = self.options.kind == "residual" and self.options.heads == "convolutional"
        for name in {**own, **found}:
            value, got = own.get(name), found.get(name)
            if value != got and not (is_any and name in ("rows", "columns")):
                return f"expected {name} of {value}, as in training, got {got}"
        if self.options.canonical and game.rows != game.columns:
            return f"expected a square board, got {game.rows} x {game.columns}"
        return None


def environment_of(name: str, options: Mapping[str, Any]) -> BoardEnv:
    """The environment with this name and these options."""
    given = {
        key: tuple(cast("list[Any]", value)) if isinstance(value, list) else value
        for key, value in options.items()
    }
    env = make_environment(name, (), **given)
    if not isinstance(env.unwrapped, BoardEnv):
        raise ValueError(f"expected an environment of hexenv, got {name}")
    return env.unwrapped


def game_of(name: str, options: Mapping[str, Any]) -> Game:
    """The game of an environment with this name and these options."""
    return environment_of(name, options).game


def checksum_of(header: str, parts: Mapping[str, tuple[str, tuple[int, ...], Any]]) -> str:
    """The SHA-256 of a network's header and weights, as hexadecimal digits.

    Of each weight, by its name: its type as PyTorch writes it, its shape, and its bytes.
    """
    found = hashlib.sha256(header.encode())
    for name in sorted(parts):
        kind, shape, contents = parts[name]
        found.update(f"\n{name} {kind} {shape}\n".encode())
        found.update(contents)
    return found.hexdigest()


def find_network(net: str) -> Path:
    """The file of a network, by its path or the name of a shipped one."""
    if not isinstance(net, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"expected a network's file or name, got {net!r}")
    for path in (Path(net), SHIPPED / f"{net}.safetensors"):
        if path.is_file():
            return path
    shipped = ", ".join(sorted(path.stem for path in SHIPPED.glob("*.safetensors")))
    raise FileNotFoundError(f"expected a network's file, or one of {shipped}; got {net!r}")


def shipped_network(game: Game, family: str = "") -> Path:
    """The shipped network for a game: of the smallest board that is no smaller, or the largest.

    Args:
        game: The game.
        family: What the names of the networks begin with: ``ppo-``, ``dqn-``, or nothing.

    Raises:
        ValueError: If none of the family is for the game.
    """
    return _shipped(game.name, game.rows, family)


@functools.cache
def _shipped(name: str, rows: int, family: str) -> Path:
    found: dict[int, Path] = {}
    for path in SHIPPED.glob("*.safetensors"):
        if size := re.fullmatch(re.escape(family + name) + r"(\d*)", path.stem):
            found[int(size[1] or rows)] = path
    if not found:
        names = ", ".join(sorted(path.stem for path in SHIPPED.glob(f"{family}*.safetensors")))
        raise ValueError(f"expected a game of a shipped network ({names}), got {name}")
    return found[min((size for size in found if size >= rows), default=max(found))]
