"""The patterns of inferior cells, derived: ``python -m agents.knowledge.hex.patterns`` writes them.

A pattern is one cell, two cells side by side or a rhombus of four, with the ring of cells around,
each of which is empty or one of the players'. A stone can matter to the game only by what it joins:
so two fillings of the inside are equally good if, however the ring is completed, the same stones of
the ring are joined by what is within. This module simply tries all completions.

* A cell is *dead* if it makes no difference who owns it.
* It is *killed* by a stone on an empty cell of the ring if it is dead then. A move that the
  opponent can kill so is *vulnerable*.
* Two cells are *captured* by a player who answers each stone of the opponent there with the other
  cell, and so has what both cells would give.
* Two cells are captured by a stone on an empty cell of the ring if they are captured then. For its
  owner, that stone is at least as good as one on either of them: it *dominates* them.
* One cell of a pair dominates the other for a player if the player's stone there and the opponent's
  on the other join all for the player that they would the other way round. For the game after one
  move is like the game after the other, with the cells exchanged.
* A cell between three stones of a player and three empty cells is *permanently inferior* for the
  opponent if the board is as good for the player as that with a stone of the player on the cell.
  See `keeps_up`: the player always finds a reply on the four cells.

(Bjornsson, Hayward, Johanson and van Rijswijck, "Dead cell analysis in Hex and the Shannon game",
2006; Henderson and Hayward, "Captured-reversible moves and star-decomposition domination in Hex",
2013; Henderson, "Playing and solving the game of Hex", 2010.) The tables are in
``pattern_tables.json``.

A ring is numbered by its cells as digits of base 3, the first the lowest: 0 for empty, 1 and 2 for
player 0 and 1. That of one cell goes clockwise from below, as `AROUND` of
`agents.knowledge.hex.h_search`. That of a cell and its neighbour in one of these directions goes
clockwise around both, from the first cell's next direction. Of a rhombus only the seven cells
beyond the empty ones are numbered, clockwise, 1 being the player with the three stones.

By the same reasoning with play on one or two cells, only dead and captured ones can be filled. Play
on three cells fills almost nothing more: of 8,334 empty cells in positions of 11 x 11 none for a
triangle, 2 for three in a row, 1 for three around a corner; for the rhombus it was 196.
"""

import hashlib
import json
from functools import cache
from itertools import combinations, product
from pathlib import Path
from typing import Final

RING: Final = 6
"""Cells around one cell."""
PAIR_RING: Final = 8
"""Cells around two neighbours."""
RHOMBUS: Final = 4
"""The cells of a rhombus: one, and three of its neighbours in a row, clockwise."""
RHOMBUS_RING: Final = 10
BEYOND: Final = 7
"""Cells of its ring, the first, that do not touch the first of its cells."""
DEAD: Final = -1
"""In place of the cells that kill a cell, where it is dead as it is."""
FILE: Final = Path(__file__).with_name("pattern_tables.json")
SHA256: Final = "ce30c6b78b66b3edc182e426735fe0a540bb792537bae90321bbb483e6248477"
"""Of the file; ``python -m agents.knowledge.hex.patterns`` prints it."""

Ring = tuple[int, ...]
"""The owners of its cells: 0 empty, 1 and 2 the players."""


TOUCHED: Final = {
    1: [range(RING)],
    2: [(0, 1, 2, 3, 4), (4, 5, 6, 7, 0)],
    RHOMBUS: [(7, 8, 9), (0, 1, 2, 9), (2, 3, 4), (4, 5, 6, 7)],
}
"""By the number of cells inside: the cells of the ring that each of them touches."""
RINGS: Final = {1: RING, 2: PAIR_RING, RHOMBUS: RHOMBUS_RING}


def edges(inside: int) -> list[tuple[int, int]]:
    """Which cells of a pattern are neighbours: those of the ring first, then those inside."""
    count = RINGS[inside]
    found = [(i, (i + 1) % count) for i in range(count)]
    found += [(i, count + cell) for cell, ring in enumerate(TOUCHED[inside]) for i in ring]
    pairs = combinations(range(inside), 2)
    return found + [(count + i, count + j) for i, j in pairs if (i, j) != (1, 3)]


@cache
def joined(ring: Ring, inside: Ring) -> tuple[int, ...]:
    """For each cell of a full ring, the first cell of the ring that it is joined to."""
    owners = ring + inside
    names = list(range(len(owners)))
    for _ in owners:
        for one, other in edges(len(inside)):
            if owners[one] == owners[other]:
                names[one] = names[other] = min(names[one], names[other])
    return tuple(names[: len(ring)])


def completions(ring: Ring) -> list[Ring]:
    """All ways to fill the empty cells of a ring."""
    return list(product(*((1, 2) if owner == 0 else (owner,) for owner in ring)))


def are_equal(ring: Ring, one: Ring, other: Ring) -> bool:
    """Whether two fillings of the inside join the same, however the ring is completed."""
    return all(joined(full, one) == joined(full, other) for full in completions(ring))


@cache
def is_dead(ring: Ring) -> bool:
    """Whether it makes no difference who owns the cell."""
    return are_equal(ring, (1,), (2,))


def killers(ring: Ring, player: int) -> int:
    """The empty cells of the ring on which a stone of a player (1 or 2) kills the cell, as bits."""
    return sum(is_dead(after) << i for i, after in with_stone(ring, player))


def with_stone(ring: Ring, player: int) -> list[tuple[int, Ring]]:
    """Each empty cell of a ring, and the ring with a player's stone there."""
    return [(i, (*ring[:i], player, *ring[i + 1 :])) for i, owner in enumerate(ring) if owner == 0]


def is_captured(ring: Ring, player: int) -> bool:
    """Whether a player (1 or 2) answers both stones of the opponent in a pair of cells."""
    both = (player, player)
    return all(
        are_equal(ring, mixed, both) for mixed in ((player, 3 - player), (3 - player, player))
    )


def capturers(ring: Ring, player: int) -> int:
    """The empty cells of the ring on which a stone of a player captures the pair, as bits."""
    return sum(is_captured(after, player) << i for i, after in with_stone(ring, player))


def dominates(ring: Ring, player: int, cell: int) -> bool:
    """Whether one of two cells, 0 or 1, dominates the other for a player."""
    with_cell = (player, 3 - player) if cell == 0 else (3 - player, player)
    return all(
        joins_as_much(full, with_cell, with_cell[::-1], player) for full in completions(ring)
    )


def joins_as_much(full: Ring, one: Ring, other: Ring, player: int) -> bool:
    """Whether a filling of the inside joins all for a player that another does, in a full ring."""
    better, worse = joined(full, one), joined(full, other)
    own = [i for i, owner in enumerate(full) if owner == player]
    return all(worse[i] != worse[j] or better[i] == better[j] for i, j in product(own, own))


# ---- permanently inferior cells ------------------------------------------------------------------

FILLINGS: Final[list[Ring]] = list(product((1, 2), repeat=RHOMBUS))


@cache
def order(ring: Ring) -> frozenset[tuple[Ring, Ring]]:
    """Pairs of fillings of a rhombus of which the first joins all for player 1 that the other does.

    However the ring is completed.
    """
    if 0 in ring:
        i = ring.index(0)
        return order((*ring[:i], 1, *ring[i + 1 :])) & order((*ring[:i], 2, *ring[i + 1 :]))
    pairs = product(FILLINGS, FILLINGS)
    return frozenset((one, other) for one, other in pairs if joins_as_much(ring, one, other, 1))


@cache
def keeps_up(better: frozenset[tuple[Ring, Ring]], real: Ring, other: Ring, replies: bool) -> bool:
    """Whether one board is as good for player 1 as another, by what is inside a pattern.

    Player 1 wins on the other board, and plays on the real one by thinking of both. A move of the
    opponent inside is answered inside the real board, or taken for a move in the other board, where
    the winning strategy has a reply; and a reply inside the other board is answered in the same
    way. In the end all cells inside are filled, and if the filling of the real board joins as much,
    player 1 wins there too. (This is how games are compared in Selinger, "On the combinatorial
    value of Hex positions", 2022.) Where no cell is left inside, player 1, who is to move, has a
    move more than the strategy needs, which does no harm.

    Args:
        better: See `order`.
        real: The cells inside of the real board, 0 where it is empty.
        other: Those of the other board.
        replies: Whether player 1 is to reply; else the opponent is to move in the real board, or
            player 1's strategy in the other.
    """
    if 0 not in real + other:
        return (real, other) in better
    first, second = (1, 2) if replies else (2, 1)
    after = (
        *((changed, other) for _, changed in with_stone(real, first)),
        *((real, changed) for _, changed in with_stone(other, second)),
    )
    results = (keeps_up(better, *both, not replies) for both in after)
    return any(results) if replies else all(results)


def is_inferior(beyond: Ring) -> bool:
    """Whether a cell beside three stones of player 1 may be filled for player 1."""
    return keeps_up(order((*beyond, 1, 1, 1)), (0, 0, 0, 0), (1, 0, 0, 0), replies=False)


# ---- the tables ----------------------------------------------------------------------------------


def rings(count: int) -> list[Ring]:
    """All rings of so many cells, in the order of their numbers."""
    return [ring[::-1] for ring in product((0, 1, 2), repeat=count)]


def tables() -> dict[str, str]:
    """The tables as text, by name: what `agents.knowledge.hex.inferior` says of each ring."""
    cells, pairs = rings(RING), rings(PAIR_RING)
    killing = [(DEAD, DEAD) if is_dead(r) else (killers(r, 1), killers(r, 2)) for r in cells]
    dominance = [
        sum(dominates(ring, 1 + bit // 2, bit % 2) << bit for bit in range(4)) for ring in pairs
    ]
    return {
        "cells": "".join(f"{one & 0xFF:02x}{two & 0xFF:02x}" for one, two in killing),
        "pairs": "".join(str(is_captured(r, 1) | is_captured(r, 2) << 1) for r in pairs),
        "capturers": "".join(f"{capturers(r, 1):02x}{capturers(r, 2):02x}" for r in pairs),
        "dominance": "".join(f"{bits:x}" for bits in dominance),
        "inferior": "".join(str(int(is_inferior(beyond))) for beyond in rings(BEYOND)),
    }


def as_text() -> str:
    """The file of the tables."""
    return json.dumps(tables(), indent=1) + "\n"


def read_tables() -> dict[str, str]:
    """The tables of the file.

    Raises:
        ValueError: If it is another one than `SHA256` says: compiled code holds its numbers, and is
            kept by the text of this module.
    """
    data = FILE.read_bytes()
    if (found := hashlib.sha256(data).hexdigest()) != SHA256:
        raise ValueError(f"expected {FILE} with the SHA-256 {SHA256}, got {found}")
    return json.loads(data)


if __name__ == "__main__":
    FILE.write_text(as_text(), encoding="utf-8")
    print("SHA256 =", hashlib.sha256(FILE.read_bytes()).hexdigest())
