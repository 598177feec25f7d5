"""The pictures of the site: films of games, and positions."""

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from agents.alphahex.gifs import frames_of, write_gif
from agents.naming import make_environment
from hexenv.games import base

RECORDS = Path(__file__).parents[1] / "records"
"""A game for each page, ``GAME.json``; a game without one is played at random."""


def recorded(game: str) -> dict[str, Any]:
    """The game that is shown on the page of `game`: its options and its moves."""
    path = RECORDS / f"{game}.json"
    if path.exists():
        return json.loads(path.read_text())
    return {"game": game, "options": [], "moves": random_moves(game)}


def random_moves(game: str) -> str:
    """A game of random moves, the same at every build."""
    env = make_environment(game)
    env.reset(seed=1)
    rng = np.random.default_rng(1)
    while env.agents and not env.terminations[env.agent_selection]:
        actions = base.legal_actions(env.unwrapped.game, env.unwrapped.state)
        env.step(int(rng.choice(actions)))
    return env.unwrapped.moves


def film(game: str) -> bytes:
    """The recorded game as a GIF."""
    record = recorded(game)
    env = make_environment(game, record["options"])
    env.reset(options={"moves": record["moves"]})
    frames = frames_of(game, record["options"], env.unwrapped.actions)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.gif"
        write_gif(path, frames)
        return path.read_bytes()


def board(game: str) -> bytes:
    """The empty board of the game's defaults with its coordinates, as a PNG."""
    env = make_environment(game, render_mode="rgb_array")
    env.reset()
    return png(env.render())


def png(frame: NDArray[np.uint8]) -> bytes:
    """A frame ``(height, width, 3)`` as the bytes of a PNG."""
    buffer = io.BytesIO()
    Image.fromarray(frame).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
