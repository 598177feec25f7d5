"""Many games side by side: their table, and the loop that plays them."""

import numpy as np
import pytest
from environments import make

from agents.learning.data.lockstep import Lockstep
from hexenv.games.table import (
    GOES_ON,
    compiled_begin_game,
    compiled_play_in_games,
    compiled_replay_game,
    new_table,
)

GAME = make("tictactoe").unwrapped.game


def call(kernel, *arguments):
    kernel.fitting(GAME)(GAME, *arguments)


def test_random_beginnings_are_those_of_their_moves():
    table, other, rng = new_table(GAME, 50), new_table(GAME, 50), np.random.default_rng(0)
    for number in range(50):
        call(compiled_begin_game, table, number, number % 9, rng)
    assert set(table.lengths.tolist()) <= set(range(9))
    assert (table.lengths[:5] == range(5)).all()  # too short to end a game
    assert (table.lengths[5:] == 0).any()  # the game would have ended
    other.actions[:], other.lengths[:] = table.actions, table.lengths
    for number in range(50):
        call(compiled_replay_game, other, number)
    assert (other.states == table.states).all()
    assert (other.states["winner"] == other.states["winner"][0]).all()  # all are in play


@pytest.mark.parametrize("keeps", [True, False])
def test_moves_are_played_in_the_games_asked_for(keeps):
    table = new_table(GAME, 3)
    if not keeps:
        table = table._replace(actions=np.zeros((3, 0), np.int32))
    which, outcomes = np.array([2, 0]), np.zeros(2, np.int8)
    for actions in ([0, 8], [3, 7], [1, 5], [4, 6], [2, 4]):
        assert (outcomes != -1).all()
        call(compiled_play_in_games, table, which, np.array(actions), outcomes)
    assert outcomes.tolist() == [1, GOES_ON]
    assert table.states["ply"].tolist() == [5, 0, 5]
    assert table.lengths.tolist() == ([5, 0, 5] if keeps else [0, 0, 0])
    assert not keeps or table.actions[2, :5].tolist() == [0, 3, 1, 4, 2]


class FillingCells(Lockstep):
    """Two players who fill the cells from the first on, and swap sides from game to game."""

    def __init__(self):
        super().__init__(GAME, new_table(GAME, 4), ["first", "second"])
        self.sides[:] = [[0, 1], [1, 0], [0, 1], [1, 0]]
        self.playing[3] = False
        self.asked, self.ended = [], []

    def choose(self, player, which):
        self.asked.append((self.players[player], which.tolist()))
        return np.array([self.table.states[number].ply for number in which])

    def end(self, number, outcome):
        self.ended.append((number, outcome))
        self.playing[number] = False


def test_every_player_moves_where_it_is_to_move_until_no_game_goes_on():
    games = FillingCells()
    games.play_ply()
    assert games.asked == [("first", [0, 2]), ("second", [1])]
    games.play_ply()
    assert games.asked[2:] == [("first", [1]), ("second", [0, 2])]
    games.to_end()
    assert games.ended == [(0, 1), (2, 1), (1, 1)]
    assert games.table.lengths.tolist() == [7, 7, 7, 0]
