"""Games that get their next moves together: the loop of self-play, of the making of data, of duels.

Opponents of learners and searches in many games use the same table (`hexenv.games.table`).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import CompiledFunction
from hexenv.games.base import Game
from hexenv.games.table import (
    GOES_ON,
    GameTable,
    Which,
    compiled_play_in_games,
    compiled_write_movers,
)


class Moves(NamedTuple):
    """What a player found in n positions."""

    actions: NDArray[np.int64]
    """``(n,)``: those that it found best."""
    shares: NDArray[Any]
    """``(n, num_actions())``: visits of the actions, or a policy."""
    values: NDArray[np.float32]
    """``(n,)``: of the positions for the player to move, -1 to 1; NaN where it has none."""


class ManyPlayer:
    """An agent that plays many games at once: what its `play_many` has made."""

    def __init__(self, many: Any) -> None:
        self._many = many

    def begin(self, number: int, seed: int) -> None:
        """Prepare for a game that begins in one place."""
        self._many.reset(number, seed)

    def act(self, table: GameTable, which: Which) -> Moves:
        """Choose moves in some of the games."""
        chosen = self._many.act(table, which)
        return Moves(chosen, *self._many.found(which, chosen))


class Lockstep:
    """Games side by side; subclasses say how moves are chosen, and what follows the end of a game.

    Attributes:
        game: Their rules.
        table: N games.
        players: Who plays in them, by number.
        sides: ``(N, 2)``: the numbers of those who are player 0 and 1.
        playing: ``(N,)``: the games that go on.
    """

    def __init__(self, game: Game, table: GameTable, players: Sequence[Any]) -> None:
        count = len(table.lengths)
        self.game, self.table, self.players = game, table, players
        self.playing = np.ones(count, np.bool_)
        self.sides = np.zeros((count, 2), np.int16)
        self._movers = np.zeros(count, np.int8)

    def play_ply(self) -> None:
        """Let every player move in the games in which it is to move."""
        self.call(compiled_write_movers, self.table.states, self._movers)
        which = np.flatnonzero(self.playing)
        players = self.sides[which, self._movers[which]]
        for player in range(len(self.players)):
            mine = which[players == player]
            if mine.size:
                self._move(player, mine)

    def to_end(self) -> None:
        """Play until no game goes on."""
        while self.playing.any():
            self.play_ply()

    def call(self, function: CompiledFunction, *arguments: Any) -> Any:
        """Run a kernel on the game and arguments: as machine code where the game compiles."""
        return function.fitting(self.game)(self.game, *arguments)

    def _move(self, player: int, which: Which) -> None:
        actions, outcomes = self.choose(player, which), np.zeros(len(which), np.int8)
        self.call(compiled_play_in_games, self.table, which, actions, outcomes)
        for place in np.flatnonzero(outcomes != GOES_ON).tolist():
            self.end(int(which[place]), int(outcomes[place]))

    def choose(self, player: int, which: Which) -> NDArray[Any]:
        """The moves, ``(n,)``, of a player in some of the games; its notes are made here."""
        raise NotImplementedError

    def end(self, number: int, outcome: int) -> None:
        """Note how one of the games ended for player 0; another may begin in its place."""
        raise NotImplementedError
