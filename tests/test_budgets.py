"""Seconds of a move: the clock is looked at inside of every search.

The clock of these tests stands still but for what a test counts as work, so nothing depends on the
speed of a machine.
"""

import numpy as np
import pytest
from environments import make
from test_variants import OF_A_GAME

from agents import AlphaBeta, ANETRolloutMCTS, PolicyAgent
from agents.core.budget import Pace
from agents.knowledge.gomoku import board
from agents.knowledge.gomoku.threat_search import (
    NO_WIN,
    UNKNOWN,
    new_four_search,
    new_threat_search,
    search_fours,
    search_threats,
)
from agents.knowledge.gomoku.threats import ThreatSolver
from agents.mcts.worker import TreeWorker
from agents.planning.foreign import ForeignGame
from agents.registry import agent_classes, make_agent, parameters
from hexenv import gomoku_v0
from hexenv.games import base, gomoku

STEP = 0.001


def at(game, moves):
    env = make(game, "env")
    env.reset(options={"moves": moves})
    return env


class StandingClock:
    """Shows the same time until somebody moves it on."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = StandingClock()
    monkeypatch.setattr("time.perf_counter", clock)
    return clock


# ---- the pace ------------------------------------------------------------------------------------


def test_slices_grow_to_a_millisecond_and_shrink_with_the_speed(clock):
    pace = Pace(clock.now, 1.0)
    sizes = []
    while not pace.is_over:
        sizes.append(pace.size)
        clock.now += pace.size * (1e-5 if pace.done < 40_000 else 1e-3)
        pace.count(pace.size)
    assert sizes[:7] == [1, 2, 4, 8, 16, 32, 64]
    assert max(sizes) <= 100
    assert sum(sizes) == pytest.approx(40_000 + 600, abs=60)
    assert clock.now - 100.0 == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("unit", [0.3, 0.4, 0.7, 3.0])
def test_a_long_simulation_is_begun_if_most_of_it_is_in_time(clock, unit):
    pace, begun = Pace(clock.now, 1.0), 0
    while not pace.is_over:
        clock.now += unit
        pace.count(1)
        begun += 1
    assert begun == max(1, round(1.0 / unit))


# ---- every search --------------------------------------------------------------------------------

POLICIES = {"alphazero", "anet", "chat", "connectx", "gomocup", "htp", "puct"}
TIMED = [name for name, kind in agent_classes().items() if "seconds" in parameters(kind)]
TIMED = [name for name in TIMED if name not in POLICIES | OF_A_GAME]


@pytest.mark.parametrize("seconds", [0.1, 0.5])
@pytest.mark.parametrize("name", [*TIMED, "uct:transpositions=true", "uct:workers=2"])
def test_no_search_is_more_than_a_simulation_off(clock, monkeypatch, name, seconds):
    """Where each step of an environment takes a millisecond."""
    step = ForeignGame.step

    def slow_step(game, state, action):
        clock.now += STEP
        step(game, state, action)

    monkeypatch.setattr(ForeignGame, "step", slow_step)
    env = at("connect4", "4 3 4 4 2 5")
    agent = make_agent(f"{name}{',' if ':' in name else ':'}route=environment", seed=1)
    agent.seconds, agent.simulations = seconds, None
    if name == "alphabeta":
        agent = make_agent(f"alphabeta:seconds={seconds},route=environment", seed=1)
    begun = clock.now
    agent.act(env)
    assert agent.statistics.proven is None
    plies_left = 6 * 7 - 6
    assert abs(clock.now - begun - seconds) <= STEP * plies_left


@pytest.mark.parametrize("route", ["auto", "interpreted"])
@pytest.mark.parametrize("spec", ["uct", "uct:workers=2", "rave", "transposition"])
def test_seconds_are_kept_where_the_rules_are_known(clock, monkeypatch, spec, route):
    """Where a thousand simulations take a second, as machine code and as plain Python."""
    new_run = TreeWorker.new_run

    def slow_run(worker, view, agent):
        run = new_run(worker, view, agent)

        def search(count):
            ran = run.search(count)
            clock.now += ran * STEP
            return ran

        return run._replace(search=search)

    monkeypatch.setattr(TreeWorker, "new_run", slow_run)
    agent = make_agent(f"{spec}{',' if ':' in spec else ':'}solver=off", seed=1)
    agent.simulations, agent.seconds, agent.route = None, 0.3, route
    begun = clock.now
    agent.act(at("connect4", "4 3"))
    assert abs(clock.now - begun - 0.3) <= 2 * STEP
    assert agent.statistics.simulations == agent.statistics.visits.sum() > 200


@pytest.mark.parametrize("seconds", [0.003, 0.05, 0.2, 0.3])
@pytest.mark.parametrize("moves", ["h8 i9 g7", "h8 i9 g7 i7 h6"])
def test_alphabeta_uses_its_time_and_no_more(clock, moves, seconds):
    """Where positions take longer the more have been looked at, as deeper ones may."""
    looked = 0

    def evaluate(game, state, player):
        nonlocal looked
        looked += 1
        clock.now += 1e-5 * (1 + looked // 200)
        return (int(state.last_action) * 7919 % 101) / 101 - 0.5

    env = gomoku_v0.env(board_size=15)
    env.reset(options={"moves": moves})
    begun = clock.now
    agent = AlphaBeta(evaluation=evaluate, seconds=seconds, seed=0)
    agent.act(env)
    assert agent.statistics.proven is None
    assert clock.now - begun == pytest.approx(seconds, rel=0.05, abs=0.002)


def test_alphabeta_that_is_cut_short_leaves_known_losses(clock):
    """X must stop O: one ply deep all moves are alike, two deep all but one lose."""
    env = at("tictactoe", "1 5 9 3")

    def evaluate(game, state, player):
        clock.now += STEP
        return 0.0

    counts = set()
    for steps in range(1, 40):
        agent, begun = AlphaBeta(evaluation=evaluate, seconds=STEP * steps, seed=steps), clock.now
        action = agent.act(env)
        assert clock.now - begun >= STEP * (steps - 1) or agent.statistics.proven is not None
        found = agent.statistics
        tried = found.values[found.visits > 0]
        assert found.visits[action] == 1
        assert found.values[action] > -1 or (tried == -1).all()
        counts.add(int((tried == -1).sum()))
    assert len(counts) > 2


def test_alphabeta_that_saw_all_ends_has_proven_a_draw():
    env = at("tictactoe", "1 5 9 2 8")
    for options in ({"seconds": 60.0}, {"depth": 4}):
        agent = AlphaBeta(seed=0, **options)
        agent.act(env)
        assert agent.statistics.proven == 0
        assert agent.act(env) == 6


def test_alphabeta_with_time_goes_as_deep_as_it_can():
    env = at("tictactoe", "1 5")
    agent = AlphaBeta(seconds=0.2, seed=0)
    agent.act(env)
    assert agent.statistics.proven in (None, 0)  # no side wins
    whole = AlphaBeta(9, seed=0)
    whole.act(env)
    best = np.flatnonzero(whole.statistics.values == whole.statistics.values.max())
    assert agent.act(env) in best


def test_rollouts_of_a_policy_end_with_the_time(clock):
    def policy(seen, masks):
        clock.now += 0.01
        return masks.astype(float), None

    agent = ANETRolloutMCTS(PolicyAgent(policy), seconds=0.1, seed=0, route="interpreted")
    begun = clock.now
    agent.act(at("connect4", "4 3"))
    assert 0.085 <= clock.now - begun <= 0.125


# ---- threats -------------------------------------------------------------------------------------


def threatening(number):
    """A position of Gomoku on 9 x 9 with stones close together, as the patterns see it."""
    rules, rng = gomoku.new(board_size=9), np.random.default_rng(number)
    state = base.new_state(rules)
    cells = [27 + 9 * (i // 5) + i % 5 for i in range(25)]
    for cell in rng.permutation(cells)[:12]:
        if not rules.is_terminal(state):
            rules.step(state, int(cell))
    if rules.is_terminal(state):
        return threatening(number + 1000)
    game = board.new(rules)
    return game, board.state_of(game, state)


@pytest.mark.parametrize("number", range(6))
def test_a_search_in_parts_finds_what_one_in_one_go_finds(number):
    game, root = threatening(number)
    for limit in (0, 2):
        found = []
        for part in (100_000, 7, 1):
            search = new_threat_search(game, 1 << 8) if limit else new_four_search(game, 1 << 8)
            fours = search.fours if limit else search
            length, begins = UNKNOWN, True
            while begins or (length == UNKNOWN and search.paused[0] >= 0):
                if limit:
                    length = search_threats(game, root, search, limit, part, 50, begins)
                else:
                    length = search_fours(game, root, search, part, begins)
                begins = False
            line = search.lines[0] if limit else search.line
            found.append((length, line[: max(length, NO_WIN)].tolist(), int(fours.spent[0])))
        assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("seconds", [0.02, 0.1])
def test_a_search_for_threats_keeps_to_its_seconds(clock, seconds):
    cut = 0
    for number in range(3):
        game, root = threatening(number)
        solver = ThreatSolver(game, compiles=False)

        def timed(kernel, solver=solver):
            def run(*arguments):
                before = solver.nodes
                found = kernel(*arguments)
                clock.now += STEP * (solver.nodes - before)
                return found

            return run

        solver._fours, solver._threats = timed(solver._fours), timed(solver._threats)
        begun = clock.now
        line = solver.solve(root, 6, seconds=seconds)
        assert clock.now - begun <= 1.25 * seconds + 2 * STEP
        cut += line is None and not solver.is_settled
    assert cut > 0
