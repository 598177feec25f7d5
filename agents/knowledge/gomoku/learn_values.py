"""Learns the tables of `agents.knowledge.gomoku.valued` from data of `hexenv data`.

    A="--agent gomoku-engine:positions=2000,table_entries=16384"
    B="--opening-plies 10 --temperature 0"
    hexenv data gomoku $A $B --games 24000 --to free --seed 21
    hexenv data gomoku $A $B --games 9200 --to more --seed 31
    hexenv data gomoku $A $B --games 8000 --to renju --seed 12 --option rule=renju
    hexenv data gomoku $A $B --games 8000 --to standard --seed 33 --option rule=standard
    python -m agents.knowledge.gomoku.learn_values free more renju standard

Each was played by the engine as it was then: `renju` with linear values, `free` and `standard` with
networks that had learnt from games with linear values, `more` with one that had learnt from `free`.
Today's engine plays other games.

Two things are learnt, by gradient descent on the cross-entropy. Who wins: from quiet positions,
where neither side can make a winning double threat at once; the target is the mean of the game's
outcome and of the search's value. And the move that the search has chosen: from all positions
where it had to choose. Every tenth game is held out, and the cross-entropies of its positions are
printed. Of positions that are the same to the network, one is used.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import sys
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agents.knowledge.gomoku import board
from agents.knowledge.gomoku.board import FOUR_THREE, TWO_FOURS, WINS, count_kinds
from agents.knowledge.gomoku.valued import (
    FILE,
    FORMAT,
    HIDDEN,
    LARGEST_IN_VECTOR,
    MOST,
    MOVES,
    PROMISE_SCALE,
    UNIT,
    WAITS,
    WIDTH,
    code_numbers,
)
from agents.learning.data import Data
from agents.learning.data.positions import lengths_of
from hexenv.compiled import CompiledFunction
from hexenv.games.base import EMPTY
from hexenv.games.gomoku import Gomoku, rule_name

BATCH: Final = 1024
EPOCHS: Final = 6
RATES: Final = (5e-3, 3e-2)
"""The greatest rates of learning, of what positions are worth and of promises."""
DECAY: Final = 1e-3
STONE: Final = -1
"""In place of the number of a cell."""
HELD_OUT: Final = 10
"""Every so many games one is not learnt from."""


class Examples(NamedTuple):
    """Positions to learn from, P of them."""

    numbers: NDArray[np.int16]
    """``(P, 2, cells)``: the number of each cell's code, by `MOVES` and `WAITS`; or `STONE`."""
    quiet: NDArray[np.bool_]
    """``(P,)``: whether who wins is learnt from it."""
    players: NDArray[np.int8]
    """``(P,)``: who is to move."""
    chances: NDArray[np.float32]
    """``(P,)``: of the player to move to win, 0 to 1."""
    actions: NDArray[np.int64]
    """``(P,)``: the cell that the search has chosen; -1 where it was not asked."""
    held_out: NDArray[np.bool_]
    """``(P,)``: whether nothing is learnt from it."""

    def take(self, which: Any) -> "Examples":
        """Some of them: by an index array or a mask."""
        parts: list[Any] = [part[which] for part in self]
        return Examples(*parts)


def write_numbers(
    game: Any,
    state: Any,
    actions: NDArray[np.int16],
    lengths: NDArray[np.int64],
    number_of: NDArray[np.uint16],
    out: NDArray[np.int16],
    ply_of: NDArray[np.int64],
    quiet: NDArray[np.bool_],
) -> int:
    """Write what `Examples` has of all positions in which a move has to be chosen; how many.

    `actions` are those of all games, one after the other, `lengths` how many each has, `number_of`
    is `code_numbers()`. `out` are the numbers of the cells, `ply_of` is the index of the action.
    """
    ply, row = 0, 0
    for length in lengths:
        game.initial(state[0])
        for _ in range(length):
            mover = int(state[0].ply & 1)
            own = count_kinds(state[0], mover, TWO_FOURS, WINS)
            if own + count_kinds(state[0], 1 - mover, WINS, WINS) == 0:
                for cell in range(game.num_actions()):
                    is_empty = game.owner(state[0], cell) == EMPTY
                    for role in range(2):
                        code = state[0].codes[mover if role == MOVES else 1 - mover, cell]
                        out[row, role, cell] = number_of[code] if is_empty else STONE
                ply_of[row] = ply
                forks = count_kinds(state[0], mover, FOUR_THREE, FOUR_THREE)
                quiet[row] = forks + count_kinds(state[0], 1 - mover, TWO_FOURS, WINS) == 0
                row += 1
            game.step(state[0], int(actions[ply]))
            ply += 1
    return row


compiled_numbers: Final = CompiledFunction(write_numbers, "what positions are worth")


def examples(folder: str) -> tuple[str, Examples]:
    """Of the data in a folder: the rule, and the positions to learn from."""
    data = Data(folder)
    rules = cast("Gomoku", data.game)
    game = board.new(rules)
    state = np.zeros(1, game.state_dtype).view(np.recarray)
    parts: list[Examples] = []
    for shard in data.shards():
        total = len(shard.actions)
        out = np.zeros((total, 2, game.num_actions()), np.int16)
        ply_of, quiet = np.zeros(total, np.int64), np.zeros(total, np.bool_)
        games = (shard.actions, lengths_of(shard.plies))
        count = compiled_numbers(game, state, *games, code_numbers(), out, ply_of, quiet)
        known = shard.take(ply_of[:count])
        chances = ((known.outcomes + known.values_or_outcomes) / 4 + 0.5).astype(np.float32)
        actions = np.where(known.searched, known.actions, -1).astype(np.int64)
        held_out = known.games % HELD_OUT == 0
        parts.append(
            Examples(out[:count], quiet[:count], known.players, chances, actions, held_out)
        )
    return rule_name(rules.rule), joined(parts)


def joined(parts: list[Examples]) -> Examples:
    """All of them; of those with the same numbers the first."""
    found = Examples(*map(np.concatenate, zip(*parts, strict=True)))
    rows = found.numbers.reshape(len(found.numbers), -1)
    as_bytes = np.ascontiguousarray(rows).view(f"V{rows.shape[1] * rows.itemsize}")[:, 0]
    return found.take(np.unique(as_bytes, return_index=True)[1])


class Network(nn.Module):
    """What is learnt; either player has tables of his own, or both the same."""

    def __init__(self, tables: int) -> None:
        super().__init__()
        self.tables, self.num_codes = tables, int(code_numbers().max()) + 1
        self.vectors = nn.Embedding(tables * self.num_codes, WIDTH)
        self.promises = nn.Embedding(tables * 2 * self.num_codes, 1)
        nn.init.normal_(self.vectors.weight, std=0.01)
        nn.init.zeros_(self.promises.weight)
        with torch.no_grad():
            self.vectors.weight[:, -1] = 0
        self.offsets = nn.Parameter(torch.full((tables, WIDTH), 0.1))
        firsts = [nn.Linear(2 * (WIDTH - 1), HIDDEN) for _ in range(tables)]
        seconds = [nn.Linear(HIDDEN + 2, 1) for _ in range(tables)]
        self.layers = list(zip(firsts, seconds, strict=True))
        self.registered = nn.ModuleList(firsts + seconds)  # so that they are learnt

    def sums(self, numbers: Tensor, sides: Tensor) -> Tensor:
        """``(P, WIDTH)``: the sums of a side's vectors.

        `numbers` are ``(P, cells)``, `sides` ``(P,)``, 0 where both sides have the same tables.
        """
        is_known = (numbers > 0).float()
        found = nn.functional.embedding_bag(
            numbers.clamp(0) + self.num_codes * sides[:, None], self.vectors.weight,
            mode="sum", per_sample_weights=is_known,
        )  # fmt: skip
        return found + self.offsets[sides]

    def values(self, numbers: Tensor, players: Tensor) -> Tensor:
        """``(P,)``: the logarithms of the odds of the players to move, of `Examples.numbers`."""
        others = (1 - players) % self.tables
        own, other = self.sums(numbers[:, MOVES], players), self.sums(numbers[:, WAITS], others)
        cut = torch.cat([own[:, :-1], other[:, :-1]], dim=1).clamp(0, MOST)
        found = []
        for first, second in self.layers:
            hidden = torch.cat([torch.relu(first(cut)), own[:, -1:], other[:, -1:]], dim=1)
            found.append(second(hidden)[:, 0])
        return torch.stack(found)[players, torch.arange(len(players))]

    def chosen(self, numbers: Tensor, players: Tensor) -> Tensor:
        """``(P, cells)``: the promises; their softmax is the probability of each move."""
        which = (2 * players[:, None] + torch.arange(2))[..., None]
        found = self.promises(numbers.clamp(0) + self.num_codes * which)[..., 0].sum(dim=1)
        return found.masked_fill(numbers[:, MOVES] == STONE, -torch.inf)

    def losses(self, found: Examples) -> tuple[Tensor, Tensor]:
        """The cross-entropies of who wins and of the moves; 0 where there is none to learn."""
        numbers = torch.from_numpy(found.numbers.astype(np.int32))
        players = torch.from_numpy(found.players.astype(np.int32)) % self.tables
        quiet, actions = torch.from_numpy(found.quiet), torch.from_numpy(found.actions)
        of_values = nn.functional.binary_cross_entropy_with_logits(
            self.values(numbers[quiet], players[quiet]),
            torch.from_numpy(found.chances)[quiet],
            reduction="sum",
        )
        of_moves = nn.functional.cross_entropy(
            self.chosen(numbers, players), actions, ignore_index=-1, reduction="sum"
        )
        return of_values / max(int(quiet.sum()), 1), of_moves / max(int((actions >= 0).sum()), 1)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What the file has for `agents.knowledge.gomoku.valued.Values`, ``(tables, ...)``."""
        first = torch.stack([first.weight for first, _ in self.layers])
        first = first.reshape(-1, HIDDEN, 2, WIDTH - 1).permute(0, 2, 3, 1)
        first_offsets = torch.stack([first.bias for first, _ in self.layers])
        second = torch.stack([torch.cat([last.weight[0], last.bias]) for _, last in self.layers])
        vectors = self.vectors.weight.reshape(self.tables, -1, WIDTH).clone()
        promises = self.promises.weight.reshape(self.tables, 2, -1)
        vectors[:, 0] = 0
        return {
            "vectors": whole(vectors, np.int16).clip(-LARGEST_IN_VECTOR, LARGEST_IN_VECTOR),
            "promises": whole(promises, np.int16, PROMISE_SCALE),
            "offsets": whole(self.offsets, np.int32),
            "first": whole(first, np.int32),
            "first_offsets": whole(first_offsets, np.int32),
            "second": whole(second, np.int32),
        }


def whole(weights: Tensor, kind: type[np.integer[Any]], unit: float = UNIT) -> NDArray[Any]:
    """Weights as whole numbers, in parts of 1 / `unit`."""
    found = np.rint(unit * weights.detach().numpy())
    if not np.isfinite(found).all():
        raise ValueError("expected finite weights, got some that are not: was there enough data?")
    most = np.iinfo(kind).max
    return found.clip(-most, most).astype(kind)


def fit(found: Examples, tables: int, epochs: int = EPOCHS) -> dict[str, NDArray[Any]]:
    """Learn from positions; the tables of the network."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    network = Network(tables)
    learnt, held_out = np.flatnonzero(~found.held_out), np.flatnonzero(found.held_out)
    if not len(learnt) or not len(held_out):
        raise ValueError(f"expected at least {HELD_OUT} games to learn from, got too few positions")
    promises = network.promises.weight
    others = [each for each in network.parameters() if each is not promises]
    groups: list[dict[str, Any]] = [{"params": others}, {"params": [promises]}]
    optimiser = torch.optim.AdamW(groups, weight_decay=DECAY)
    batches = max(len(learnt) // BATCH, 1)
    rates = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, list(RATES), total_steps=epochs * batches + 1
    )
    for epoch in range(epochs):
        order = rng.permutation(learnt)
        for batch in range(batches):
            losses = network.losses(found.take(order[batch * BATCH : (batch + 1) * BATCH]))
            optimiser.zero_grad()
            (losses[0] + losses[1]).backward()
            optimiser.step()
            rates.step()
        with torch.no_grad():
            parts = np.array_split(held_out, 1 + len(held_out) // 16_384)
            seen = [[float(loss) for loss in network.losses(found.take(part))] for part in parts]
        value, move = np.mean(seen, axis=0)
        print(f"epoch {epoch + 1}: held out {value:.4f} nats a value, {move:.3f} a move")
    return network.arrays()


def learn(folders: list[str], path: Path = FILE) -> None:
    """Learn from folders, and write the tables of their rules beside those of other rules."""
    arrays = FORMAT.read_arrays(path)[1] if path.exists() else {}
    by_rule: dict[str, list[Examples]] = {}
    for folder in folders:
        rule, found = examples(folder)
        by_rule.setdefault(rule, []).append(found)
    for rule, parts in by_rule.items():
        found = joined(parts)
        print(f"{rule}: {len(found.players)} positions, {found.quiet.sum()} of them quiet")
        tables = fit(found, 2 if rule == "renju" else 1)  # only in renju the colours differ
        arrays |= {f"{rule}_{name}": table for name, table in tables.items()}
    FORMAT.write_arrays(path, arrays)


if __name__ == "__main__":
    learn(sys.argv[1:])
