"""Claims about what playouts and searches ask a game besides."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import CompiledFunction
from hexenv.games import base, notation
from hexenv.games.base import DRAW, IN_PLAY, NO_ACTION, Game, State
from hexenv.testing.log import UNTOUCHED, Played, used_state

FEW: Final = 3
"""With at most this number of legal actions, all results within as many plies are searched."""


def check_playouts(played: Played, seed: int) -> None:
    """Playouts from everywhere end, with a result that the position allows."""
    game, log = played.game, played.log
    seeds = range(seed, seed + 3)
    winners = [winners_of_playouts(game, log.states, one, random_playouts) for one in seeds]
    for ply, found in enumerate(np.transpose(winners).tolist()):
        possible = {IN_PLAY}
        if log.counts[ply] <= FEW:
            possible = _possible_winners(game, log.states[ply], FEW)
        if IN_PLAY in possible:
            possible = {0, 1, DRAW}
        for winner in set(found) - possible:
            claim = "winner after random_playout"
            played.fail(ply, claim, f"one of {possible}", winner)


def random_playouts(
    game: Any, states: Any, scratch: Any, rng: Any, buffer: Any, winners: Any
) -> None:
    """Kernel: one random playout from each of the states."""
    for number in range(len(states)):
        game.copy(states[number], scratch)
        game.random_playout(scratch, rng, buffer)
        winners[number] = scratch.winner


def winners_of_playouts(game: Game, states: Any, seed: int, run: Any) -> NDArray[np.int64]:
    """Who wins random playouts from the states, by `random_playouts` or its compiled form."""
    winners = np.full(len(states), UNTOUCHED, np.int64)
    buffer = np.empty(game.num_actions(), np.int32)
    run(game, states, used_state(game), np.random.default_rng(seed), buffer, winners)
    return winners


def _possible_winners(game: Game, state: State, plies: int) -> set[int]:
    """The results within `plies` plies; `IN_PLAY` among them where the game can go on."""
    if plies == 0 or game.is_terminal(state):
        return {int(state.winner)}
    found: set[int] = set()
    for action in base.legal_actions(game, state):
        after = base.clone(game, state)
        game.step(after, action)
        found |= _possible_winners(game, after, plies - 1)
    return found


DRAWS: Final = 3
"""Random actions at every ply."""

compiled_playouts = CompiledFunction(random_playouts, "the tests")


def check_moves(played: Played) -> None:
    """`next_actions`, `cell_of`, winning and random actions agree with what steps show."""
    game, actions, log = played
    legal, cells, wins, drawn = _followed(played, follow_moves, find_wins, draw_actions)
    for ply in range(len(actions) if log.ended[-1] else len(actions) + 1):
        found = [int(action) for action in legal[ply] if action != UNTOUCHED]
        expected = log.legal[ply, : log.counts[ply]].tolist()
        if sorted(found) != expected:
            played.fail(ply, "next_actions", expected, found)
        if not set(drawn[ply].tolist()) <= set(expected):
            played.fail(ply, "random_action", expected, drawn[ply].tolist())
        own = cells[ply, : len(found)]
        if len(set(own.tolist())) != len(own) or not ((own >= 0) & (own < game.num_cells())).all():
            claim = f"different ones from 0 to {game.num_cells() - 1}"
            played.fail(ply, "cell_of", claim, own.tolist())
        if ply < len(actions):
            _check_filled_cell(played, ply + 1, int(own[found.index(actions[ply])]))
        for player in range(wins.shape[1]):
            _check_winning_action(played, ply, player, int(wins[ply, player]))


def check_compiled_moves(played: Played) -> None:
    """The same verbs say as machine code what they say as Python."""
    slow = _followed(played, follow_moves, find_wins, draw_actions)
    compiled = _compiled_follow_moves, _compiled_find_wins, _compiled_draw_actions
    fast = _followed(played, *compiled)
    names = "next_actions", "cell_of", "winning_action", "random_action"
    for name, one, other in zip(names, slow, fast, strict=True):
        played.expect(f"{name} of machine code against Python", one, other)


def _followed(played: Played, follow: Any, find: Any, draw: Any) -> tuple[Any, Any, Any, Any]:
    game, actions, log = played
    shape = (len(actions) + 1, game.num_actions())
    legal, cells = np.full((2, *shape), UNTOUCHED, np.int32)
    scratch = np.empty(game.num_actions(), np.int32)
    follow(game, log.states, np.array(actions, np.int32), legal, cells, scratch)
    players = 2 if hasattr(game, "winning_action") else 0
    wins = np.full((len(actions) + 1, players), UNTOUCHED, np.int64)
    if players:
        find(game, log.states, log.legal, log.counts, wins)
    draws = DRAWS if hasattr(game, "random_action") else 0
    drawn = np.full((len(actions) + 1, draws), UNTOUCHED, np.int64)
    if draws:
        draw(game, log.states, np.random.default_rng(len(actions)), scratch, drawn)
    return legal, cells, wins, drawn


def _check_filled_cell(played: Played, ply: int, cell: int) -> None:
    """A stone was placed on the cell that `cell_of` said, unless that is beyond the board."""
    game, log = played.game, played.log
    is_cell = notation.has_stones(game) and cell < game.rows * game.columns
    if is_cell and cell != log.last_cells[ply]:
        played.fail(ply, "cell_of", log.last_cells[ply], cell)


def _check_winning_action(played: Played, ply: int, player: int, found: int) -> None:
    """What `winning_action` found wins, and where it found nothing, nothing does."""
    game: Any = played.game
    log = played.log
    state = log.states[ply]
    legal = log.legal[ply, : log.counts[ply]].tolist()
    winning = [action for action in legal if game.wins_at(state, player, action)]
    if found not in (winning or [NO_ACTION]):
        played.fail(ply, "winning_action", winning or [NO_ACTION], found)
    if player == game.to_play(state):
        for action in legal:
            reached = base.clone(game, state)
            game.step(reached, action)
            if (game.outcome(reached, player) > 0) != (action in winning):
                played.fail(ply, f"wins_at of {action}", action not in winning, None)


def follow_moves(
    game: Any, states: Any, actions: Any, legal: Any, cells: Any, scratch: Any
) -> None:
    """Kernel: at every ply of a game, the actions that `next_actions` keeps, and their cells."""
    count = game.legal_actions(states[0], scratch)
    for ply in range(len(actions) + 1):
        if ply > 0:
            played = 0
            while scratch[played] != actions[ply - 1]:
                played += 1
            count = game.next_actions(states[ply], scratch, count, played)
        if not game.is_terminal(states[ply]):
            for pick in range(count):
                legal[ply, pick] = scratch[pick]
                cells[ply, pick] = game.cell_of(states[ply], int(scratch[pick]))


def find_wins(game: Any, states: Any, legal: Any, counts: Any, wins: Any) -> None:
    """Kernel: what `winning_action` says at every ply; ``(plies + 1, 2)``, by player."""
    for ply in range(len(states)):
        if not game.is_terminal(states[ply]):
            for player in range(2):
                count = int(counts[ply])
                wins[ply, player] = game.winning_action(states[ply], player, -1, legal[ply], count)


def draw_actions(game: Any, states: Any, rng: Any, scratch: Any, drawn: Any) -> None:
    """Kernel: some random actions at every ply; ``(plies + 1, DRAWS)``."""
    for ply in range(len(states)):
        if not game.is_terminal(states[ply]):
            for i in range(drawn.shape[1]):
                drawn[ply, i] = game.random_action(states[ply], rng, scratch)


_compiled_draw_actions = CompiledFunction(draw_actions, "the tests")
_compiled_follow_moves = CompiledFunction(follow_moves, "the tests")
_compiled_find_wins = CompiledFunction(find_wins, "the tests")
