import copy
import json
import pickle
import time

import numpy as np
import pytest
from environments import JIT
from grown_trees import tree_of, with_options
from test_variants import assert_routes_agree, needs_compiler

from agents import RHMCTS, UCT, GomokuEngine, Gomokupert, PolicyAgent, PUCTAgent
from agents.arena.match import play_match
from agents.knowledge.gomoku import board as pattern_board
from agents.knowledge.gomoku.board import OPENS_FOUR, TWO_FOURS, WINS
from agents.knowledge.gomoku.candidates import ALL_BITS as ALL
from agents.knowledge.gomoku.candidates import (
    Candidates,
    cell_points,
    evaluate_board,
    list_urgent,
    urgency,
)
from agents.knowledge.gomoku.opening_play import first_stones, opening_action
from agents.knowledge.gomoku.rhmcts import EvaluationPrior, covers_all
from agents.knowledge.gomoku.threats import ThreatSolver, vcf
from agents.planning.environment import View
from agents.registry import make_agent
from agents.search.tree import ROOT, UNPROVEN, children
from agents.solvers import solver
from hexenv import gomoku_v0, hex_v0
from hexenv.games import base, gomoku, notation
from hexenv.games.gomoku.openings import Phase, phase_of

AUTHORS = "rhmcts:n=5,k=3,depth=20,eager=on,forced=on,threats=off,solver=off"


def played(moves="", size=15, **options):
    env = gomoku_v0.raw_env(board_size=size, **options)
    env.reset(options={"moves": moves} if moves else None)
    return env


def texts(env, actions):
    return [env.game.action_text(int(action)) for action in actions]


def studied(rules, state):
    game = pattern_board.new(rules)
    return game, pattern_board.state_of(game, state, JIT)


def studied_after(*arguments, **options):
    env = played(*arguments, **options)
    return env, *studied(env.game, env.state)


def cells_near(rules, state, reach):
    """The legal cells at most so far from a stone; on an empty board all."""
    owners = base.cell_owners(rules, state)
    rows, columns = np.nonzero(owners != base.EMPTY)
    return [
        cell
        for cell in base.legal_actions(rules, state)
        if not len(rows)
        or np.maximum(abs(rows - cell // rules.columns), abs(columns - cell % rules.columns)).min()
        <= reach
    ]


def clustered(rules, rng, plies, spread=2):
    """A random position whose stones lie together; None if the game is over by then."""
    state = base.new_state(rules)
    for _ in range(plies):
        near = cells_near(rules, state, spread)
        rules.step(state, near[int(rng.random() * len(near))])
        if rules.is_terminal(state):
            return None
    return state


# ---- one source, two ways to run it --------------------------------------------------------------


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "board"),
    [
        ("rhmcts", "renju-7"),
        ("rhmcts:depth=4,k=2", "gomoku-7x9"),
        ("gomokupert", "renju-7"),
        (AUTHORS, "renju-7"),
        ("rave:implicit_minimax=0.2,threats=on", "gomoku-7x9"),
        ("uct:threats=on,transpositions=on", "gomoku-7x9"),
    ],
)
def test_compiled_and_interpreted_grow_the_same_trees(spec, board):
    options = with_options(spec, "simulations=40,route=")
    assert_routes_agree(lambda route: make_agent(options + route, seed=3), board)


@pytest.mark.parametrize(
    ("env", "options", "named"),
    [
        (hex_v0.env(board_size=3), {}, "Hex"),
        (gomoku_v0.env(board_size=6), {"route": "environment"}, "gomoku"),
    ],
)
def test_it_refuses_what_has_no_stones_in_a_row_to_look_at(env, options, named):
    env.reset()
    agents = RHMCTS(5, **options), UCT(5, threats=True, **options)
    for agent in (*agents, GomokuEngine(depth=2, **options)):
        with pytest.raises(ValueError, match=f"to look for patterns, got.*{named}"):
            agent.act(env)


def test_what_compiles_before_the_first_search_is_not_on_its_clock():
    agent = RHMCTS(seconds=0.2, seed=1)
    search_view = agent.advisers.search_view
    agent.advisers.search_view = lambda view: [time.sleep(0.3), search_view(view)][1]
    agent.act(played("h8 i9 i8"))
    assert agent.statistics.simulations > 1


@pytest.mark.parametrize("agent", [RHMCTS(60, seed=4), Gomokupert(10, seed=4)])
def test_it_is_copied_and_pickled_with_its_game_under_way(agent):
    env = played("h8 h9 i9", size=15)
    agent.act(env)
    twins = [copy.deepcopy(agent), pickle.loads(pickle.dumps(agent))]
    env.step(env.game.parse_action("g7"))
    env.step(env.game.parse_action("j10"))
    expected = agent.act(env)
    for twin in twins:
        assert twin.act(env) == expected
        np.testing.assert_array_equal(twin.statistics.visits, agent.statistics.visits)


# ---- what is proven is true ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "connect"),
    [pytest.param((5, 4), 4, marks=pytest.mark.slow), (4, 3), ((3, 5), 3)],
)
@pytest.mark.parametrize("n", [2, 12])  # of few candidates those left out may not be forgotten
@pytest.mark.parametrize(
    "positions", [6, pytest.param(120, marks=[pytest.mark.slow, needs_compiler])]
)
def test_what_it_proves_is_what_the_solver_says(size, connect, n, positions):
    rules = gomoku.new(size, connect)
    rng = np.random.default_rng(7)
    env = gomoku_v0.raw_env(board_size=size, connect=connect)
    proven = []

    def check(state, value):
        env.reset(options={"state": state})
        assert value == solver.value(env), notation.board_text(rules, state)
        proven.append(value)

    for number in range(positions):
        state = clustered(rules, rng, 2 + number % 8)
        if state is None:
            continue
        env.reset(options={"state": state})
        kind = (RHMCTS, Gomokupert)[number // 2 % 2]
        agent = kind(simulations=300, n=n, threats=number % 2 == 0, seed=number)
        agent.act(env)
        if agent.statistics.proven is not None:
            check(state, agent.statistics.proven)
        if agent.statistics.simulations == 0:
            continue
        tree = tree_of(agent)
        below = children(tree, ROOT)
        for action, proof in zip(tree.action[below], tree.proof[below], strict=True):
            after = base.clone(rules, state)
            rules.step(after, int(action))
            if proof != UNPROVEN and rules.is_terminal(after):
                assert proof == rules.outcome(after, rules.to_play(state))
            elif proof != UNPROVEN:
                check(after, -proof)
    assert len(proven) > 0
    if positions > 6:
        assert {-1, 1} <= set(proven)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("rule", ["freestyle", "standard", "renju"])
def test_moves_that_urgency_leaves_out_lose(rule):
    rules = gomoku.new(11, rule=rule)
    rng = np.random.default_rng(11)
    trial = base.new_states(pattern_board.new(rules), 1)
    out = np.empty(121, np.int32)
    seen = {WINS: 0, -WINS: 0, -OPENS_FOUR: 0, OPENS_FOUR: 0}
    for _ in range(400):
        state = clustered(rules, rng, 12 + int(rng.random() * 14))
        if state is None:
            continue
        game, position = studied(rules, state)
        urgent = urgency(game, position, ALL)
        if urgent == 0 or seen[urgent] >= 6:
            continue
        seen[urgent] += 1
        count = list_urgent(game, position, ALL, trial, out)
        listed = set(out[:count].tolist())
        assert listed <= set(base.legal_actions(rules, state))
        solver_of_game = ThreatSolver(game, JIT)
        if urgent > 0:
            position = base.clone(rules, state)
            rules.step(position, next(iter(listed)))
            assert urgent == OPENS_FOUR or position.winner == rules.to_play(state)
            continue
        for action in set(base.legal_actions(rules, state)) - listed:
            after = base.clone(rules, state)
            rules.step(after, action)
            if rules.is_terminal(after):
                assert rules.outcome(after, rules.to_play(state)) < 1
                continue
            found = solver_of_game.solve(pattern_board.state_of(game, after, JIT))
            assert found is not None, (notation.board_text(rules, state), action)
    assert min(seen.values()) > 0


# ---- the heuristics ------------------------------------------------------------------------------

POSITIONS = {
    # What black, to move, has to do: the moves so far, and the cells that each heuristic plays.
    1: ("h8 a1 i8 c1 j8 e1 k8 g1", {"g8", "l8"}),
    2: ("a1 h8 c1 i8 e1 j8 g2 k8 l8 n12", {"g8"}),
    3: ("h8 a1 i8 c1 j8 e1", {"g8", "k8"}),
    4: ("a1 h8 c1 i8 o1 j8", {"g8", "k8", "f8", "l8"}),
    5: ("e8 d8 f8 h12 g8 o11 h9 o9 h10 n1 h11 a1", {"h8"}),  # a four down and one across
}


@pytest.mark.parametrize("number", POSITIONS)
def test_a_heuristic_answers_what_is_urgent(number):
    moves, expected = POSITIONS[number]
    env, game, position = studied_after(moves)
    candidates = Candidates().with_memory(game)
    out, rng = np.empty(225, np.int32), np.random.default_rng(0)
    count = candidates.list_actions(game, position, rng, out)
    assert set(texts(env, out[:count])) <= expected
    assert count >= 1
    if number == 5:
        assert game.kind(position, 0, int(out[0])) == TWO_FOURS
    without = candidates._replace(heuristics=ALL & ~(1 << number))
    assert without.list_actions(game, position, rng, out) > 4  # the best cells near the stones
    assert RHMCTS(simulations=50, seed=1).act(env) in [
        env.game.parse_action(text) for text in expected
    ]


def test_where_moves_are_forced_one_of_the_urgent_is_drawn_by_its_points():
    env, game, position = studied_after("a1 g8 c1 h8 o1 j8")  # white has three with a gap
    rng, out = np.random.default_rng(5), np.empty(225, np.int32)
    urgent = Candidates().with_memory(game)
    count = urgent.list_actions(game, position, rng, out)
    points = {int(cell): cell_points(game, position, int(cell), 0.5, 0) for cell in out[:count]}
    forced = urgent._replace(forced=True)
    drawn, draws = [], 2_000 if JIT else 500
    for _ in range(draws):
        assert forced.list_actions(game, position, rng, out) == 1
        drawn.append(int(out[0]))
    assert set(drawn) <= set(points)
    assert len(set(points.values())) > 1
    for cell, merit in points.items():
        share = merit / sum(points.values())
        sigma = (share * (1 - share) / draws) ** 0.5
        assert abs(drawn.count(cell) / draws - share) < 5 * sigma
    env = played("a1 h8 c1 i8 o1 j8 a3 g8")  # white has an open four, and black two stops
    for forced in (False, True):  # one move alone proves no loss
        agent = RHMCTS(simulations=60, forced=forced, threats=False, seed=1)
        agent.act(env)
        assert (tree_of(agent).proof[ROOT] == UNPROVEN) == forced


def test_without_heuristics_nothing_is_urgent():
    env, game, position = studied_after(POSITIONS[4][0])
    assert urgency(game, position, 0) == 0
    agent = RHMCTS(simulations=100, heuristics="", threats=False, seed=1)
    agent.act(env)
    assert tree_of(agent).child_count[ROOT] == 12


# ---- candidates, selection, simulations ----------------------------------------------------------


def test_candidates_are_the_best_cells_near_the_stones():
    rules = gomoku.new(9)
    rng = np.random.default_rng(2)
    out = np.empty(81, np.int32)
    looked_at = 0
    for _ in range(40):
        state = clustered(rules, rng, 6, spread=3)
        game, position = studied(rules, state)
        if urgency(game, position, ALL) != 0:
            continue
        for n, reach in ((5, 1), (12, 2), (81, 1)):
            candidates = Candidates(n=n, reach=reach).with_memory(game)
            count = candidates.list_actions(game, position, rng, out)
            near = cells_near(rules, state, reach)
            merits = sorted(cell_points(game, position, cell, 0.5, ALL) for cell in near)
            found = [cell_points(game, position, int(cell), 0.5, ALL) for cell in out[:count]]
            assert found == sorted(found)  # the best last
            assert found == merits[-n:]
            assert set(out[:count].tolist()) <= set(near)
            looked_at += 1
    assert looked_at > 30


def test_the_first_stone_goes_to_the_middle():
    for size, middle in ((15, "h8"), (9, "e5")):
        env = played(size=size)
        assert texts(env, [RHMCTS(simulations=20).act(env)]) == [middle]


def test_selection_follows_its_formula():
    env = played("h8 i9 i8 g7", size=15)
    agent = RHMCTS(simulations=200, c=0.7, threats=False, seed=2)
    agent.act(env)
    tree = tree_of(agent)
    game, position = studied(env.game, env.state)
    below = children(tree, ROOT)
    points = np.array([cell_points(game, position, int(a), 0.5, ALL) for a in tree.action[below]])
    priors = np.sqrt(points + 1) / np.sqrt(points + 1).sum()
    np.testing.assert_allclose(tree.extras.prior[below], priors)
    worth = (evaluate_board(game, position, 3000.0) + 1) / 2
    assert tree.extras.evaluation[ROOT] == pytest.approx(worth)
    visits, total = tree.visits[below], int(tree.visits[ROOT])
    means = np.where(visits > 0, tree.value[below], worth)
    rule = EvaluationPrior(c=0.7)
    prepared = rule.prepare(tree, ROOT, None)
    scores = [rule.score(tree, child, prepared) for child in range(below.start, below.stop)]
    np.testing.assert_allclose(scores, means + 0.7 * priors * np.sqrt(total) / (1 + visits))


@pytest.mark.parametrize(
    "spec",
    [
        "rave:threats=on",
        "rhmcts:n=5,route=interpreted",  # compiled it is the same: above, among the slow ones
        "rhmcts:n=4,eager=on,route=interpreted",
    ],
)
def test_minimax_values_are_those_of_the_whole_tree(spec):
    env = played("e5 f6 d6", size=9)
    simulations = 300 if JIT and "interpreted" not in spec else 40
    agent = make_agent(f"{spec},simulations={simulations},implicit_minimax=0.2", seed=2)
    agent.act(env)
    tree = tree_of(agent)
    game, root = studied(env.game, env.state)
    checked = [0, 0]

    def minimax(node, state):
        below = children(tree, node)
        if tree.child_count[node] == 0:
            if game.is_terminal(state):
                value = game.outcome(state, 0)
            else:
                value = evaluate_board(game, state, 3000.0)
                value = value if game.to_play(state) == 0 else -value
            checked[0] += 1
            return (value + 1) / 2
        values = []
        for child in range(below.start, below.stop):
            after = base.clone(game, state)
            game.step(after, int(tree.action[child]))
            values.append(minimax(child, after))
        checked[1] += 1
        best = max(values) if game.to_play(state) == 0 else min(values)
        if node != ROOT:
            assert tree.extras.minimax[node] == pytest.approx(best)
        return best

    minimax(ROOT, root)
    assert min(checked) > 5


def test_eager_search_simulates_every_child_at_once():
    env = played("h8 i9 i8 g7", size=15)
    agent = RHMCTS(simulations=40, eager=True, threats=False, k=3, route="interpreted", seed=2)
    agent.act(env)
    tree = tree_of(agent)
    count = int(tree.node_count[0])
    assert agent.statistics.simulations >= 40
    assert tree.visits[1:count].min() == 1
    expanded = np.flatnonzero(tree.child_count[:count])
    for node in expanded:
        below = children(tree, int(node))
        assert tree.visits[node] >= tree.visits[below].sum()
    assert tree.visits[ROOT] == agent.statistics.simulations + 1


def test_the_evaluation_is_antisymmetric_and_sees_who_wins():
    _, game, position = studied_after("h8 a1 i8 c1 j8 e1")
    assert evaluate_board(game, position, 3000.0) == 1.0  # an open four that nobody can stop
    _, game, position = studied_after("h8 i9 i8")
    found = evaluate_board(game, position, 3000.0)
    position.ply += 1  # as if the other side were to move
    assert evaluate_board(game, position, 3000.0) == -found != 0
    lost = played("a1 h8 c1 i8 e1 j8 n1 k8")  # white makes five at g8 or l8
    game, position = studied(lost.game, lost.state)
    assert evaluate_board(game, position, 3000.0) == -1.0


def test_patterns_are_read_from_a_file_and_have_one_scale(tmp_path):
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({"open_two": 7, "one": 1}))
    env = played("h8 i9 g8 a1")
    options = {"scale": 500, "implicit_minimax": 0.3, "threats": False, "seed": 1}
    agent = RHMCTS(simulations=40, patterns=str(path), **options)
    agent.act(env)
    rule, playout = agent.planner.workers[0].variant[:2]
    assert (rule.scale, rule.selection.scale, playout.scale) == (500, 500, 500)
    for use in (agent.save, agent.load):  # trees that know patterns are not for files
        with pytest.raises(ValueError, match="expected an agent whose selection"):
            use(tmp_path / "tree.npz")
    tree = tree_of(agent)
    game = pattern_board.new(env.game, agent.advisers._given.view_of.keywords["scores"])
    position = pattern_board.state_of(game, env.state, JIT)
    below = children(tree, ROOT)
    points = np.array([cell_points(game, position, int(a), 0.5, ALL) for a in tree.action[below]])
    np.testing.assert_allclose(
        tree.extras.inner.prior[below], np.sqrt(points + 1) / np.sqrt(points + 1).sum()
    )
    assert points.max() > 7
    with pytest.raises(FileNotFoundError):
        RHMCTS(patterns=str(tmp_path / "none.json"))


# ---- agents that look for threats ----------------------------------------------------------------


@pytest.mark.parametrize("spec", ["rhmcts", "uct:threats=on", "rave:threats=on"])
def test_a_win_by_threats_is_played_without_a_search(spec):
    env = played(POSITIONS[3][0])
    agent = make_agent(with_options(spec, "simulations=50"), seed=1)
    assert agent.act(env) == vcf(env)[0]
    assert agent.statistics.proven == 1
    assert agent.statistics.simulations == 0
    assert agent.statistics.values.max() == 1.0


def indifferent(planes, masks):
    """A policy without an opinion."""
    return np.zeros(masks.shape), None


@pytest.mark.parametrize(
    "agent",
    [
        UCT(simulations=300, threats=True, seed=1),
        pytest.param(
            PUCTAgent(PolicyAgent(indifferent), 600, threats=True, seed=1), marks=pytest.mark.slow
        ),
    ],
)
def test_leaves_that_are_won_by_fours_are_proven(agent):
    # White can stop one three only; whatever black plays elsewhere, white wins by fours.
    env = played("a1 h8 o1 i8 a15 j8 o15 h5 a8", size=15)
    _, position = studied(env.game, env.state)
    assert position.counts[1, OPENS_FOUR] > 0
    env.step(env.game.parse_action("o8"))
    assert env.game.to_play(env.state) == 0
    agent.act(env)
    tree = tree_of(agent)
    below = children(tree, ROOT)
    lost = {
        env.game.action_text(int(action)) for action in tree.action[below][tree.proof[below] == -1]
    }
    assert {"b2", "n14"} <= lost
    assert not {"g8", "k8"} & lost


# ---- openings ------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("spec", ["rhmcts", "gomokupert", AUTHORS, "gomoku-engine:depth=2"])
@pytest.mark.parametrize(
    "options",
    [
        *({"board_size": 9, "opening": name} for name in ("swap", "swap2", "pro", "long_pro")),
        {"board_size": 3, "connect": 3}, {"board_size": 4, "connect": 3, "rule": "standard"},
        {"board_size": 9, "rule": "standard"}, {"board_size": 7, "rule": "renju"},
    ],
)  # fmt: skip
def test_it_plays_any_game_of_stones_in_a_row_and_any_opening(spec, options):
    env = gomoku_v0.env(**options)
    spec = spec if "engine" in spec else with_options(spec, "simulations=20")
    agents = [make_agent(spec, seed=number) for number in (1, 2)]
    results = list(play_match(env, agents, 2, seed=5))
    assert [result.illegal for result in results] == [None, None]
    assert all(len(result.actions) > 3 for result in results)


@pytest.mark.parametrize(
    ("moves", "value", "answer"),
    [
        ("h8 h9 i8", 0.0, "place_two"),
        ("h8 h9 i8", 0.3, "g7"),
        ("h8 h9 i8", -0.3, "swap"),
        ("h8 h9 i8 place_two a1 b1", 0.0, "g7"),
        ("h8 h9 i8 place_two a1 b1", -0.05, "swap"),
    ],
)
def test_colours_are_chosen_by_what_white_is_worth(moves, value, answer):
    env = played(moves, opening="swap2")
    game, state = env.game, env.state
    seen = []

    def think(view):
        seen.append(int(view.game.to_play(view.root)))
        return game.parse_action("g7"), value

    action = opening_action(View(game, state, JIT, ()), think, np.random.default_rng(1))
    assert game.action_text(action) == answer
    assert seen == [1]  # white, whose stone is next


@pytest.mark.parametrize(("moves", "takes_black"), [("h8 a1 h9", True), ("h8 h9 a1", False)])
def test_a_search_chooses_the_better_colour(moves, takes_black):
    env = played(moves, opening="swap")
    game = env.game
    assert phase_of(game, env.state) == Phase.CHOOSING
    action = RHMCTS(simulations=300 if JIT else 60, seed=1).act(env)
    assert (game.action_text(action) == "swap") == takes_black


def test_balanced_openings_are_three_stones_on_any_board():
    for rows, columns in ((15, 15), (20, 20), (7, 9), (6, 6), (5, 9)):
        for cells in first_stones(rows, columns):
            assert len(set(cells)) == 3
            assert all(0 <= cell < rows * columns for cell in cells)


# ---- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("heuristics", "18"), ("heuristics", 1234), ("patterns", 5),
    ],
)  # fmt: skip
def test_heuristics_and_patterns_that_are_none_are_refused(name, value):
    with pytest.raises(ValueError, match=rf"\b{name}\b.*{value}"):
        RHMCTS(**{name: value})


def test_forced_positions_cover_what_matters_only_where_that_is_sure():
    _, game, position = studied_after(POSITIONS[4][0])
    assert covers_all(game, position, ALL)
    assert not covers_all(game, position, ALL & ~(1 << 4) & ~(1 << 5))
    _, game, position = studied_after("h8 i9")
    assert not covers_all(game, position, ALL)


@pytest.mark.slow
@pytest.mark.compiled(only=True)
def test_it_beats_plain_search_with_ten_times_the_simulations():
    env = gomoku_v0.env(board_size=15)
    agents = [RHMCTS(simulations=200), UCT(simulations=2_000)]
    results = list(play_match(env, agents, 2, seed=1))
    assert [result.outcome for result in results] == [1, 1]


@pytest.mark.parametrize("eager", [False, True])
def test_it_searches_no_graph(eager):
    with pytest.raises(ValueError, match="keeps nothing of its own with transpositions"):
        RHMCTS(eager=eager, transpositions=True)
