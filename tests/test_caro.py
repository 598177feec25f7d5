"""Caro: fives that are blocked at both ends, against the rule written another way."""

import re

import numpy as np
import pytest
from environments import JIT, random_states
from gomoku_oracles import line_cells, random_positions

from agents import RHMCTS, UCT, GomokuEngine, Gomokupert
from agents.core.knowledge import knowledge_of
from agents.knowledge.gomoku import board
from agents.knowledge.gomoku.threat_search import enter_defence, new_threat_search
from agents.knowledge.gomoku.threats import vcf, vct
from agents.planning.view import planner_view
from agents.solvers.solver import value
from hexenv import gomoku_v0
from hexenv.compiled import CompiledFunction
from hexenv.games import base, gomoku, notation
from hexenv.games.base import DRAW, EMPTY, IN_PLAY, NO_ACTION
from hexenv.testing import check_game

GAMES = [
    gomoku.new(size, connect, "caro")
    for size, connect in (((3, 7), 3), (5, 3), (6, 4), ((5, 9), 5), (7, 5), ((6, 8), 6))
]


# ---- the rule written another way ----------------------------------------------------------------


def wins_in(text, player, connect):
    """Whether a row in a line of ``X``, ``O`` and dots is longer, or has an end without a stone."""
    own, other = "XO"[player], "OX"[player]
    five = rf"(?<!{own}){own}{{{connect}}}(?!{own})"
    found = re.search(rf"{own}{{{connect + 1}}}|(?<!{other}){five}|{five}(?!{other})", text)
    return found is not None


def line_texts(owners, cell):
    """The four whole lines through a cell."""
    symbols = np.where(owners.ravel() == 0, "X", np.where(owners.ravel() == 1, "O", "."))
    for direction in range(4):
        cells, _ = line_cells(*owners.shape, cell, direction)
        yield "".join(symbols[cells])


def has_row(owners, cell, player, connect):
    """Whether a row of the player's wins on a line through the cell, if its stone is there."""
    after = owners.copy()
    after.flat[cell] = player
    return any(wins_in(text, player, connect) for text in line_texts(after, cell))


def slow_winner(owners, connect):
    found = {
        player
        for player in (0, 1)
        for cell in np.flatnonzero(owners == player)
        if has_row(owners, cell, player, connect)
    }
    assert len(found) < 2
    return found.pop() if found else IN_PLAY if EMPTY in owners else DRAW


def judge_cells(game, state, out):
    """Kernel: for either player whether a stone on the cell wins; on a stone, if it has won."""
    for cell in range(out.shape[1]):
        owner = game.owner(state, cell)
        for player in range(2):
            if owner == EMPTY:
                out[player, cell] = game.wins_at(state, player, cell)
            elif owner == player:
                out[player, cell] = game.completes(state, cell)


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_winners_of_random_games(game):
    ends = [random_states(game, seed) for seed in range(15)]
    for states in ends:
        for state in states[-9:]:
            owners = base.cell_owners(game, state)
            assert state.winner == slow_winner(owners, game.connect), owners
            if state.winner == IN_PLAY:
                legal = np.array(base.legal_actions(game, state))
                for player in (0, 1):
                    wins = [c for c in legal if has_row(owners, c, player, game.connect)]
                    found = game.winning_action(state, player, NO_ACTION, legal, len(legal))
                    assert found in wins if wins else found == NO_ACTION
    assert len({int(states[-1].winner) for states in ends}) > 1


@pytest.mark.parametrize(
    ("judge", "boards"),
    [
        (judge_cells, 60),
        pytest.param(CompiledFunction(judge_cells), 300, marks=pytest.mark.compiled(only=True)),
    ],
    ids=["interpreted", "compiled"],
)
def test_cells_of_random_boards(judge, boards):
    """Boards that no game leads to as well, with blocked rows and long ones."""
    rng = np.random.default_rng(2)
    blocked = longer = 0
    for _ in range(boards):
        rows, columns = (int(side) for side in rng.integers(6, 12, 2))
        game, standard = (gomoku.new((rows, columns), 4, rule) for rule in ("caro", "standard"))
        owners = rng.choice(3, (rows, columns), p=(0.45, 0.35, 0.2)).astype(np.int8)
        owners[owners == 2] = EMPTY
        state = base.new_state(game)
        for cell in np.flatnonzero(owners != EMPTY):
            game.place(state, int(cell), int(owners.flat[cell]))
        out = np.full((2, owners.size), -1)
        judge(game, state, out)
        for (player, cell), found in np.ndenumerate(out):
            if owners.flat[cell] in (EMPTY, player):
                assert found == has_row(owners, cell, player, 4), (owners, player, cell)
                if owners.flat[cell] == EMPTY:
                    exactly = standard.wins_at(state, player, cell)
                    blocked += exactly and not found
                    longer += found and not exactly
    assert min(blocked, longer) > boards // 2


# ---- cases ---------------------------------------------------------------------------------------

# Lines of a board from border to border, with black's last stone in small.
LINES = {
    "..XXxXX..": True,
    "OXXxXX...": True,  # blocked at one end
    "OXXxXXO..": False,
    "xXXXXO...": True,  # by the border and a stone
    "..OXXXXx": True,
    "XXxXX": True,  # by two borders
    "OXXxXX.XO": True,
    "OXXxXXXO.": True,  # six
    "OXXXxXXXXO": True,
    "XXXxXXXXO": True,
    "OXXXXXOxXXXX.": True,  # beside a five that is blocked
    "OXXXXXOxXXXXO": False,
    "OXXXXXOXxXXO": False,
    "OxXXXX..O": True,
    ".XXxX....": False,
}


@pytest.mark.parametrize("line", LINES)
def test_rows_in_all_directions(line):
    size = len(line)
    game = gomoku.new(size, rule="caro")
    for places in (
        [(2, n) for n in range(size)],
        [(n, 3) for n in range(size)],
        [(n, n) for n in range(size)],
        [(n, size - 1 - n) for n in range(size)],
    ):
        cells = [row * size + column for row, column in places]
        for player, (own, other) in enumerate(("XO", "OX")):
            state = base.new_state(game)
            for cell, symbol in zip(cells, line, strict=True):
                if symbol in "XO":
                    game.place(state, cell, "XO".index({"X": own, "O": other}[symbol]))
            last = cells[line.index("x")]
            assert game.wins_at(state, player, last) == LINES[line]
            game.place(state, last, player)
            assert game.completes(state, last) == LINES[line]


def test_a_five_that_is_blocked_does_not_end_the_game():
    env = gomoku_v0.raw_env(rule="caro")
    env.reset(options={"moves": "c8 b8 d8 h8 e8 a1 g8 a3 f8 o1"})
    assert not any(env.terminations.values())
    game = env.game
    env.reset(options={"moves": "c8 b8 d8 h8 e8 a1 g8 a3 f9 a5 f10 o1 f11 o3 f7 o5 f8"})
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    won = {game.action_text(cell) for cell in game.winning_cells(env.state)}
    assert won == {"f7", "f8", "f9", "f10", "f11"}  # and not those of the row, which are blocked
    saved = notation.from_bytes(game, notation.to_bytes(game, env.state))
    assert saved.winner == 0


@pytest.mark.parametrize(
    ("moves", "expected"),
    [("h8 h9 i8 i9 j8 j9 k8 k9", "g8 l8"), ("h8 f8 g8 f9 i8 f7 j8 l8", "")],
)
def test_positions_by_which_gomocup_tests_engines(moves, expected):
    """Of ``test_zip_rules.py`` of Gomocup's judge: in the second k8 does not win."""
    game = gomoku.new(15, rule="caro")
    state = notation.play(game, notation.parse_moves(game, moves))
    found = {c for c in range(225) if game.owner(state, c) == EMPTY and game.wins_at(state, 0, c)}
    assert {game.action_text(cell) for cell in found} == set(expected.split())


# ---- the game, and who plays it ------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("game", GAMES[:4], ids=str)
def test_contract(game):
    check_game(game, games=6 if JIT else 2)


def test_a_solver_proves_the_value():
    """Against all games, played to their end."""
    game = gomoku.new((3, 4), 3, "caro")
    assert knowledge_of(game).tactics(game) is None  # stops a win beside the winning cell as well

    def slow_value(state):
        if game.is_terminal(state):
            return int(game.outcome(state, game.to_play(state)))
        results = []
        for action in base.legal_actions(game, state):
            after = base.clone(game, state)
            game.step(after, action)
            results.append(-slow_value(after))
        return max(results)

    for moves in ("a1 b2 c3 d1 d2 c1 a3", "b2 b1 c2 a2 d1 d3", "a2 b2 c2 d2 a1 a3"):
        env = gomoku_v0.raw_env((3, 4), 3, "caro")
        env.reset(options={"moves": moves})
        assert value(env) == slow_value(env.state)


# ---- those that look for patterns ----------------------------------------------------------------


def stops_of(game, state, side):
    out = np.zeros(game.num_actions(), np.int32)
    return set(out[: board.list_stops(game, state, side, out)].tolist())


def test_a_four_with_a_stone_at_its_end_can_be_answered_beyond_it():
    game = board.new(gomoku.new(9, rule="caro"))
    moves = notation.parse_moves(game.rules, "b5 a5 c5 a9 d5 i9 e5")
    state = board.state_of(game, notation.play(game.rules, moves))
    assert {game.rules.action_text(cell) for cell in stops_of(game, state, 0)} == {"f5", "g5"}


@pytest.mark.compiled
@pytest.mark.parametrize("size", [(7, 4), (9, 5)])
def test_what_stops_a_five_is_what_the_rules_say(size):
    rules = gomoku.new(*size, "caro")
    game, counts = board.new(rules), set()
    for plain in random_positions(rules, 300 if JIT else 20, seed=4, least=10):
        state = board.state_of(game, plain)
        empty = [cell for cell in range(rules.num_actions()) if rules.owner(plain, cell) == EMPTY]
        for side in range(2):
            if not any(rules.wins_at(plain, side, cell) for cell in empty):
                assert stops_of(game, state, side) == set()
                continue
            expected = set()
            for stone in empty:
                after = base.clone(rules, plain)
                rules.place(after, stone, 1 - side)
                if not any(rules.wins_at(after, side, cell) for cell in empty if cell != stone):
                    expected.add(stone)
            before = state.tobytes()
            assert stops_of(game, state, side) == expected
            assert state.tobytes() == before
            counts.add(len(expected))
    assert not JIT or counts >= {0, 1, 2}


@pytest.mark.parametrize(
    "route", [pytest.param("compiled", marks=pytest.mark.compiled), "interpreted"]
)
def test_agents_know_that_a_five_can_be_blocked(route):
    """Black makes five at f5 and at g5: one stone at g5 stops both."""
    env = gomoku_v0.env(board_size=9, rule="caro")
    env.reset(options={"moves": "b5 a5 c5 a9 g1 i9 d5 i1 g2 a1 g3 e9 e5 c9 g4"})
    game = env.unwrapped.game
    trees = (RHMCTS(10, route=route), Gomokupert(5, route=route)) if route == "interpreted" else ()
    for agent in (GomokuEngine(depth=2, route=route), *trees):
        assert game.action_text(agent.act(env)) == "g5"
    env.reset(options={"moves": "d5 b5 e5 i5 f5 a1"})  # as an open three, a stone stops both fives
    assert vcf(env, route=route) is None
    env.reset(options={"moves": "d5 a1 e5 c2 f5 i9"})
    line = vct(env, route=route)
    assert [game.action_text(action) for action in line][::2] in (["g5", "h5"], ["c5", "b5"])
    for agent in (GomokuEngine(depth=2, route=route), UCT(10, threats=True, route=route)):
        assert agent.act(env) in line
    view = planner_view(env, route)
    assert knowledge_of(view.game).sure_win(view).player == 0


@pytest.mark.parametrize("moves", ["d5 a1 e5 i9 f6 a9 f7 i1", "a1 d5 i9 e5 a9 f6 i1 f7 e1"])
def test_two_open_threes_are_a_proven_win_for_either_side(moves):
    agent = GomokuEngine(depth=4, route="interpreted")
    env = gomoku_v0.env(board_size=9, rule="caro")
    env.reset(options={"moves": moves})
    assert env.unwrapped.game.action_text(agent.act(env)) == "f5"
    assert agent.statistics.proven == 1


def test_a_line_of_threats_ends_with_a_five_that_wins():
    rules = gomoku.new(11, rule="caro")
    game = board.new(rules)
    moves = "d11 b11 e11 i11 f11 a1 g11 c1 g10 e1 g9 i1 g8"
    state = notation.play(rules, notation.parse_moves(rules, moves))
    search = new_threat_search(game)
    game.copy(board.state_of(game, state), search.stack[1])
    assert enter_defence(game, search, 1, 0) > 0
    assert search.lengths[1] == 2
    for action in search.lines[1, :2]:
        rules.step(state, int(action))
    assert state.winner == 0
