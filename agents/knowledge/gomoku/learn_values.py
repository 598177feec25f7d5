r"""Learns the weights of `agents.knowledge.gomoku.valued` from data of `hexenv data`.

    A=gomoku-engine:positions=1500,table_entries=16384
    RANDOM="--opening-plies 8 --temperature 0"
    hexenv data gomoku --agent $A --games 5000 --to free $RANDOM --seed 2
    hexenv data gomoku --agent $A --games 2500 --to standard $RANDOM --seed 3 --option rule=standard
    hexenv data gomoku --agent $A --games 2500 --to renju $RANDOM --seed 4 --option rule=renju
    python -m agents.knowledge.gomoku.learn_values free standard renju

The games of freestyle were played with weights of an earlier round, 6,000 games of 1,000 positions
a move, which are learnt from as well; those of standard with the first of freestyle; those of renju
with the weights of standard. (The search has become better since, so that these commands play other
games.)

The outcome of a game is explained by each of its positions that the search would evaluate: the
logarithm of the odds that the player to move wins is linear in the weights (Texel's method;
Osterlund 2014). The likelihood, less a penalty on the squares of the weights, is maximised by
Newton's method. Every tenth game is held out: the likelihood of its positions is printed.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.files import write_text
from agents.knowledge.gomoku.board import FOUR_THREE, TWO_FOURS, WINS, count_kinds
from agents.knowledge.gomoku.valued import (
    FILE,
    MOVES,
    NUM_WEIGHTS,
    SCALE,
    WAITS,
    valued_game,
    weight_counts,
)
from agents.learning.data import Data
from agents.learning.data.positions import lengths_of
from hexenv.compiled import CompiledFunction
from hexenv.games.gomoku import Gomoku, rule_name

PENALTY: Final = 20.0
"""On the squares of weights, which add up to the logarithm of the odds."""
NEWTON_STEPS: Final = 8
MOST_GAMES: Final = 10**7
"""Of a folder."""
HELD_OUT: Final = 10
"""Every so many games one is not learnt from."""


def count_weights(
    game: Any,
    state: Any,
    actions: NDArray[np.int16],
    lengths: NDArray[np.int64],
    counts: NDArray[np.uint8],
    out: NDArray[np.int16],
    ply_of: NDArray[np.int64],
) -> int:
    """Write how often each weight is in the value of each quiet position; how many positions.

    `out` is ``(positions, 2, NUM_WEIGHTS)``, `ply_of` which position each is of.
    """
    ply, row = 0, 0
    for length in lengths:
        game.initial(state[0])
        for _ in range(length):
            mover = int(state[0].ply & 1)
            is_quiet = count_kinds(state[0], mover, FOUR_THREE, WINS) == 0
            if is_quiet and count_kinds(state[0], 1 - mover, TWO_FOURS, WINS) == 0:
                for role in range(2):
                    side = mover if role == MOVES else 1 - mover
                    for cell in range(game.num_actions()):
                        code = state[0].codes[side, cell]
                        if code != 0:
                            for i in range(NUM_WEIGHTS):
                                out[row, role, i] += counts[code, i]
                ply_of[row] = ply
                row += 1
            game.step(state[0], int(actions[ply]))
            ply += 1
    return row


compiled_count: Final = CompiledFunction(count_weights, "what positions are worth")


def examples(folder: str) -> tuple[str, NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Of the data in a folder: the rule, features, who moves, outcomes from 0 to 1, and games."""
    data = Data(folder)
    rules = cast("Gomoku", data.game)
    game = valued_game(rules)
    state = np.zeros(1, game.state_dtype).view(np.recarray)
    parts: list[Any] = []
    for shard in data.shards():
        total = len(shard.actions)
        out, ply_of = np.zeros((total, 2, NUM_WEIGHTS), np.int16), np.zeros(total, np.int64)
        lengths = lengths_of(shard.plies)
        found = (shard.actions, lengths, weight_counts(), out, ply_of)
        count = compiled_count(game, state, *found)
        at = ply_of[:count]
        parts.append((out[:count], shard.players[at], shard.outcomes[at], shard.games[at]))
    features, players, outcomes, games = (np.concatenate(part) for part in zip(*parts, strict=True))
    return rule_name(rules.rule), features, players, (outcomes + 1) / 2, games


def fit(features: NDArray[Any], outcomes: NDArray[Any], games: NDArray[Any]) -> NDArray[np.float64]:
    """``(2, NUM_WEIGHTS)``: the weights, in units of the logarithm of the odds."""
    signs = np.where(np.arange(2) == MOVES, 1.0, -1.0)[None, :, None]
    rows = (features * signs).reshape(len(features), -1).astype(np.float32)
    learnt = games % HELD_OUT != 0
    used = np.flatnonzero(np.abs(rows[learnt]).sum(axis=0) > 0)
    weights = np.zeros(rows.shape[1])
    for _ in range(NEWTON_STEPS):
        chances = 1 / (1 + np.exp(-rows @ weights))
        slope = rows[learnt].T @ (outcomes - chances)[learnt] - PENALTY * weights
        spread = (chances * (1 - chances))[learnt, None] * rows[learnt]
        curve = rows[learnt].T @ spread + PENALTY * np.eye(len(weights))
        weights[used] += np.linalg.solve(curve[np.ix_(used, used)], slope[used])
    chances = np.clip(1 / (1 + np.exp(-rows @ weights)), 1e-6, 1 - 1e-6)
    likelihood = outcomes * np.log(chances) + (1 - outcomes) * np.log(1 - chances)
    for name, which in (("learnt from", learnt), ("held out", ~learnt)):
        print(f"{name}: {which.sum()} positions, {likelihood[which].mean():.4f} nats")
    return weights.reshape(2, -1)


def learn(folders: list[str], path: Path = FILE) -> None:
    """Learn from folders, and write the weights of their rules beside those of other rules."""
    known: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    parts: dict[str, list[Any]] = {}
    for number, folder in enumerate(folders):
        rule, *found, games = examples(folder)
        parts.setdefault(rule, []).append((*found, games + number * MOST_GAMES))
    for rule, of_rule in parts.items():
        joined = (np.concatenate(part) for part in zip(*of_rule, strict=True))
        features, players, outcomes, games = joined
        weights = np.zeros((2, 2, NUM_WEIGHTS))
        movers = [players == 0, players == 1] if rule == "renju" else [players >= 0]
        print(f"{rule}:")  # only in renju the colours differ
        fits = [fit(features[used], outcomes[used], games[used]) for used in movers]
        for mover in range(2):
            found = fits[mover % len(fits)]
            weights[mover, MOVES], weights[1 - mover, WAITS] = found[MOVES], found[WAITS]
        known[rule] = np.rint(SCALE * weights).astype(int).tolist()
    write_text(path, json.dumps(known) + "\n")


if __name__ == "__main__":
    learn(sys.argv[1:])
