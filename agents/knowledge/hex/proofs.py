"""Writes a proof of who wins a position of Hex, for `agents.knowledge.hex.check_proof`.

A proof is a strategy of the winner. Its *nodes* are claims: "if the player owns these stones, and
these cells, the carrier, are empty, the player wins although the opponent moves first and is given
all other cells". A node has *replies*, each a move and an earlier node: the claim about what is
left after that move. What the opponent plays outside a reply's move and the carrier of its node
leaves that reply as it is. So all that must be checked of a node is that no cell is in all of its
replies: then each move of the opponent leaves one. A node without replies has at most
`LEAF_CELLS` cells, and is checked by playing all games on them.

The file has a line of JSON for the position:

    {"format": "hexenv proof of Hex", "version": 1, "rows": 5, "columns": 5,
     "stones": ["4", "0"], "to_move": 1, "winner": 1, "move": 12, "nodes": 40}

`stones` are those of player 0, who joins top and bottom, and of player 1, as numbers of base 16
whose bits are the cells, row by row. `move` is the winner's first move, null if none is needed.
Then each line is a node: its stones, its carrier, and for each reply the move and the number of its
node, which counts from 0. The last node is that of the position (after the move).
"""

import json
from pathlib import Path
from typing import Final

from agents.core.files import write_text
from agents.knowledge.hex.check_proof import FORMAT
from agents.knowledge.hex.h_search import NOWHERE
from agents.knowledge.hex.solver import HexSolver
from agents.solvers.questions import Clock

LEAF_CELLS: Final = 6
"""Of a node without replies, at most."""

Node = tuple[int, int, list[int]]
"""Stones, carrier, and moves and nodes in turn."""


def write_proof(
    solver: HexSolver, stones: tuple[int, int], mover: int, path: str | Path, clock: Clock
) -> tuple[int, int]:
    """Solve a position and write the proof of who wins it.

    Args:
        solver: Of the board.
        stones: Of player 0 and 1, as bits.
        mover: The player to move.
        path: Of the file.
        clock: The limits of all that is solved for it.

    Returns:
        The winner, and how many nodes the proof has.

    Raises:
        TimeoutError: If the time is over.
    """
    winner, lines = prove(solver, stones, mover, clock)
    write_text(path, "".join(line + "\n" for line in lines))
    return winner, len(lines) - 1


def prove(
    solver: HexSolver, stones: tuple[int, int], mover: int, clock: Clock
) -> tuple[int, list[str]]:
    """Solve a position: the winner, and the lines of the proof of it; see `write_proof`."""
    winner, carrier = solver.solve(*stones, mover, clock)
    found = int(solver.nodes.move[0])
    move = found if winner == mover and found != NOWHERE else None
    first = 0 if move is None else 1 << move
    proof = _Proof(solver, winner, clock)
    proof.add(stones[winner] | first, carrier & ~first)
    head = FORMAT.head(
        rows=solver.game.rows,
        columns=solver.game.columns,
        stones=[f"{own:x}" for own in stones],
        to_move=int(mover),
        winner=winner,
        move=move,
        nodes=len(proof.nodes),
    )
    nodes = ([f"{own:x}", f"{free:x}", *replies] for own, free, replies in proof.nodes)
    return winner, [json.dumps(head), *map(json.dumps, nodes)]


class _Proof:
    """The nodes of a proof, each after those of its replies."""

    def __init__(self, solver: HexSolver, player: int, clock: Clock) -> None:
        self.solver = solver
        self.player = player
        self.clock = clock
        self.nodes: list[Node] = []
        self._numbers: dict[tuple[int, int], int] = {}

    def add(self, own: int, free: int) -> int:
        """The number of the node of some stones and empty cells, which is added if it is new."""
        has_joined = self._solve(own, 0, 0)[0] == self.player
        free = 0 if has_joined else self._carrier(own, free, 1 - self.player)
        if (own, free) not in self._numbers:
            replies = self._replies(own, free) if free.bit_count() > LEAF_CELLS else []
            self._numbers[own, free] = len(self.nodes)
            self.nodes.append((own, free, replies))
        return self._numbers[own, free]

    def _replies(self, own: int, free: int) -> list[int]:
        """Replies to all moves in the carrier: first to none, then to what is in all of them."""
        replies: list[int] = []
        common, stone = free, 0
        while common:
            rest = free & ~stone
            move = self.reply(own, rest)
            number = self.add(own | 1 << move, rest & ~(1 << move))
            replies += [move, number]
            common &= self.nodes[number][1] | 1 << move
            stone = common & -common
        return replies

    def reply(self, own: int, free: int) -> int:
        """A winning move of the player, to whom all cells but these are lost."""
        carrier = self._carrier(own, free, self.player)
        move = int(self.solver.nodes.move[0])
        return move if move != NOWHERE else carrier.bit_length() - 1

    def _carrier(self, own: int, free: int, mover: int) -> int:
        """On which of some empty cells the player wins."""
        winner, carrier = self._solve(own, free, mover)
        if winner != self.player:
            raise RuntimeError(f"expected a win of player {self.player}, got one of {winner}")
        return carrier

    def _solve(self, own: int, free: int, mover: int) -> tuple[int, int]:
        """Who wins if the opponent has all other cells."""
        stones = [((1 << self.solver.cells) - 1) & ~own & ~free] * 2
        stones[self.player] = own
        return self.solver.solve(stones[0], stones[1], mover, self.clock)
