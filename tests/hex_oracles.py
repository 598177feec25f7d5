"""Who wins in Hex, by trying all games or by proofs that are checked; positions, as bits."""

import functools

import numpy as np

from agents.knowledge.hex.check_proof import check_proof
from agents.knowledge.hex.proofs import write_proof
from agents.knowledge.hex.solver import HexSolver
from agents.solvers.questions import Clock
from hexenv import hex_v0
from hexenv.games import base, hex
from hexenv.games.base import EMPTY


@functools.cache
def brute_force(rows, columns):
    """A function that tells who wins a position: stones of both players and the mover, as bits."""
    game = hex.new((rows, columns))

    @functools.cache
    def has_joined(player, stones):
        state = base.new_state(game)
        for cell in range(rows * columns):
            if stones >> cell & 1:
                game.place(state, cell, player)
        return game.has_joined(state, player)

    @functools.cache
    def winner(first, second, mover):
        for player, stones in enumerate((first, second)):
            if has_joined(player, stones):
                return player
        for cell in range(rows * columns):
            if not (first | second) >> cell & 1:
                move = 1 << cell
                child = (first, second | move) if mover else (first | move, second)
                if winner(*child, 1 - mover) == mover:
                    return mover
        return 1 - mover

    return winner


def exact_winner(size):
    """As `brute_force`, on larger boards: by the exact solver."""
    solver = HexSolver(hex.new(size), 1 << 20)

    def winner(first, second, mover):
        return solver.solve(first, second, mover, Clock())[0]

    return winner


def proven_winner(rows, columns, path, compiles=True):
    """The same by the solver, whose proof, in a file, is checked without it each time."""
    tool = HexSolver(hex.new((rows, columns)), compiles=compiles)

    @functools.cache
    def winner(first, second, mover):
        write_proof(tool, (first, second), mover, path, Clock())
        return check_proof(path)["winner"]

    return winner


def after(game, moves):
    """The position after some moves."""
    state = base.new_state(game)
    game.initial(state)
    for move in moves:
        game.step(state, int(move))
    return state


def as_bits(game, state):
    """The stones of both players."""
    return bits_of(base.cell_owners(game, state).ravel())


def bits_of(owners):
    """The stones of both players, by the owners of the cells."""
    return tuple(
        sum(1 << int(cell) for cell in np.flatnonzero(owners == player)) for player in (0, 1)
    )


def owners_of(bits, cells):
    """The owners of the cells by the stones of both players; and 0 and 1, for their sides."""
    owners = np.full(cells + 2, EMPTY, np.int8)
    for player in (0, 1):
        owners[[cell for cell in range(cells) if bits[player] >> cell & 1]] = player
        owners[cells + player] = player
    return owners


def wins_by(winner, bits, mover, cell):
    """Whether a move wins."""
    child = list(bits)
    child[mover] |= 1 << cell
    return winner(*child, 1 - mover) == mover


def wins_on(winner, bits, player, carrier, cells, mover, more=0):
    """Whether a player, given `more`, wins although all cells but a carrier are the opponent's."""
    assert carrier & (bits[0] | bits[1]) == 0
    rest = list(bits)
    rest[1 - player] |= ((1 << cells) - 1) & ~(bits[0] | bits[1] | carrier)
    rest[player] |= more
    return winner(*rest, mover) == player


def all_positions(cells):
    """All positions in which player 0 has as many stones or one more, won ones too."""
    for code in range(3**cells):
        owners = [code // 3**cell % 3 for cell in range(cells)]
        first = sum(1 << cell for cell in range(cells) if owners[cell] == 1)
        second = sum(1 << cell for cell in range(cells) if owners[cell] == 2)
        mover = first.bit_count() - second.bit_count()
        if mover in (0, 1):
            yield first, second, mover


def random_bits(rng, cells, least_empty=1, most_empty=None):
    """A random position: the stones of both players as bits, and the mover."""
    empty = int(rng.integers(least_empty, (most_empty or cells) + 1))
    order = rng.permutation(cells)[empty:].tolist()
    first, second = (sum(1 << cell for cell in order[player::2]) for player in (0, 1))
    return first, second, len(order) & 1


def random_position(size, stones, rng):
    """An environment after random moves, in which the game is not over."""
    env = hex_v0.env(board_size=size)
    while True:
        env.reset()
        for cell in rng.permutation(size * size)[:stones]:
            env.step(int(cell))
            if any(env.terminations.values()):
                break
        else:
            return env
