"""Exact play: against solved positions, known truths of games, and itself in plain Python."""

import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from archives import about, rewritten
from environments import theirs

from agents import RandomAgent
from agents.arena import play_match
from agents.knowledge.connect4.book import load_book, new_book, opening_positions, save_book
from agents.knowledge.connect4.game_knowledge import BOOK
from agents.knowledge.connect4.grid import (
    claimeven,
    has_four,
    mirrored,
    new_grid,
    position_key,
    safe_moves,
    winning_cells,
)
from agents.knowledge.connect4.solver import Connect4Solver, new_table
from agents.solvers.alphabeta import PLY_COST, WIN, AlphaBeta, ZeroEvaluation
from agents.solvers.exhaustive import ExhaustiveSolver, LineTactics, NoTactics
from agents.solvers.questions import Clock, sign
from agents.solvers.solver import Question, Solver, best_actions, build_book, scores, value
from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0
from hexenv.compiled import compiled
from hexenv.compiled.bits import count_bits
from hexenv.games import base, connect4, gomoku, notation, tictactoe

DATA = Path(__file__).parents[1] / "agents" / "arena" / "positions"
needs_compiler = pytest.mark.compiled(only=True)


def played(env, moves=None):
    """The environment, reset and with these moves played."""
    env.reset(options={"moves": moves} if moves else None)
    return env


def tictactoe_on(board, kind=tictactoe_v0.raw_env):
    env = kind()
    env.reset(options={"board": f"{board[:3]}/{board[3:6]}/{board[6:]}"})
    return env


def connect4_positions(at_least=0):
    """The solved positions: moves, and a score by column where it is not full."""
    found = []
    for line in (DATA / "connect4.jsonl").read_text(encoding="utf-8").splitlines():
        solved = json.loads(line)
        if len(solved["moves"]) >= at_least:
            by_column = {c: s for c, s in enumerate(solved["scores"]) if s is not None}
            found.append((solved["moves"], by_column))
    return found


def best_of(values):
    """The best value, and the actions that have it."""
    best = max(values.values())
    return best, [action for action in values if values[action] == best]


def position(game, *actions):
    return notation.play(game, actions)


# ---- TicTacToe -----------------------------------------------------------------------------------


@needs_compiler
def test_every_position_of_tictactoe():
    solved = json.loads((DATA / "tictactoe.json").read_text(encoding="utf-8"))
    assert len(solved) == 4_520
    tool = ExhaustiveSolver(tictactoe.new(), LineTactics(), 1 << 14)
    wrong = []
    for number, (board, answer) in enumerate(solved.items()):
        env = tictactoe_on(board)
        found = best_of(tool.values(env.state, Clock()))
        expected = (answer["value"], answer["optimal"])
        if found != expected:
            wrong.append((board, found))
        if number % 20 == 0:
            assert (value(env), best_actions(env)) == expected
    assert wrong == []


def test_scores_of_tictactoe_count_stones():
    env = tictactoe_on("XX.OO....")
    assert scores(env) == {2: 3, 5: 0, 6: -3, 7: -3, 8: -3}  # won with the third stone, by either
    env = tictactoe_on("X..O.....")
    found = scores(env)
    assert max(found.values()) == 2  # by a fork, with the fourth stone
    assert best_actions(env) == [action for action, score in found.items() if score > 0]


# ---- Connect4 ------------------------------------------------------------------------------------


@needs_compiler
@pytest.mark.parametrize(
    ("at_least", "count"), [(20, 403), pytest.param(0, 560, marks=pytest.mark.slow)]
)
def test_every_column_of_the_solved_positions_of_connect4(at_least, count):
    tool = Connect4Solver(connect4.new())
    positions = connect4_positions(at_least)
    assert len(positions) == count
    for moves, expected in positions:
        state = played(connect4_v0.raw_env(), moves).state
        assert tool.scores(state, Clock()) == expected, moves


def test_values_and_best_actions_of_connect4():
    for moves, expected in connect4_positions(at_least=30)[:20]:
        env = played(connect4_v0.env(), moves)
        assert scores(env) == expected
        values = {action: sign(score) for action, score in expected.items()}
        assert (value(env), best_actions(env)) == best_of(values)


@pytest.mark.compiled
def test_the_solver_compiled_and_interpreted():
    tools = [Connect4Solver(connect4.new(), 1 << 14, compiles) for compiles in (True, False)]
    positions = connect4_positions(at_least=31)[:40]
    assert len(positions) == 40
    for moves, expected in positions:
        state = played(connect4_v0.raw_env(), moves).state
        clocks = Clock(), Clock()
        for tool, clock in zip(tools, clocks, strict=True):
            assert tool.scores(state, clock) == expected
        assert clocks[0].nodes == clocks[1].nodes
    tables = [tool.nodes.table.entries for tool in tools]
    assert (tables[0] == tables[1]).all()
    assert tables[0].any()


@needs_compiler
@pytest.mark.parametrize("size", [(4, 4), (4, 5), (5, 4), (3, 6), (7, 3), (2, 7), (1, 5), (4, 1)])
def test_connect4_on_other_boards_by_both_solvers(size):
    game = connect4.new(*size)
    own = Connect4Solver(game, 1 << 18)
    general = ExhaustiveSolver(game, LineTactics(), 1 << 18)
    rng = np.random.default_rng(sum(size))
    compared = 0
    for _ in range(6):
        state = base.new_state(game)
        for _ in range(int(rng.integers(0, 8))):
            legal = base.legal_actions(game, state)
            if legal:
                game.step(state, int(rng.choice(legal)))
        if not game.is_terminal(state):
            assert own.scores(state, Clock()) == general.scores(state, Clock())
            compared += 1
    assert compared > 0


@pytest.mark.parametrize("size", [(8, 7), (6, 9), (20, 3)])
def test_boards_of_63_bits(size):
    env = connect4_v0.raw_env(rows=size[0], columns=size[1])
    env.reset()
    right = size[1] - 1
    for action in (right, 0, right, 0, right):
        env.step(action)
    env.step(0)
    assert value(env) == 1
    state = env.state
    grid = new_grid(*size)
    wins = winning_cells(grid, int(state.stones[0]))
    assert wins & env.game.top(state, right) != 0  # four on top of each other
    taken = int(state.stones[0] | state.stones[1])
    safe = safe_moves(grid, int(state.stones[0]), taken)
    assert safe == env.game.top(state, 0)  # or the other has four


def test_bits():
    grid, game = new_grid(6, 7), connect4.new()
    assert count_bits(2**63 - 1) == 63
    for moves, _ in connect4_positions(at_least=20)[:80]:
        state = played(connect4_v0.raw_env(), moves).state
        for player in (0, 1):
            bits = int(state.stones[player])
            assert count_bits(bits) == bin(bits).count("1")
            assert not has_four(grid, bits)
            assert mirrored(grid, bits) != bits
            assert mirrored(grid, mirrored(grid, bits)) == bits
            wins = winning_cells(grid, bits)
            for cell in range(42):
                if game.owner(state, cell) == base.EMPTY:
                    bit = 1 << game.bit(cell)
                    assert (
                        bool(wins & bit) == game.has_line(bits | bit) == has_four(grid, bits | bit)
                    )


def test_only_moves_after_which_the_opponent_does_not_win_are_safe():
    game = connect4.new()
    grid = new_grid(6, 7)
    checked = 0
    for moves, _ in connect4_positions(at_least=20)[:60]:
        state = played(connect4_v0.raw_env(), moves).state
        player = int(state.ply) & 1
        mine = int(state.stones[player])
        safe = safe_moves(grid, mine, int(state.stones[0] | state.stones[1]))
        for action in base.legal_actions(game, state):
            top = game.top(state, action)
            child = base.clone(game, state)
            game.step(child, action)
            if game.outcome(child, player) == 1:
                break
            replies = base.legal_actions(game, child)
            loses = any(game.wins_at(child, 1 - player, reply) for reply in replies)
            assert bool(safe & top) == (not loses)
            checked += 1
    assert checked > 100


def test_claimeven_is_a_bound():
    game, grid = connect4.new(), new_grid(6, 7)
    tool = Connect4Solver(game, 1 << 14)
    found = {0: 0, -1: 0}
    rng = np.random.default_rng(5)
    while min(found.values()) < 2:
        state = base.new_state(game)
        while not game.is_terminal(state):
            if state.ply >= 26 and state.ply % 2 == 0:
                mine = int(state.stones[0])
                taken = mine | int(state.stones[1])
                has_win = winning_cells(grid, mine) & (taken + grid.floor) & ~taken
                bound = claimeven(grid, mine, taken)
                if bound in found and not has_win:
                    found[bound] += 1
                    assert tool.score(state, Clock()) <= bound
            game.step(state, int(rng.choice(base.legal_actions(game, state))))


def test_the_table_is_as_large_as_asked_for_or_as_is_of_use():
    assert len(new_table(new_grid(6, 7), 1 << 16).entries) == 1 << 16
    assert len(new_table(new_grid(6, 7), (1 << 17) - 1).entries) == 1 << 16
    assert len(new_table(new_grid(2, 2), 1 << 16).entries) == 1 << 7
    keys = {position_key(new_grid(1, 2), mine, taken) for mine, taken in ((0, 0), (0, 1), (1, 1))}
    assert len(keys) == 3


def test_other_lines_than_of_four():
    with pytest.raises(ValueError, match="connects 4"):
        Connect4Solver(connect4.new(4, 4, 3))
    assert value(played(connect4_v0.env(rows=4, columns=4, connect=3))) == 1
    with pytest.raises(ValueError, match="at most 25 plies, got Connect4"):
        value(played(connect4_v0.env(connect=5)))


@pytest.mark.slow
@needs_compiler
def test_perfect_play_of_connect4_wins_for_the_first_player_on_ply_41():
    env = played(connect4_v0.raw_env())
    solver = Solver(table_entries=1 << 26, seed=0)
    values = []
    while not any(env.terminations.values()):
        action = solver.act(env)
        values.append(solver.statistics.proven)
        env.step(action)
    assert env.actions[0] == 3
    assert values == [1, -1] * 20 + [1]
    assert len(env.actions) == 41
    assert env.rewards == {"player_0": 1, "player_1": -1}


# ---- m,n,k games ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("board_size", "connect", "expected"),
    [(3, 3, 0), ((4, 3), 3, 1), ((3, 4), 3, 1), pytest.param(4, 4, 0, marks=needs_compiler)],
)
def test_known_values_of_games_of_lines(board_size, connect, expected):
    assert value(played(gomoku_v0.env(board_size=board_size, connect=connect))) == expected


def scored_by(tools, state):
    """The scores that all of some solvers find alike, and how many positions each has searched."""
    clocks = [Clock() for _ in tools]
    found = [tool.scores(state, clock) for tool, clock in zip(tools, clocks, strict=True)]
    assert found == found[:1] * len(tools)
    return [clock.nodes for clock in clocks]


def test_tactics_change_no_score():
    game = gomoku.new((3, 4), 3)
    tools = [ExhaustiveSolver(game, tactics, 1 << 12) for tactics in (LineTactics(), NoTactics())]
    with_tactics, without = scored_by(tools, position(game, 0))
    assert with_tactics < without


@pytest.mark.parametrize("game", [tictactoe.new(), connect4.new(3, 4, 3), gomoku.new(3, 3)])
def test_the_exhaustive_search_compiled_and_interpreted(game):
    tools = [ExhaustiveSolver(game, NoTactics(), 1 << 10, compiles) for compiles in (True, False)]
    compiled_nodes, plain_nodes = scored_by(tools, position(game, 0, 1))
    assert compiled_nodes == plain_nodes > 0
    assert (tools[0].nodes.table.hashes == tools[1].nodes.table.hashes).all()


def test_a_game_that_is_too_large_is_refused():
    with pytest.raises(ValueError, match="at most 25 plies, got Gomoku"):
        value(played(gomoku_v0.env()))
    with pytest.raises(ValueError, match="Hex of at most 49 cells, got 8 x 8"):
        value(played(hex_v0.env(board_size=8)))


# ---- the agent -----------------------------------------------------------------------------------


def test_the_agent_plays_at_random_among_the_optimal_actions():
    env = tictactoe_on("X........", tictactoe_v0.env)
    assert best_actions(env) == [4]
    assert {Solver("optimal", seed=seed).act(env) for seed in range(5)} == {4}
    start = played(tictactoe_v0.env())
    solver = Solver("optimal", seed=0)
    assert {solver.act(start) for _ in range(100)} == set(range(9))
    chosen = []
    for _ in range(2):
        solver.reset(seed=7)
        chosen.append([solver.act(start) for _ in range(8)])
    assert chosen[0] == chosen[1]


def test_the_agent_wins_at_once_or_at_all():
    env = tictactoe_on("XX.OO....")
    assert {Solver("best", seed=seed).act(env) for seed in range(10)} == {2}
    env = played(connect4_v0.env(rows=4), "4433")  # X makes three in a row, open at both ends
    found = scores(env)
    best, quickest = best_of(found)
    assert best == 15 - 4
    assert {Solver("best", seed=seed).act(env) for seed in range(4)} == set(quickest)
    winning = {action for action, score in found.items() if score > 0}
    assert {Solver("optimal", seed=seed).act(env) for seed in range(12)} == winning


def test_the_statistics_of_the_agent():
    env = tictactoe_on("XOX......", tictactoe_v0.env)
    solver = Solver(seed=0)
    assert solver.statistics is None
    solver.prepare(env)
    action = solver.act(env)
    assert action == 4
    found = solver.statistics
    assert found.values.tolist() == [0, 0, 0, -1, 0, -1, -1, -1, -1]
    assert found.visits.tolist() == [0, 0, 0, 1, 1, 1, 1, 1, 1]
    assert found.proven == 0
    assert found.principal_variation == [4]
    assert found.seconds > 0
    solver.reset()
    assert solver.statistics is None


def test_two_solvers_of_tictactoe_draw_and_leave_the_environment_alone():
    env = played(tictactoe_v0.env())
    solvers = {"player_0": Solver(seed=1), "player_1": Solver("optimal", seed=2)}
    while env.agents and not any(env.terminations.values()):
        before = env.unwrapped.to_bytes()
        action = solvers[env.agent_selection].act(env)
        assert env.unwrapped.to_bytes() == before
        env.step(action)
    assert env.rewards == {"player_0": 0, "player_1": 0}


def test_positions_without_a_choice_are_refused():
    env = tictactoe_v0.env()
    with pytest.raises(ValueError, match="before reset"):
        value(env)
    env = played(tictactoe_v0.env(), "1 4 2 5 3")
    for ask in (value, best_actions, scores, Solver().act):
        with pytest.raises(ValueError, match="game is over"):
            ask(env)


def test_when_the_time_is_over():
    env = played(connect4_v0.env(), "123456712")  # one ply beyond the book
    solver = Solver(seconds=0.01, seed=0)
    assert solver.act(env) in range(7)
    assert solver.statistics.proven is None
    assert solver.statistics.simulations >= solver.statistics.visits.sum() > 0
    for ask in (value, best_actions, scores):
        with pytest.raises(TimeoutError, match=r"within 0\.01 s, got no answer after [1-9]"):
            ask(env, seconds=0.01)
    late = played(connect4_v0.env(), connect4_positions(at_least=36)[0][0])
    assert solver.act(late) in best_actions(late)  # nothing is left of the search cut short


def test_a_guess_follows_what_was_found_in_time(monkeypatch):
    def ends_after(found):
        def values(question):
            question.found |= found
            raise TimeoutError

        monkeypatch.setattr(Question, "values", values)

    env = played(connect4_v0.env())
    solver = Solver(seconds=0.02, seed=0)
    ends_after({})
    favourite = solver.act(env)
    assert solver.statistics.proven is None
    ends_after({0: -1, 6: -1, favourite: -1})
    assert solver.act(env) not in (0, 6, favourite)
    assert solver.statistics.values[favourite] == -1
    assert solver.statistics.proven is None
    ends_after({2: 0, 5: 1})
    assert solver.act(env) == 5
    assert (solver.statistics.proven, solver.statistics.values[5]) == (1, 1)
    assert solver.statistics.principal_variation[0] == 5


def test_a_solver_without_time_plays_matches_and_loses_none_by_that():
    env = connect4_v0.env(rows=5, columns=5)
    result = play_match(env, [Solver(seconds=0.002, seed=1), RandomAgent(2)], 2)
    assert [game.forfeit for game in result] == [None, None]


# ---- environments of others ----------------------------------------------------------------------


def test_pettingzoos_tictactoe():
    env = theirs("tictactoe").env()
    env.reset()
    # Their cells go down the columns; the corners and the centre are where they are in ours.
    for action in (0, 4, 8):
        env.step(action)
    shown = env.observe(env.agent_selection)["observation"].copy()
    assert value(env) == 0
    assert best_actions(env) == [1, 3, 5, 7]
    assert Solver("optimal", seed=0).act(env) in (1, 3, 5, 7)
    assert (env.observe(env.agent_selection)["observation"] == shown).all()
    ours = played(tictactoe_v0.env(), "1 5 9")
    assert best_actions(ours) == [1, 3, 5, 7]
    env.step(2)
    assert value(env) == 1
    assert best_actions(env) == [6]
    assert scores(env)[6] == 101 - 2  # with the second stone from here


def test_a_route_through_the_environment():
    env = tictactoe_on("XX.OO....", tictactoe_v0.env)
    solvers = [Solver(route=route, seed=0) for route in ("auto", "environment")]
    assert [solver.act(env) for solver in solvers] == [2, 2]
    direct, through = (solver.statistics.values for solver in solvers)
    assert (through == direct).all()


def test_an_environment_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("agents.solvers.solver.FOREIGN_NODES", 500)
    env = theirs("tictactoe").env()
    env.reset()
    with pytest.raises(ValueError, match="expected a game that is solved within 500 positions"):
        value(env)


# ---- opening books -------------------------------------------------------------------------------


def test_the_own_book_has_the_counts_of_others():
    """John Tromp's, of the positions after 8 plies in which no move wins at once or is forced.

    https://tromp.github.io/c4/c4.html: of 67,557 the first player wins 44,473, loses 16,635.
    """
    book, grid = load_book(BOOK), new_grid(6, 7)
    assert (book.rows, book.columns, book.plies, book.finished) == (6, 7, 8, True)
    mine, taken = np.zeros_like(book.keys), np.zeros_like(book.keys)
    for column in range(7):  # of a key: my stones, and a bit above them all
        bits = book.keys >> (7 * column) & 127
        heights = np.log2(bits).astype(np.int64)
        mine |= (bits - (1 << heights)) << (7 * column)
        taken |= ((1 << heights) - 1) << (7 * column)
    free = (taken + grid.floor) & ~taken
    threats = winning_cells(grid, mine) | winning_cells(grid, taken ^ mine)
    is_quiet = (np.bitwise_count(taken) == 8) & (threats & free == 0)
    scores = book.scores[is_quiet]
    assert len(scores) == 67_557
    assert [int((np.sign(scores) == sign).sum()) for sign in (1, -1, 0)] == [44_473, 16_635, 6_449]


def test_the_usual_board_is_solved_at_once():
    """The values of the first moves, known since Allis (1988), and how they are refuted."""
    env = played(connect4_v0.env())
    assert [value(played(connect4_v0.env(), str(column))) for column in range(1, 8)] == [
        1, 1, 0, -1, 0, 1, 1,
    ]  # fmt: skip
    assert best_actions(env) == [3]
    solver = Solver(seed=0)
    assert solver.act(env) == 3
    assert solver.statistics.simulations == 0
    assert solver.plies_left(env, 1.0)[3] == 41


@pytest.fixture
def small_book(tmp_path):
    """A game whose book is quick to build, and the book's file."""
    game = connect4.new(4, 4)
    path = tmp_path / "book.npz"
    build_book(game, 2, path)
    return game, path


def test_a_book_has_the_scores_of_the_search(small_book):
    game, path = small_book
    book = load_book(path)
    assert (book.rows, book.columns, book.plies, book.finished) == (4, 4, 2, True)
    tool = Connect4Solver(game)
    levels = opening_positions(game, 2)
    assert sum(len(level) for level in levels) == len(book.keys) == 1 + 2 + 8
    for level in levels:
        for state in level.values():
            assert book.score(state) == tool.score(state, Clock())
    assert book.score(position(game, 0, 1, 2)) is None
    assert os.listdir(path.parent) == ["book.npz"]


def test_a_book_answers_without_a_search(small_book):
    _, path = small_book
    env = played(connect4_v0.env(rows=4, columns=4))
    solver = Solver(book=str(path), seed=0)
    without = Solver(seed=0)
    assert solver.act(env) == without.act(env)
    assert solver.statistics.simulations == 0
    assert (solver.statistics.values == without.statistics.values).all()
    assert value(env, book=path) == value(env)
    assert scores(env, book=path) == scores(env)
    assert best_actions(env, book=path) == best_actions(env)


def test_a_book_that_lies_is_believed(small_book):
    # So the book is what answers, for a position and for its mirror image.
    game, path = small_book
    book = load_book(path)
    keys = dict.fromkeys(book.keys.tolist(), 3)
    save_book(new_book(game, 2, keys, finished=True), path)
    for moves in ("11", "44"):
        assert value(played(connect4_v0.env(rows=4, columns=4), moves), book=path) == 1


def test_a_book_is_built_in_several_sittings(tmp_path, monkeypatch):
    game, path = connect4.new(4, 4), tmp_path / "book.npz"

    def stop(done, total):
        assert total == 26
        if done == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_book(game, 3, path, report=stop)
    begun = load_book(path)
    assert not begun.finished
    assert len(begun.keys) == 10
    with pytest.raises(ValueError, match="a finished opening book"):
        value(played(connect4_v0.env(rows=4, columns=4)), book=path)

    solved = []
    ask = Connect4Solver.ask
    monkeypatch.setattr(
        Connect4Solver, "ask", lambda *args: solved.append(args[1].tobytes()) or ask(*args)
    )
    finished = build_book(game, 3, path)
    assert finished.finished
    assert len(set(solved)) <= 16  # and none of the ten again
    whole = build_book(game, 3, tmp_path / "whole.npz", threads=2)
    assert (whole.keys == finished.keys).all()
    assert (whole.scores == finished.scores).all()
    solved.clear()
    assert build_book(game, 3, path).finished
    assert solved == []


def test_a_time_limit_leaves_a_book_to_go_on_with(tmp_path):
    path = tmp_path / "book.npz"
    book = build_book(connect4.new(), 1, path, seconds=0.01, entries=1 << 16)
    assert not book.finished
    assert not load_book(path).finished


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"version": 2}, "got 2"),
        ({"plies": 99}, "of this board"),
        ({"plies": 1.0}, "another plies"),
        ({"rows": 10**5, "columns": 10**4}, "expected an opening book"),
        ({"rows": 300}, "expected an opening book"),
        ({"columns": True}, "another columns"),
        ({"finished": None}, "another finished"),
        ({"keys": np.zeros(11, np.int64)}, "ascending"),
        ({"scores": np.zeros(3, np.int8)}, "ascending"),
        ({"scores": np.zeros(11, np.float64)}, "int8"),
        ({"scores": np.full(11, 30, np.int8)}, "of this board"),
        ({"scores": np.full(11, -128, np.int8)}, "of this board"),
    ],
)
def test_a_book_of_wrong_contents_is_refused(small_book, changed, message):
    _, path = small_book
    of_arrays = {name: each for name, each in changed.items() if name in ("keys", "scores")}
    rewritten(path, path, **(of_arrays or {"about": about(path, **changed)}))
    with pytest.raises(ValueError, match=message):
        load_book(path)


def test_a_book_of_another_game_is_refused(small_book):
    game, path = small_book
    for ask in (lambda env: value(env, book=path), Solver(book=str(path)).act):
        with pytest.raises(ValueError, match="6 x 7, got one for 4 x 4"):
            ask(played(connect4_v0.env()))
        for env in (tictactoe_v0.env(), hex_v0.env(board_size=3)):
            with pytest.raises(ValueError, match="no opening book but for Connect4"):
                ask(played(env))
    with pytest.raises(ValueError, match="3 plies for 4 x 4"):
        build_book(game, 3, path)
    with pytest.raises(ValueError, match=r"0 to 15 .* got 16"):
        build_book(game, 16, path)
    with pytest.raises(FileNotFoundError):
        Solver(book=str(path.with_name("none.npz")))


# ---- Hex -----------------------------------------------------------------------------------------


def test_hex_by_its_own_solver():
    env = played(hex_v0.env(board_size=3))
    assert value(env) == 1
    assert 4 in best_actions(env)
    solver = Solver(seed=0)
    assert solver.act(env) in best_actions(env)
    assert solver.statistics.proven == 1
    kept = Question(env)
    assert kept.solver is Question(env).solver is not Question(env, entries=1 << 10).solver
    assert (kept.value(), kept.clock.nodes) == (1, 0)
    with pytest.raises(ValueError, match="expected a game whose solver counts plies, got hex"):
        scores(env)


# ---- alpha-beta ----------------------------------------------------------------------------------


@compiled
class Centre(NamedTuple):
    """Who has the centre of TicTacToe is better off."""

    weight: float = 0.5

    def evaluate(self, game, state, player):
        owner = game.owner(state, 4)
        if owner == base.EMPTY:
            return 0.0
        return self.weight if owner == player else -self.weight


def minimax(game, state, depth, evaluation, root_depth):
    """The worth of a position for the player to move, without any pruning."""
    player = game.to_play(state)
    if game.is_terminal(state):
        return game.outcome(state, player) * (WIN - (root_depth - depth) * PLY_COST)
    if depth == 0:
        return evaluation.evaluate(game, state, player)
    worths = minimax_by_action(game, state, depth, evaluation, root_depth)
    return max(worths.values())


def minimax_by_action(game, state, depth, evaluation, root_depth):
    """The worth of each action."""
    worths = {}
    for action in base.legal_actions(game, state):
        child = base.clone(game, state)
        game.step(child, action)
        worth = minimax(game, child, depth - 1, evaluation, root_depth)
        worths[action] = worth if game.to_play(child) == game.to_play(state) else -worth
    return worths


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("route", ["auto", "interpreted", "environment"])
def test_alphabeta_plays_one_of_the_best_actions_of_minimax(depth, route):
    game = tictactoe.new()
    evaluation = Centre() if route != "environment" else ZeroEvaluation()
    for board in ("X...O....", "XX.OO....", "XO..X..O.", "X.OXO...."):
        env = tictactoe_on(board, tictactoe_v0.env)
        state = env.unwrapped.state
        best = set(best_of(minimax_by_action(game, state, depth, evaluation, depth - 1))[1])
        seeds = range(3 if route == "environment" else 30)
        chosen = {AlphaBeta(depth, evaluation, route=route, seed=seed).act(env) for seed in seeds}
        assert chosen <= best
        assert chosen == best or route == "environment"


def test_alphabeta_by_every_route_sees_the_same():
    env = tictactoe_on("X...O....")
    found = []
    ways = (Centre(), "auto"), (Centre(), "interpreted"), (Centre().evaluate, "auto")
    for evaluation, route in ways:
        agent = AlphaBeta(3, evaluation, route=route, seed=5)
        agent.prepare(env)
        action, seen = agent.act(env), agent.statistics
        found.append((action, seen.simulations, seen.values.tolist()))
    assert found[0] == found[1] == found[2]


def test_alphabeta_prefers_the_quicker_win_and_the_later_loss():
    env = played(connect4_v0.env(), "121212")
    assert {AlphaBeta(5, seed=seed).act(env) for seed in range(2)} == {0}
    agent = AlphaBeta(4, seed=0)
    env = played(connect4_v0.env(), "112233")  # the fourth in the row wins
    agent.act(env)
    assert agent.statistics.proven == 1
    env.step(6)
    assert {AlphaBeta(4, seed=seed).act(env) for seed in range(3)} == {3}


def test_alphabeta_over_pettingzoos_tictactoe():
    env = theirs("tictactoe").env()
    env.reset()
    for action in (0, 3, 1, 4):
        env.step(action)
    assert {AlphaBeta(3, seed=seed).act(env) for seed in range(5)} == {2}
    agent = AlphaBeta(2, seed=0)
    env.step(8)
    assert agent.act(env) == 5
    assert agent.statistics.proven == 1


def test_evaluations_that_are_none_or_do_not_compile_are_refused():
    with pytest.raises(ValueError, match=r"evaluation .* got 3"):
        AlphaBeta(evaluation=3)
    with pytest.raises(ValueError, match="@compiled"):
        AlphaBeta(2, Centre().evaluate, route="compiled").act(played(tictactoe_v0.env()))
