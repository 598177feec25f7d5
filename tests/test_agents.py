"""The agents: what they promise to whoever calls them, how well they play, and their matches."""

import copy
import importlib
import json
import math
import pickle
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from environments import BOARDS, JIT, KINDS, SMALL, legal_actions, make, random_action, view
from grown_trees import with_options

from agents import UCT, GreedyAgent, RandomAgent
from agents.arena import ForfeitError, GameResult, MatchSummary, play_game, play_match, summarise
from agents.arena.intervals import score_interval
from agents.planning.environment import action_mask
from agents.policies.policy import PolicyAgent
from agents.registry import make_agent
from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0

DATA = Path(__file__).parents[1] / "agents" / "arena" / "positions"

over_kinds = pytest.mark.parametrize("kind", KINDS)
over_small_boards = pytest.mark.parametrize("board", SMALL)

AGENTS = {
    "uct": lambda seed=None: UCT(30, seed=seed),
    "greedy": lambda seed=None: GreedyAgent(seed=seed),
    "random": lambda seed=None: RandomAgent(seed=seed),
}
over_agents = pytest.mark.parametrize("new_agent", AGENTS.values(), ids=AGENTS)


def started(board, kind="env", plies=0):
    """An environment after some random plies, and before the end of the game."""
    env = make(board, kind)
    env.reset()
    rng = np.random.default_rng(plies)
    for _ in range(plies):
        before = env.clone()
        env.step(random_action(env, rng))
        if any(env.terminations.values()):
            return before
    return env


def at(module, kind="env", **position):
    """An environment at a position given as text."""
    env = getattr(module, kind)()
    env.reset(options=position)
    return env


@pytest.fixture
def connect_four():
    """PettingZoo's own module."""
    pytest.importorskip("pygame")
    return importlib.import_module("pettingzoo.classic.connect_four.connect_four")


def foreign(module, actions=(), kind="env"):
    """An environment of PettingZoo's after some actions."""
    env = getattr(module, kind)()
    env.reset()
    return stepped(env, *actions)


def stepped(env, *actions):
    for action in actions:
        env.step(action)
    return env


# ---- what all agents promise ---------------------------------------------------------------------


@over_agents
@over_kinds
@over_small_boards
def test_agents_play_legal_games_and_leave_the_environment_alone(board, kind, new_agent):
    env = started(board, kind)
    agent = new_agent(0)
    while not any(env.terminations.values()):
        before = view(env)
        action = agent.act(env)
        assert view(env) == before
        assert (agent.statistics is None) == (not isinstance(agent, UCT))
        assert type(action) is int
        assert action in legal_actions(env)
        env.step(action)


@over_agents
@pytest.mark.parametrize("mask_in", ["both", "observation", "info"])
def test_agents_find_the_mask_wherever_it_is(mask_in, new_agent):
    env = tictactoe_v0.env(mask_in=mask_in)
    env.reset(options={"moves": "12345687"})
    assert new_agent(0).act(env) == 8


LOST = [0, 1, 0, 1, 0, 1, 0]
"""A game of PettingZoo's Connect4, to its end."""
UNPLAYABLE = {
    "before reset": ("before reset", lambda theirs: make("tictactoe")),
    "raw, before reset": ("before reset", lambda theirs: make("tictactoe", "raw_env")),
    "theirs, before reset": ("before reset", lambda theirs: theirs.env()),
    "over": ("over", lambda theirs: at(tictactoe_v0, moves="14253")),
    "an agent is gone": ("over", lambda theirs: stepped(at(tictactoe_v0, moves="14253"), None)),
    "all are gone": ("over", lambda theirs: stepped(at(tictactoe_v0, moves="14253"), None, None)),
    "theirs, over": ("over", lambda theirs: foreign(theirs, LOST)),
    "theirs, all are gone": ("over", lambda theirs: foreign(theirs, [*LOST, None, None])),
    "lost by an illegal move": ("over", lambda theirs: stepped(at(tictactoe_v0, moves="1"), 0)),
}


@over_agents
@pytest.mark.parametrize("case", UNPLAYABLE)
def test_what_is_not_in_play_is_refused(connect_four, case, new_agent):
    reason, made = UNPLAYABLE[case]
    with pytest.raises(ValueError, match=f"in play, got one .*{reason}"):
        new_agent().act(made(connect_four))


@over_agents
def test_a_seed_settles_everything(new_agent):
    def choices(agent):
        env = started("gomoku-9")
        return [agent.act(env) for _ in range(8)]

    agent = new_agent(5)
    first = choices(agent)
    assert choices(new_agent(5)) == first
    assert choices(new_agent(6)) != first
    assert choices(agent) != first  # the stream goes on
    agent.reset(5)
    assert choices(agent) == first
    agent.reset()  # without a seed the stream goes on
    assert agent.statistics is None
    assert choices(agent) != first
    assert len({tuple(choices(new_agent())) for _ in range(3)}) > 1


@over_agents
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))], ids=["copy", "file"]
)
def test_a_copy_of_an_agent_plays_on_as_the_original(new_agent, copied):
    env = started("gomoku-9")
    agent = new_agent(1)
    agent.act(env)
    twin = copied(agent)
    assert [twin.act(env) for _ in range(5)] == [agent.act(env) for _ in range(5)]
    for _ in range(2):
        agent.act(env)  # alone: the streams are two
    for one in (agent, twin):
        one.reset()  # the trees, but not the streams
    assert [twin.act(env) for _ in range(8)] != [agent.act(env) for _ in range(8)]


def test_a_pickled_agent_is_small_after_a_reset():
    agent = UCT(2_000, seed=0)
    agent.act(started("connect4"))
    agent.reset()
    assert len(pickle.dumps(agent)) < 5_000


# ---- random and greedy ---------------------------------------------------------------------------


def assert_uniform(choices, actions):
    """The choices are even over the actions: chi-square is about its mean, the number of freedoms.

    Its standard deviation is sqrt(2 * freedoms); five of them would not come by chance.
    """
    counts = Counter(choices)
    assert set(counts) == set(actions)
    expected = len(choices) / len(actions)
    chi_square = sum((counts[action] - expected) ** 2 / expected for action in actions)
    freedoms = len(actions) - 1
    assert chi_square < freedoms + 5 * math.sqrt(2 * freedoms) + 1e-9


@pytest.mark.parametrize("plies", [0, 1, 4])
@over_small_boards
def test_random_is_uniform(board, plies):
    env = started(board, plies=plies)
    agent = RandomAgent(seed=plies)
    assert_uniform([agent.act(env) for _ in range(2_000)], legal_actions(env))


ROUTES = ["auto", "compiled", "interpreted", "environment"]
over_routes = pytest.mark.parametrize("route", ROUTES)


@over_routes
@pytest.mark.parametrize(
    ("module", "position", "choices"),
    [
        (tictactoe_v0, {"board": "XX./OO./..."}, {2}),  # wins at once,
        (tictactoe_v0, {"board": "XX./OO./X.."}, {5}),  # where 3 would block
        (connect4_v0, {"board": "......./......./......./XO...../XO...../XO....."}, {0}),
        (connect4_v0, {"board": "......./......./......./......./..OOO../..XXX.."}, {1}),  # or 5
        (tictactoe_v0, {"moves": "152"}, {2}),  # blocks
        (connect4_v0, {"moves": "12121"}, {0}),
        (connect4_v0, {"moves": "15263"}, {3}),
        # does not play below a winning cell
        (connect4_v0, {"board": "......./......./......./......./XXX..../OXO...O"},
         {0, 1, 2, 4, 5, 6}),
        (tictactoe_v0, {"board": "XX./.O./X.O"}, {2, 3, 5, 7}),  # cannot block 3 and 4
    ],
)  # fmt: skip
def test_what_greedy_chooses(module, position, choices, route):
    env, agent = at(module, **position), GreedyAgent(route, seed=0)
    if len(choices) > 1:
        assert_uniform([agent.act(env) for _ in range(200)], choices)
    else:
        assert {agent.act(env) for _ in range(20)} == choices


def test_greedy_is_uniform_where_nothing_threatens():
    env, agent = at(connect4_v0, moves="4"), GreedyAgent(seed=3)
    assert_uniform([agent.act(env) for _ in range(1_000)], range(7))


@pytest.mark.compiled
@pytest.mark.parametrize("plies", [0, 3, 6, 9])
@over_small_boards
def test_greedy_is_the_same_by_all_routes(board, plies):
    env = started(board, plies=plies)
    choices = [
        [agent.act(env) for _ in range(20)]
        for agent in (GreedyAgent(route, seed=plies) for route in ROUTES)
    ]
    assert choices == 4 * [choices[0]]


# ---- budgets -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "count"),
    [
        *(({"simulations": count}, count) for count in (1, 2, 7, 100, 513)),
        ({}, 1_000),
        ({"simulations": 10, "seconds": 60}, 10),
        ({"seconds": 1e-9}, 1),
    ],
)
@over_routes
def test_simulations_are_exact(options, count, route):
    agent = UCT(**options, solver="off", route=route, seed=0)
    agent.act(started("tictactoe", plies=2))
    assert agent.statistics.simulations == agent.statistics.visits.sum() == count


READINGS = {
    "at once": lambda agent, env: agent.statistics,
    "after the move": lambda agent, env: (env.step(6), agent.statistics)[1],
    "after another is prepared": lambda agent, env: (
        agent.prepare(started("tictactoe")),
        agent.statistics,
    )[1],
    "from a copy": lambda agent, env: copy.deepcopy(agent).statistics,
    "from a pickle": lambda agent, env: pickle.loads(pickle.dumps(agent)).statistics,
}


@pytest.mark.parametrize("spec", ["uct", "uct:workers=2", "transposition", "rave"])
def test_statistics_are_the_same_however_they_are_read(spec):
    """They are read from the trees when they are asked for."""
    found = []
    for read in READINGS.values():
        env, agent = started("connect4"), make_agent(with_options(spec, "simulations=60"), seed=3)
        for turn in range(2):
            agent.act(env)
            statistics = read(agent, env) if turn == 1 else agent.statistics
            found.append((turn, repr(replace(statistics, seconds=0.0))))
            if turn == 0:
                first = statistics
                env.step(3)
        assert repr(replace(first, seconds=0.0)) == found[0][1]  # the second move left it alone
    assert len(set(found)) == 2


@pytest.mark.parametrize("simulations", [2.5, 1e3, "10"])
def test_simulations_are_whole_numbers(simulations):
    with pytest.raises(ValueError, match="expected a whole number of simulations"):
        UCT(simulations)


def test_one_agent_plays_different_games_in_turn():
    agent = UCT(20, seed=0)
    for board in (*BOARDS, *reversed(BOARDS)):
        env = started(board, plies=1)
        assert agent.act(env) in legal_actions(env)
        assert len(agent.statistics.visits) == env.unwrapped.game.num_actions()


# ---- strength ------------------------------------------------------------------------------------


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))]
)
def test_uct_keeps_the_value_of_every_position_of_tictactoe(seed):
    # About one choice in 90,000 goes wrong with 2,000 simulations, as in ".....X...", where one
    # reply draws by a single line of play; with these seeds, which settle everything, none does.
    with (DATA / "tictactoe.json").open() as file:
        solved = json.load(file)
    assert len(solved) == 4_520
    env = tictactoe_v0.raw_env()
    agent = UCT(2_000, seed=seed)
    wrong = []
    for board, answer in solved.items():
        env.reset(options={"board": f"{board[:3]}/{board[3:6]}/{board[6:]}"})
        if agent.act(env) not in answer["optimal"]:
            wrong.append(board)
    assert wrong == []


# ---- the arena -----------------------------------------------------------------------------------


class Scripted:
    """Plays the lowest legal action, or what it is told at a ply; keeps what it was asked."""

    statistics = None

    def __init__(self, at_ply=None):
        self.at_ply = at_ply or {}
        self.asked = []
        self.seeds = []

    def reset(self, seed=None):
        self.seeds.append(seed)

    def act(self, env):
        ply = len(env.unwrapped.actions)
        self.asked.append((ply, env.agent_selection))
        return self.at_ply.get(ply, int(np.flatnonzero(action_mask(env))[0]))


def fewest_wins(games):
    """What an equal opponent would reach in less than one match of a thousand."""
    ways = [math.comb(games, wins) for wins in range(games + 1)]
    return min(wins for wins in range(games) if sum(ways[wins:]) / 2**games <= 1e-3)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("env", "players"),
    [
        pytest.param(
            hex_v0.env(board_size=6),
            lambda: [UCT(200 if JIT else 120), RandomAgent()],
            marks=pytest.mark.slow,
        ),
        (connect4_v0.env(), lambda: [GreedyAgent(), RandomAgent()]),
        (connect4_v0.env(), lambda: [UCT(400 if JIT else 100), UCT(20 if JIT else 5)]),
        (tictactoe_v0.env(), lambda: [UCT(200), RandomAgent()]),
        pytest.param(
            gomoku_v0.env(board_size=6, connect=4),
            lambda: [UCT(200), RandomAgent()],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["hex", "greedy", "more simulations", "tictactoe", "gomoku"],
)
def test_the_better_player_wins(env, players):
    games = 40 if JIT else 24
    summary = summarise(list(play_match(env, players(), games)))
    assert summary.score * games >= fewest_wins(games)
    assert summary.illegal_moves == (0, 0)


@pytest.mark.parametrize(("first", "outcome"), [(0, 1), (1, -1)])
def test_a_game_between_two_agents(first, outcome):
    # The lowest free cell each: X takes 1, 3, 5, 7 and wins.
    env = started("tictactoe")
    agents = [Scripted(), Scripted()]
    seen = []
    result = play_game(
        env, agents, first, lambda env, number, action: seen.append((number, action))
    )

    assert result.first == first
    assert result.outcome == outcome
    assert result.actions == (0, 1, 2, 3, 4, 5, 6)
    assert result.illegal is None
    assert result.moves == ((4, 3) if first == 0 else (3, 4))
    assert all(seconds > 0 for seconds in result.seconds)
    assert seen == [((first + ply) % 2, ply) for ply in range(7)]
    assert agents[first].asked == [(ply, "player_0") for ply in (0, 2, 4, 6)]
    assert agents[1 - first].asked == [(ply, "player_1") for ply in (1, 3, 5)]


@pytest.mark.parametrize(
    ("moves", "line", "outcome"),
    [("", [0, 1, 2, 4, 3, 5, 7, 6, 8], 0), ("142", [2, 4, 5, 6, 7, 8], 1)],
    ids=["a draw", "from the middle"],
)
def test_whole_games(moves, line, outcome):
    plan = dict(enumerate(line, len(moves)))
    result = play_game(at(tictactoe_v0, moves=moves), [Scripted(plan), Scripted(plan)])
    assert (result.outcome, result.actions) == (outcome, tuple(line))
    assert result.moves == (len(line) - len(line) // 2, len(line) // 2)


@pytest.mark.parametrize("action", [0, 9, -1, 10**6, None, 3.0, "3"])
@pytest.mark.parametrize(("first", "illegal"), [(0, 1), (1, 0)])
def test_an_illegal_action_loses_at_once(first, illegal, action):
    result = play_game(started("tictactoe"), [Scripted({1: action}), Scripted({1: action})], first)
    assert result.illegal == illegal
    assert result.outcome == (1 if illegal == 1 else -1)
    assert result.actions == (0,)
    assert sorted(result.moves) == [1, 1]


def test_a_match_alternates_the_sides():
    agents = [Scripted(), Scripted()]
    results = list(play_match(started("tictactoe"), agents, 5, seed=3))
    assert [result.first for result in results] == [0, 1, 0, 1, 0]
    assert [result.outcome for result in results] == [1, -1, 1, -1, 1]
    seeds = agents[0].seeds + agents[1].seeds
    assert len(set(seeds)) == len(seeds) == 10  # each game and agent its own


def test_both_games_of_a_pair_have_one_start():
    env = gomoku_v0.env(board_size=5, opening=["a1", "b2", "c3", "d4"])
    match = play_match(env, [Scripted(), Scripted()], 12, seed=3)
    starts = [env.unwrapped.moves.split()[0] for _ in match]
    assert starts[::2] == starts[1::2]
    assert len(set(starts)) > 1


def facts(results):
    """All of the results but the times."""
    return [(r.first, r.outcome, r.actions, r.illegal, r.moves) for r in results]


def test_a_match_is_settled_by_its_seed():
    def match(seed, games=4):
        env = connect4_v0.env()
        return facts(play_match(env, [UCT(20), GreedyAgent()], games, seed))

    first = match(1)
    assert match(1) == first != match(2)
    assert match(1, games=2) == first[:2]
    endless = play_match(connect4_v0.env(), [RandomAgent(), RandomAgent()], 10**9)
    assert [next(endless).first for _ in range(2)] == [0, 1]  # as they come


def test_a_match_over_pettingzoo_is_the_match_over_ours(connect_four):
    def match(module):
        agents, seen = [UCT(15, playout="generic"), GreedyAgent()], []
        note = lambda env, number, action: seen.append(action)  # noqa: E731
        results = list(play_match(module.env(), agents, 2, seed=5, on_move=note))
        assert tuple(seen) == results[0].actions + results[1].actions
        return facts(results)

    assert match(connect_four) == match(connect4_v0)


def game(first, outcome, plies=7, illegal=None, seconds=(1.0, 2.0), moves=(4, 3)):
    return GameResult(first, outcome, tuple(range(plies)), illegal, seconds, moves)


def test_a_summary_by_hand():
    results = [
        game(first=0, outcome=1, plies=9),
        game(first=1, outcome=1, plies=5, illegal=1),
        game(first=0, outcome=0, plies=9, seconds=(0.0, 4.0)),
        game(first=1, outcome=-1, plies=6, moves=(4, 1)),
        game(first=0, outcome=-1, plies=1, illegal=0),
    ]
    summary = summarise(results)
    assert summary == MatchSummary(
        games=5,
        distinct=5,
        opened=0,
        wins=2,
        draws=1,
        losses=2,
        score=0.5,
        interval=score_interval([2.0, 0.5, 0.0], [2, 2, 1]),
        wins_moving_first=(1, 1),
        games_moving_first=(3, 2),
        illegal_moves=(1, 1),
        seconds_per_move=pytest.approx((4 / 20, 12 / 13)),
        plies=6.0,
    )
    told = json.loads(json.dumps(summary.as_json()))
    assert told.keys() >= {"games", "wins", "draws", "losses", "score", "reasons"}
    assert told["interval"] == list(summary.interval)
    assert (told["illegal_moves"], told["assumed"]) == ([1, 1], [None, None])


def test_an_empty_match_is_told_at_the_call():
    with pytest.raises(ValueError, match="games of at least 1, got 0"):
        play_match(tictactoe_v0.env(), [RandomAgent(), RandomAgent()], games=0)
    with pytest.raises(ValueError, match="at least one game"):
        summarise([])


def test_a_missing_library_is_told_before_a_search(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r"\[train\]"):
        make_agent("own-network:file=net.safetensors")


def test_the_name_of_a_file_is_no_torch_module():
    torch = pytest.importorskip("torch", reason="the extra torch is not installed")
    for given in ("net.pt", torch.nn.Linear, {"weight": 1}, None):
        with pytest.raises(ValueError, match="expected a module of PyTorch"):
            PolicyAgent.from_torch(given)


def test_a_repeated_game_adds_nothing():
    pair = [game(first=0, outcome=1), game(first=1, outcome=-1)]
    once, often = summarise(pair), summarise(pair * 30)
    assert (often.games, often.distinct, often.wins) == (60, 2, 30)
    assert (often.score, often.interval) == (once.score, pytest.approx(once.interval))
    odd = summarise([*pair * 30, game(first=0, outcome=-1)])  # the same moves, another outcome
    assert odd.distinct == 3


def test_a_match_draws_openings():
    def starts(opening_plies, agents=(Scripted, Scripted), env="tictactoe"):
        players = [agent() for agent in agents]
        played = play_match(started(env), players, 8, 3, opening_plies=opening_plies)
        return [(result.first, result.actions[: result.opening]) for result in played]

    assert [len(start) for _, start in starts(2)] == [2] * 8
    assert [first for first, _ in starts(2)] == [0, 1] * 4
    assert [start for _, start in starts(2)][::2] == [start for _, start in starts(2)][1::2]
    assert [len(start) for _, start in starts(0)] == [0] * 8
    assert [len(start) for _, start in starts(None)] == [0] * 4 + [2] * 4
    assert starts(None)[4:] == starts(2)[4:]
    assert [len(start) for _, start in starts(None, (RandomAgent, Scripted))] == [0] * 8
    with pytest.raises(ValueError, match="expected an opening of 9 plies"):
        starts(9)


def test_forfeits_are_lost_and_told_with_their_reasons():
    class Late(RandomAgent):
        def act(self, env):
            raise ForfeitError("no answer in 1 s")

    results = list(play_match(tictactoe_v0.env(), [RandomAgent(0), Late()], 2))
    assert [(r.outcome, r.forfeit, r.forfeited_by, r.illegal) for r in results] == [
        (1, "no answer in 1 s", 1, None)
    ] * 2
    assert [r.moves for r in results] == [(1, 1), (0, 1)]
    summary = summarise(results)
    assert (summary.wins, summary.forfeits, summary.illegal_moves) == (2, (0, 2), (0, 0))
    assert summary.reasons == tuple(f"game {n}: B forfeits: no answer in 1 s" for n in (1, 2))
