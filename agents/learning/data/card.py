"""The data card: the README.md of a folder of data, for who finds it without the command."""

import importlib.metadata
import platform
import shlex
from typing import Any, Final

import numpy as np

import hexenv
from agents.core.files import write_text
from agents.learning.data.folder import FORMAT, Data, Manifest
from agents.learning.data.positions import Positions
from hexenv.compiled.numba_parts import HAS_NUMBA

FENCE: Final = "`" * 3
LIBRARIES: Final = ("numpy", "numba") if HAS_NUMBA else ("numpy",)
COLUMNS: Final = """\
| Array | Shape | What it is |
|---|---|---|
| `observations` | (P, {rows}, {columns}, {planes}) int8 | planes {names}, as the mover sees them |
| `action_masks` | (P, {actions}) int8 | 1 for legal actions |
| `actions` | (P,) int16 | the action played |
| `visits` | (P, {actions}) int32 | simulations that began with each action; where an agent counts \
none 1 at the one it chose; in random openings 0 |
| `values` | (P,) float32 | the agent's value **for the mover**, -1 to 1; NaN where it has none |
| `outcomes` | (P,) int8 | of the game **for the mover**: 1 won, 0 drawn, -1 lost |
| `players` | (P,) int8 | the mover: the player to move, 0 or 1 |
| `agents` | (P,) int16 | the number of the agent that moved; -1 in a random opening |
| `games`, `plies` | (P,) | the number of the game, and the moves made before |
"""


def write_card(data: Data) -> None:
    """Write the README.md of a folder."""
    write_text(data.path / "README.md", card_of(data))


def command_of(manifest: Manifest, path: str = "DIR") -> str:
    """The command that makes the data."""
    recipe = manifest.recipe
    words = ["hexenv", "data", recipe.game]
    words += [word for option in recipe.options for word in ("--option", option)]
    words += [word for agent in recipe.agents for word in ("--agent", agent)]
    pairs: dict[str, Any] = {"games": manifest.games, "to": path, "seed": recipe.seed}
    for name in ("opening_plies", "temperature", "temperature_plies"):
        pairs[name.replace("_", "-")] = str(getattr(recipe, name))
    words += [str(word) for name, value in pairs.items() for word in (f"--{name}", value)]
    return shlex.join(words)


def card_of(data: Data) -> str:
    """The text of the card."""
    game, manifest, counts = data.game, data.manifest, counts_of(data)
    sizes = {kind: size_of(data, kind) for kind in ("positions", "parquet", "minari")}
    size = ", ".join(f"{name} {bytes_ / 1e6:.1f} MB" for name, bytes_ in sizes.items() if bytes_)
    versions = [f"hexenv {hexenv.__version__}", f"Python {platform.python_version()}"]
    versions += [f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES]
    speed = counts["positions"] / manifest.seconds if manifest.seconds else 0.0
    place = f"{manifest.workers} processes" if manifest.workers > 1 else "one process"
    agents = "".join(f"\n* {number}: `{text}`" for number, text in enumerate(data.recipe.agents))
    columns = COLUMNS.format(
        rows=game.rows, columns=game.columns, planes=len(game.planes()),
        names=", ".join(game.planes()), actions=game.num_actions(),
    )  # fmt: skip
    return f"""\
# Positions of {game.name}, {game.rows} x {game.columns}

{FENCE}sh
{command_of(manifest)}
{FENCE}

{counts["positions"]} positions of {data.games} games, {counts["searched"]} of them with a move of \
an agent and {counts["positions"] - counts["searched"]} in random openings. Player 0 won \
{counts["won"]} games, drew {counts["drawn"]} and lost {counts["lost"]}.

Agents (those written like `UCT(simulations=50)` are objects of Python, which \
`agents.learning.data.make_data` takes, and the command does not):
{agents}

Seed: {data.recipe.seed}. Format: {FORMAT}. Size: {size}. Made in \
{manifest.seconds:.0f} s by {place}, {speed:.0f} positions a second, with {", ".join(versions)}.

## What there is

`positions/000000.npz` and so on, {manifest.shard} games in each; no pickles. `parquet` and \
`minari`, if they are there, have the positions that were there when they were last asked for.

{columns}
A position stands before its move. Games begin at `plies` 0; probabilities are `visits` over \
their sum. With several agents, each pair played both sides in turn.

{FENCE}python
import numpy as np
arrays = np.load("positions/000000.npz")

from agents.learning.data import Data
positions = Data(".").positions()  # checked against the rules
{FENCE}
"""


def counts_of(data: Data) -> dict[str, int]:
    """How many positions there are, and how the games ended for player 0."""
    counts: dict[str, int] = dict.fromkeys(("positions", "searched", "won", "drawn", "lost"), 0)
    for positions in data.shards():
        first: Positions = positions.take(positions.plies == 0)
        results = np.where(first.players == 0, first.outcomes, -first.outcomes)
        counts["positions"] += len(positions.actions)
        counts["searched"] += int(positions.searched.sum())
        for name, result in (("won", 1), ("drawn", 0), ("lost", -1)):
            counts[name] += int((results == result).sum())
    return counts


def size_of(data: Data, folder: str) -> int:
    """The bytes of the files in one of the folders."""
    return sum(file.stat().st_size for file in (data.path / folder).rglob("*") if file.is_file())
