"""Data as a dataset of Minari (Farama): an episode for each game, a step for each move.

A step has the observation and the action of the mover, so players take turns in an episode. The
reward of a step is the mover's, as it made the last move of the game: 1 won, 0 drawn or not over,
-1 lost. What else `Positions` has is in the infos, with the names of its columns, ``visits``
for the visit policies. After the last move an observation is all 0, and nothing is legal.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import gymnasium
import numpy as np

import hexenv
from agents.core.files import adding
from agents.learning.data.folder import Data
from agents.learning.data.positions import Positions, lengths_of
from agents.registry import environment_makers, parse_options
from hexenv.common.extras import library

INFOS: Final = ("visits", "values", "outcomes", "players", "agents", "plies")
"""The columns in the infos of a step."""


def check_installed() -> None:
    """ImportError without Minari and h5py."""
    library("minari", "minari")
    library("h5py", "minari")


def dataset_id(data: Data) -> str:
    """The name of the dataset: ``hex-7x7-v0``."""
    return f"{data.game.name}-{data.game.rows}x{data.game.columns}-v0"


def dataset_path(data: Data) -> Path:
    """Where the dataset is, for ``minari.MinariDataset``."""
    return data.path / "minari" / dataset_id(data) / "data"


def convert(data: Data) -> None:
    """Write the dataset, if it is not there with all games."""
    storage: Any = library("minari.dataset.minari_storage", "minari").MinariStorage
    folder = dataset_path(data).parent
    if folder.exists():
        if storage.read(folder / "data").total_episodes == len(data):
            return
        shutil.rmtree(folder)
    folder.parent.mkdir(exist_ok=True)
    with adding(folder.parent) as temporary:  # the folder is whole, or not there
        target = temporary / folder.name / "data"
        target.mkdir(parents=True)
        write(storage, target, data)


def write(storage: Any, path: Path, data: Data) -> None:
    """Write the dataset to an empty folder."""
    game, recipe = data.game, data.recipe
    shape = game.rows, game.columns, len(game.planes())
    spaces = gymnasium.spaces
    masks = spaces.Box(0, 1, (game.num_actions(),), np.int8)
    seen = spaces.Dict({"observation": spaces.Box(0, 1, shape, np.int8), "action_mask": masks})
    moves = spaces.Discrete(game.num_actions())
    new = storage.new(path, observation_space=seen, action_space=moves, data_format="hdf5")
    about = {
        "dataset_id": dataset_id(data),
        "minari_version": library("minari", "minari").__version__,
        "algorithm_name": " and ".join(recipe.agents),
        "description": __doc__,
        "requirements": [f"hexenv=={hexenv.__version__}"],
    }
    if (spec := learner_of(data)) is not None:
        about["eval_env_spec"] = spec.to_json()
    new.update_metadata(about)
    new.update_episodes(episodes_of(data))


def learner_of(data: Data) -> Any:
    """The specification of the game's environment for one learner; None of a game of one's own."""
    title = hexenv.GAMES.get(data.recipe.game)
    if title is None:
        return None
    options = parse_options(
        environment_makers()[data.recipe.game], data.recipe.options, data.recipe.game
    )
    env: Any = gymnasium.make(f"hexenv/{title}-v0", **options)
    return env.spec


def episodes_of(data: Data) -> Iterator[Any]:
    """The episodes of all games."""
    for positions in data.shards():
        ends = np.cumsum(lengths_of(positions.plies))
        for begin, end in zip([0, *ends[:-1]], ends, strict=True):
            yield episode_of(positions.take(slice(begin, end)))


def episode_of(game: Positions) -> Any:
    """The episode of one game."""
    count = len(game.actions)
    is_last = np.arange(count) == count - 1
    after = (0, 1)  # an observation after the last move
    padding = [after] + [(0, 0)] * 3
    return library("minari.data_collector", "minari").EpisodeBuffer(
        observations={
            "observation": np.pad(game.observations, padding),
            "action_mask": np.pad(game.action_masks, padding[:2]),
        },
        actions=game.actions.astype(np.int64),
        rewards=np.where(is_last, game.outcomes, 0).astype(np.float64),
        terminations=is_last,
        truncations=np.zeros(count, np.bool_),
        infos={name: getattr(game, name) for name in INFOS},
    )
