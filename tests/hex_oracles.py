"""Who wins in Hex, by trying all games or by proofs that are checked; positions, as bits."""

import functools

from agents.knowledge.hex.check_proof import check_proof
from agents.knowledge.hex.proofs import write_proof
from agents.knowledge.hex.solver import HexSolver
from agents.solvers.questions import Clock
from hexenv.games import base, hex


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


def proven_winner(rows, columns, path):
    """The same by the solver, whose proof, in a file, is checked without it each time."""
    tool = HexSolver(hex.new((rows, columns)))

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
    owners = base.cell_owners(game, state).ravel().tolist()
    return tuple(
        sum(1 << cell for cell, owner in enumerate(owners) if owner == player) for player in (0, 1)
    )


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
