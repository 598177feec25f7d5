"""The patterns of inferior cells, derived: ``python -m agents.knowledge.hex.patterns`` writes them.

A pattern is a cell, or two cells side by side, with the ring of cells around, each of which is
empty or one of the players'. A stone can matter to the game only by what it joins: so two fillings
of the inside are equally good if, however the ring is completed, the same stones of the ring are
joined by what is within. This module simply tries all completions.

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

(Bjornsson, Hayward, Johanson and van Rijswijck, "Dead cell analysis in Hex and the Shannon game",
2006; Henderson and Hayward, "Captured-reversible moves and star-decomposition domination in Hex",
2013.) The tables are in `agents.knowledge.hex.pattern_tables`.

A ring is numbered by its cells as digits of base 3, the first the lowest: 0 for empty, 1 and 2 for
player 0 and 1. That of one cell goes clockwise from below, as `AROUND` of
`agents.knowledge.hex.h_search`. That of a cell and its neighbour in one of these directions goes
clockwise around both, from the first cell's next direction.
"""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Final

RING: Final = 6
"""Cells around one cell."""
PAIR_RING: Final = 8
"""Cells around two neighbours."""
DEAD: Final = -1
"""In place of the cells that kill a cell, where it is dead as it is."""
OUTPUT: Final = Path(__file__).with_name("pattern_tables.py")

Ring = tuple[int, ...]
"""The owners of its cells: 0 empty, 1 and 2 the players."""


def edges(inside: int) -> list[tuple[int, int]]:
    """Which cells of a pattern are neighbours: those of the ring first, then those inside."""
    count = RING if inside == 1 else PAIR_RING
    found = [(i, (i + 1) % count) for i in range(count)]
    if inside == 1:
        return found + [(i, count) for i in range(count)]
    found += [(i, count) for i in (0, 1, 2, 3, 4)] + [(i, count + 1) for i in (4, 5, 6, 7, 0)]
    return [*found, (count, count + 1)]


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
    found = 0
    for i, owner in enumerate(ring):
        if owner == 0 and is_dead((*ring[:i], player, *ring[i + 1 :])):
            found |= 1 << i
    return found


def is_captured(ring: Ring, player: int) -> bool:
    """Whether a player (1 or 2) answers both stones of the opponent in a pair of cells."""
    both = (player, player)
    return all(
        are_equal(ring, mixed, both) for mixed in ((player, 3 - player), (3 - player, player))
    )


def capturers(ring: Ring, player: int) -> int:
    """The empty cells of the ring on which a stone of a player captures the pair, as bits."""
    found = 0
    for i, owner in enumerate(ring):
        if owner == 0 and is_captured((*ring[:i], player, *ring[i + 1 :]), player):
            found |= 1 << i
    return found


def dominates(ring: Ring, player: int, cell: int) -> bool:
    """Whether one of two cells, 0 or 1, dominates the other for a player."""
    with_cell = (player, 3 - player) if cell == 0 else (3 - player, player)
    for full in completions(ring):
        better, worse = joined(full, with_cell), joined(full, with_cell[::-1])
        own = [i for i, owner in enumerate(full) if owner == player]
        for i, j in product(own, own):
            if worse[i] == worse[j] and better[i] != better[j]:
                return False
    return True


def rings(count: int) -> list[Ring]:
    """All rings of so many cells, in the order of their numbers."""
    return [ring[::-1] for ring in product((0, 1, 2), repeat=count)]


def ring_table() -> list[tuple[int, int]]:
    """For each ring of one cell, where player 0 and player 1 kill it; see `DEAD`."""
    return [
        (DEAD, DEAD) if is_dead(ring) else (killers(ring, 1), killers(ring, 2))
        for ring in rings(RING)
    ]


def pair_table() -> list[int]:
    """For each ring of two cells, bit 0 if player 0 captures them, bit 1 if player 1 does."""
    return [is_captured(ring, 1) | is_captured(ring, 2) << 1 for ring in rings(PAIR_RING)]


def capturer_table() -> list[tuple[int, int]]:
    """For each ring of two cells, where player 0 and player 1 capture them."""
    return [(capturers(ring, 1), capturers(ring, 2)) for ring in rings(PAIR_RING)]


def dominance_table() -> list[int]:
    """For each ring of two cells, bit ``2 * player + cell``: whether that cell dominates."""
    return [
        sum(dominates(ring, 1 + bit // 2, bit % 2) << bit for bit in range(4))
        for ring in rings(PAIR_RING)
    ]


def as_text() -> str:
    """The module of the tables."""
    cells = "".join(f"{first & 0xFF:02x}{second & 0xFF:02x}" for first, second in ring_table())
    pairs = "".join(map(str, pair_table()))
    stones = "".join(f"{first:02x}{second:02x}" for first, second in capturer_table())
    better = "".join(f"{bits:x}" for bits in dominance_table())
    return (
        '"""Made by ``python -m agents.knowledge.hex.patterns``, which says what it means."""\n\n'
        + _constant(
            "CELLS", cells, "Four digits a ring: where player 0 kills, where player 1 does."
        )
        + "\n"
        + _constant("PAIRS", pairs, "One digit a ring: who captures both cells.")
        + "\n"
        + _constant("CAPTURERS", stones, "Four digits a ring: where each player captures them.")
        + "\n"
        + _constant("DOMINANCE", better, "One digit a ring: which cell is as good, for whom.")
    )


def _constant(name: str, digits: str, words: str) -> str:
    lines = [f'    "{digits[i : i + 88]}"\n' for i in range(0, len(digits), 88)]
    return f'{name} = (\n{"".join(lines)})\n"""{words}"""\n'


if __name__ == "__main__":
    OUTPUT.write_text(as_text(), encoding="utf-8")
