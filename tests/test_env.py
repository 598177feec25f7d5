"""The environments as PettingZoo wants them, and what ours promise beyond."""

import base64
import contextlib
import importlib
import io
import itertools
import pickle
import re
import warnings

import gymnasium
import numpy as np
import pettingzoo
import pytest
from environments import (
    BOARDS,
    KINDS,
    MODULES,
    SMALL,
    legal_actions,
    make,
    plain,
    play_out,
    random_action,
    random_game,
    view,
    whole_game,
)
from pettingzoo.classic.connect_four import connect_four

import hexenv
from hexenv import connect4_v0, hex_v0
from hexenv.envs.aec import BoardEnv
from hexenv.games import base, notation
from hexenv.render.look import THEMES, Look
from hexenv.render.rgb import render_rgb
from hexenv.render.svg import render_svg
from hexenv.testing import record_game

with warnings.catch_warnings():  # it imports one of its own games in a way that it deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, render_test, seed_test

VIEWS = {
    "default": {},
    "planes": {"planes": ("side", "last_move")},
    "channels-first": {"channels_first": True},
    "float32": {"dtype": np.float32},
    "bool": {"dtype": bool},
    "mask-in-observation": {"mask_in": "observation"},
    "mask-in-info": {"mask_in": "info"},
    "mask-in-info-and-side": {"mask_in": "info", "planes": ("side",)},
}

CASES = {
    **{f"{board}-{kind}": (board, {}, kind) for board in BOARDS for kind in KINDS},
    **{f"hex-3-swap-{name}": ("hex-3-swap", options, "env") for name, options in VIEWS.items()},
}
"""Every board in both kinds, and every view once."""

over_cases = pytest.mark.parametrize(("board", "options", "kind"), CASES.values(), ids=CASES)
over_kinds = pytest.mark.parametrize("kind", KINDS)
over_views = pytest.mark.parametrize("options", VIEWS.values(), ids=VIEWS)
over_boards = pytest.mark.parametrize("board", BOARDS)
over_small_boards = pytest.mark.parametrize("board", SMALL)
over_modules = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)


def mask_of(env, agent):
    """The action mask of an agent, wherever this environment puts it."""
    observation = env.observe(agent)
    if isinstance(observation, dict):
        return observation["action_mask"]
    return env.infos[agent]["action_mask"]


def planes_of(env, agent):
    """What an agent sees of the board: a dict of planes, by name, each ``(rows, columns)``."""
    observation = env.observe(agent)
    if isinstance(observation, dict):
        observation = observation["observation"]
    names = env.metadata["planes"]
    assert observation.shape[2] == len(names)
    return {name: observation[:, :, number] for number, name in enumerate(names)}


# ---- PettingZoo's own tests ----------------------------------------------------------------------

DICT_OBSERVATION = {
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or "
    "gymnasium.spaces.discrete",
}
"""What PettingZoo says of every dict observation, unless it knows the environment by its name."""

EMPTY_BOARD = {"Observation numpy array is all zeros."}
"""What it says of an empty board, unless some plane is not about stones."""


def warnings_of(call):
    """The texts of all warnings of a call, and what it printed."""
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(io.StringIO()) as printed,
    ):
        warnings.simplefilter("always")
        call()
    return {str(warning.message) for warning in caught}, printed.getvalue()


@over_cases
def test_api(board, options, kind):
    env = make(board, kind, **options)
    expected = set()
    if options.get("mask_in") != "info":
        expected |= DICT_OBSERVATION
    if not {"side", "black"}.intersection(env.metadata["planes"]):
        expected |= EMPTY_BOARD

    caught, printed = warnings_of(lambda: api_test(env, num_cycles=1000))

    assert caught == expected
    assert printed == "Starting API test\nPassed API test\n"


@over_cases
def test_two_environments_with_one_seed_are_the_same(board, options, kind):
    made = []

    def constructor():
        made.append(make(board, kind, **options))
        return made[-1]

    seed_test(constructor, num_cycles=1000)
    first, second = made
    assert view(first) == view(second)
    assert all(first.terminations.values())


def without_waiting(board, kind, **options):
    """An environment whose window shows its frames as fast as they come."""
    env = make(board, kind, **options)
    env.metadata["render_fps"] = 0
    return env


@pytest.mark.parametrize(
    ("board", "kind"), [*((board, "raw_env") for board in SMALL), ("hex-3", "env")]
)
def test_rendering(board, kind, monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    modes = []

    def constructor(render_mode):
        modes.append(render_mode)
        return without_waiting(board, kind, render_mode=render_mode)

    caught, printed = warnings_of(lambda: render_test(constructor))

    assert modes == ["human", "human", "ansi", "rgb_array", "svg", "rgb_array_list"]
    assert caught == set()
    assert printed == ""


# ---- names and places ----------------------------------------------------------------------------


@over_modules
def test_a_module_makes_raw_and_wrapped_environments(module):
    name = module.__name__.rpartition(".")[2]
    raw, wrapped = module.raw_env(), module.env()
    assert type(raw) is BoardEnv
    assert isinstance(wrapped, pettingzoo.utils.wrappers.OrderEnforcingWrapper)
    for env in (raw, wrapped):
        assert str(env) == name
        assert isinstance(env.unwrapped, BoardEnv)
        assert env.metadata == {
            "name": name,
            "render_modes": ["human", "ansi", "rgb_array", "svg", "rgb_array_list"],
            "is_parallelizable": False,
            "is_turn_based": True,
            "has_perfect_information": True,
            "is_deterministic": True,
            "render_fps": 2,
            "planes": env.unwrapped.planes,
        }
        assert env.render_mode is None
        assert env.possible_agents == ["player_0", "player_1"]


@over_modules
@over_kinds
def test_constructors_can_be_sent_to_other_processes(module, kind):
    constructor = getattr(module, kind)
    assert constructor.__name__ == kind
    assert pickle.loads(pickle.dumps(constructor)) is constructor


def test_environments_do_not_share_what_can_be_changed():
    first, second = hex_v0.raw_env(), hex_v0.raw_env()
    first.metadata["render_fps"] = 9
    first.possible_agents.clear()
    assert second.metadata["render_fps"] == 2
    assert second.possible_agents == ["player_0", "player_1"]


needs_registry = pytest.mark.skipif(
    not hasattr(pettingzoo, "make"), reason="this PettingZoo has no registry"
)
REGISTERED = {
    "hexenv/hex": ({"board_size": 5}, "hex_v0", 25),
    "hexenv/connect4": ({"columns": 5}, "connect4_v0", 5),
    "hexenv/tictactoe": ({"mask_in": "info"}, "tictactoe_v0", 9),
    "hexenv/gomoku": ({"board_size": 7}, "gomoku_v0", 49),
}


@needs_registry
@pytest.mark.parametrize("version", ["-v0", ""])
@pytest.mark.parametrize("name", REGISTERED)
def test_registry(name, version):
    options, expected, actions = REGISTERED[name]
    env = pettingzoo.make("aec", name + version, **options)
    assert str(env) == expected
    assert env.action_space("player_0").n == actions
    assert isinstance(env, pettingzoo.utils.wrappers.OrderEnforcingWrapper)


@needs_registry
def test_registering_twice_does_no_harm():
    before = dict(pettingzoo.aec_registry)
    importlib.reload(hexenv)
    assert dict(pettingzoo.aec_registry) == before


@pytest.mark.parametrize(
    "options",
    [
        {"render_mode": "png"},
        {"theme": "pink"},
        {"cell_size": 4},
        {"mask_in": "observations"},
        {"planes": ("side", "history")},
        {"planes": "sides"},
    ],
)
@over_modules
def test_unknown_options_are_refused(module, options):
    (value,) = options.values()
    value = value[-1] if isinstance(value, tuple) else value
    with pytest.raises(ValueError, match=f"got {value!r}"):
        module.env(**options)


# ---- spaces and observations ---------------------------------------------------------------------


@over_cases
def test_spaces_contain_every_observation(board, options, kind):
    env = make(board, kind, **options)
    dtype = np.dtype(options.get("dtype", np.int8))
    for agent in env.possible_agents:
        assert env.observation_space(agent) is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert env.action_space(agent) == gymnasium.spaces.Discrete(
            env.unwrapped.game.num_actions()
        )
    assert env.observation_space("player_0") is not env.observation_space("player_1")

    env.reset()
    rng = np.random.default_rng(1)
    actions = itertools.chain(random_game(env, rng), [None, None])
    for action in actions:
        for agent in env.possible_agents:
            space, seen = env.observation_space(agent), env.observe(agent)
            assert space.contains(seen)
            if options.get("mask_in") == "info":
                assert isinstance(space, gymnasium.spaces.Box)
                assert seen.dtype == space.dtype == dtype
            else:
                assert list(space.spaces) == ["observation", "action_mask"]
                assert list(seen) == ["observation", "action_mask"]
                assert list(space.sample()) == ["observation", "action_mask"]
                assert seen["observation"].dtype == space["observation"].dtype == dtype
                assert seen["action_mask"].dtype == space["action_mask"].dtype == np.int8
        env.step(action)
    assert env.agents == []


@over_small_boards
def test_planes_are_the_stones_as_either_player_sees_them(board):
    env = make(board)
    env.reset()
    seen = []
    for action in random_game(env, np.random.default_rng(2)):
        env.step(action)
        owners = base.cell_owners(env.game, env.state)
        for player, agent in enumerate(env.possible_agents):
            planes = planes_of(env, agent)
            assert np.array_equal(planes["own"], owners == player)
            assert np.array_equal(planes["opponent"], owners == 1 - player)
        seen.append(plain(env.observe("player_0")["observation"]))
    assert len({repr(planes) for planes in seen}) == len(seen)


@pytest.mark.parametrize("board", ["hex-3", "hex-2x4", "hex-3-swap", "hex"])
def test_side_and_swap_planes_of_hex(board):
    env = make(board)
    env.reset()
    swap = env.game.swap
    assert env.metadata["planes"] == ("own", "opponent", "side", *(["swap"] if swap else []))
    for action in random_game(env, np.random.default_rng(3)):
        for agent in env.possible_agents:
            planes = planes_of(env, agent)
            assert (planes["side"] == (env.agent_selection == "player_0")).all()
            if swap:
                assert (planes["swap"] == mask_of(env, env.agent_selection)[-1]).all()
                assert (planes["swap"] == (len(env.actions) == 1)).all()
        env.step(action)


@over_small_boards
def test_extra_planes(board):
    env = make(board, planes=("last_move", "side"))
    own = env.game.planes()  # which the others follow, each once
    extra = ("last_move",) if "side" in own else ("last_move", "side")
    assert env.metadata["planes"] == (*own, *extra)
    rng = np.random.default_rng(4)
    for _ in range(3):
        env.reset()
        assert not planes_of(env, "player_1")["last_move"].any()
        board_before = base.cell_owners(env.game, env.state)
        for action in random_game(env, rng):
            env.step(action)
            now = base.cell_owners(env.game, env.state)
            mover = 1 - env.possible_agents.index(env.agent_selection)
            new_stone = (now == mover) & (board_before != mover)
            assert new_stone.sum() == 1
            for agent in env.possible_agents:
                planes = planes_of(env, agent)
                assert (planes["side"] == (env.agent_selection == "player_0")).all()
                assert np.array_equal(planes["last_move"], new_stone)
            board_before = now


def test_last_move_after_the_swap_is_where_the_stone_went():
    env = hex_v0.raw_env(board_size=3, swap=True, planes="last_move")
    env.reset(options={"moves": "b1 swap"})
    planes = planes_of(env, "player_1")
    assert np.argwhere(planes["last_move"]).tolist() == [[1, 0]]
    assert np.argwhere(planes["own"]).tolist() == [[1, 0]]
    assert not planes["opponent"].any()


@over_kinds
@over_small_boards
def test_channels_first_and_dtypes_change_nothing_else(board, kind):
    extra = {"planes": ("side", "last_move")}
    env = make(board, kind, **extra)
    turned = make(board, kind, channels_first=True, **extra)
    others = [make(board, kind, dtype=dtype, **extra) for dtype in ("float32", bool, np.uint8)]
    for each in (env, turned, *others):
        each.reset()
    for action in random_game(env, np.random.default_rng(5)):
        for each in (env, turned, *others):
            each.step(action)
        for agent in env.possible_agents:
            planes = env.observe(agent)["observation"]
            channels_first = turned.observe(agent)["observation"]
            assert np.array_equal(channels_first, planes.transpose(2, 0, 1))
            assert channels_first.flags.c_contiguous
            for other, dtype in zip(others, (np.float32, np.bool_, np.uint8), strict=True):
                converted = other.observe(agent)["observation"]
                assert converted.dtype == dtype
                assert np.array_equal(converted, planes)


def test_connect4_shows_what_pettingzoos_shows():
    ours, theirs = connect4_v0.raw_env(), connect_four.raw_env()
    rng = np.random.default_rng(6)
    for _ in range(20):
        ours.reset()
        theirs.reset()
        for action in random_game(ours, rng):
            for agent in ours.possible_agents:
                assert plain(ours.observe(agent)) == plain(theirs.observe(agent))
            ours.step(action)
            theirs.step(action)
            assert ours.agent_selection == theirs.agent_selection
            assert ours.rewards == theirs.rewards
            assert ours.terminations == theirs.terminations


# ---- masks ---------------------------------------------------------------------------------------


@over_kinds
@pytest.mark.parametrize("mask_in", ["both", "observation", "info"])
@over_small_boards
def test_masks(board, mask_in, kind):
    env = make(board, kind, mask_in=mask_in)
    env.reset()
    size = env.action_space("player_0").n
    actions = itertools.chain(random_game(env, np.random.default_rng(8)), [None, None])
    for action in actions:
        legal = base.legal_actions(env.unwrapped.game, env.unwrapped.state)
        for agent in env.agents:
            mask = mask_of(env, agent)
            assert mask.dtype == np.int8
            assert mask.shape == (size,)
            expected = legal if agent == env.agent_selection else []
            assert np.flatnonzero(mask).tolist() == expected
            assert set(mask.tolist()) <= {0, 1}
            keys = [] if mask_in == "observation" else ["action_mask"]
            assert list(env.infos[agent]) == keys
            if mask_in == "both":
                assert plain(env.infos[agent]["action_mask"]) == plain(mask)
        assert list(env.infos) == env.agents
        env.step(action)
    assert env.infos == {}


@over_kinds
@over_views
def test_no_two_calls_share_memory(options, kind):
    env = make("hex-3", kind, **options)
    env.reset()

    def arrays():
        for agent in env.possible_agents:
            seen = env.observe(agent)
            yield from seen.values() if isinstance(seen, dict) else [seen]
        yield from (mask for info in env.infos.values() for mask in info.values())

    kept = list(arrays())
    for action in random_game(env, np.random.default_rng(10)):
        env.step(action)
        kept.extend(arrays())
    assert len(kept) >= 6 * 2
    for first, second in itertools.combinations(kept, 2):
        assert not np.shares_memory(first, second)


# ---- the course of a game ------------------------------------------------------------------------

# The moves before the last, the last, and the winner.
ENDINGS = {
    "hex-3": ("a1 b1 a2 b2", "a3", 0),
    "hex-2x4": ("a1 a2 b1 b2 c1 c2 d1", "d2", 1),
    "hex-3-swap": ("b1 swap a1 b2 a3", "c2", 1),
    "connect4-4x5": ("1213", "1", 0),
    "connect4": ("7121213", "1", 1),
    "tictactoe": ("1425", "3", 0),
    "gomoku-4": ("a1 a2 b1 b2 d4", "c2", 1),
    "gomoku-9": ("a1 a2 b1 b2 c1 c2 d1 d2", "e1", 0),
}
DRAW = ("12354687", "9", None)
over_endings = pytest.mark.parametrize(
    ("board", "ending"), [*ENDINGS.items(), ("tictactoe", DRAW)], ids=[*ENDINGS, "draw"]
)


def before_the_end(board, kind, ending, **options):
    """An environment in the position before the last move, and the action of that move."""
    moves, last, _ = ending
    env = make(board, kind, **options)
    env.reset(options={"moves": moves})
    return env, env.unwrapped.game.parse_action(last)


def rewards_of(winner):
    """The rewards by agent."""
    if winner is None:
        return {"player_0": 0, "player_1": 0}
    return {f"player_{winner}": 1, f"player_{1 - winner}": -1}


def all_booleans(env):
    """Whether terminations and truncations are Python's own, which api_test asks for."""
    return all(type(x) is bool for d in (env.terminations, env.truncations) for x in d.values())


@over_kinds
@over_endings
def test_timeline_of_rewards(board, ending, kind):
    env, action = before_the_end(board, kind, ending)
    rewards = rewards_of(ending[2])
    mover = env.agent_selection
    (other,) = set(env.possible_agents) - {mover}
    nothing = {"player_0": 0, "player_1": 0}

    assert env.rewards == env._cumulative_rewards == nothing
    assert env.terminations == env.truncations == {"player_0": False, "player_1": False}
    assert all_booleans(env)
    assert env.last()[1:4] == (0, False, False)

    env.step(action)  # right after the last move both rewards are there
    assert env.rewards == env._cumulative_rewards == rewards
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.truncations == {"player_0": False, "player_1": False}
    assert all_booleans(env)
    assert env.agents == ["player_0", "player_1"]
    assert legal_actions(env) == []

    assert env.agent_selection == other  # whose turn it would be
    assert env.last()[1:4] == (rewards[other], True, False)

    env.step(None)  # the mover is told last, by `last` alone
    assert env.agents == [mover]
    assert env.agent_selection == mover
    assert env.rewards == {mover: 0}
    assert env._cumulative_rewards == {mover: rewards[mover]}
    assert env.last()[1:4] == (rewards[mover], True, False)

    env.step(None)
    assert env.agents == []
    for shown in (env.rewards, env._cumulative_rewards, env.terminations, env.truncations):
        assert shown == {}
    assert env.infos == {}


@over_kinds
@over_endings
def test_observations_after_the_end(board, ending, kind):
    env, action = before_the_end(board, kind, ending)
    env.step(action)
    at_the_end = {agent: plain(env.observe(agent)) for agent in env.possible_agents}
    for _ in range(2):  # and when one or both agents are gone
        env.step(None)
        assert {agent: plain(env.observe(agent)) for agent in env.possible_agents} == at_the_end


@over_boards
def test_games_in_the_documented_loop(board):
    env = make(board, "env")
    for seed in range(3):
        env.reset(seed=seed)
        for number, agent in enumerate(env.possible_agents):
            env.action_space(agent).seed(seed + number)
        total = dict.fromkeys(env.possible_agents, 0)
        turns = []
        for agent in env.agent_iter():
            observation, reward, termination, truncation, info = env.last()
            total[agent] += reward
            turns.append(agent)
            if termination or truncation:
                action = None
            else:
                mask = info["action_mask"] if "action_mask" in info else observation["action_mask"]
                action = env.action_space(agent).sample(mask)
            env.step(action)
        env.close()

        raw = env.unwrapped
        plies = len(raw.actions)
        assert plies == raw.state.ply <= raw.game.max_plies()
        assert len(turns) == plies + 2
        players = record_game(raw.game, raw.actions).players
        assert turns[:plies] == [f"player_{player}" for player in players[:plies]]
        assert sorted(turns[plies:]) == ["player_0", "player_1"]
        assert list(total.values()) == [raw.game.outcome(raw.state, player) for player in (0, 1)]
        assert sum(total.values()) == 0
        if raw.state.winner != base.DRAW:
            assert total[f"player_{raw.state.winner}"] == 1


@pytest.mark.compiled
@pytest.mark.parametrize(
    "board",
    [
        *SMALL,
        *(pytest.param(board, marks=pytest.mark.slow) for board in BOARDS if board not in SMALL),
    ],
)
def test_a_game_may_be_in_plain_python(board):
    """Rules that are not compiled show the same."""
    env = make(board)
    game = type("Plain", (type(env.game),), {})(*env.game)
    interpreted = BoardEnv(game, "plain_v0", planes=("last_move",))
    compiled = BoardEnv(env.game, "compiled_v0", planes=("last_move",))
    interpreted.reset()
    compiled.reset()
    for action in random_game(compiled, np.random.default_rng(11)):
        interpreted.step(action)
        compiled.step(action)
        for agent in compiled.possible_agents:
            assert plain(interpreted.observe(agent)) == plain(compiled.observe(agent))
            assert plain(interpreted.infos) == plain(compiled.infos)
        assert interpreted.rewards == compiled.rewards
        assert interpreted.agent_selection == compiled.agent_selection
    assert all_booleans(interpreted)


# ---- actions -------------------------------------------------------------------------------------


# The moves played, the action, and what the message says beside them.
REFUSED = [
    ("hex-5", "e3 c3", 14, "e3 is taken"),
    ("hex-5", "e3 c3", 25, "expected 0 to 24"),
    ("hex-5", "", -1, "expected 0 to 24"),
    ("hex-5", "a1", 10**30, "expected 0 to 24"),
    ("hex-5", "a1", None, "not an integer"),
    ("hex-5", "a1", 3.0, "not an integer"),
    ("hex-5", "a1", float("nan"), "not an integer"),
    ("hex-5", "a1", np.float32(3), "not an integer"),
    *(("hex-5", "a1", each, "not an integer") for each in ("b2", "3", 1.5, float("inf"), [3])),
    ("hex-5", "a1", np.array([3, 4]), "not an integer"),
    ("hex-5-swap", "a1 a2", 25, "the swap is legal only at ply 1"),
    ("connect4-4x5", "3333", 2, "column 3 is full"),
    ("tictactoe", "5", 4, "5 is taken"),
    ("gomoku-7x9", "a7", 0, "a7 is taken"),
]


@pytest.mark.parametrize(("board", "moves", "action", "message"), REFUSED)
def test_an_illegal_action_is_refused_and_changes_nothing(board, moves, action, message):
    env = make(board, planes=("last_move",))
    env.reset(options={"moves": moves})
    before = view(env)
    assert not env.is_legal(action)
    with pytest.raises(hexenv.IllegalActionError) as caught:
        env.step(action)
    where = f"(ply {len(env.actions)})"
    assert str(caught.value).startswith(f"illegal action {action!r}: {message}")
    assert str(caught.value).endswith(where)
    assert isinstance(caught.value, ValueError)
    assert view(env) == before


# ---- reset ---------------------------------------------------------------------------------------


@over_kinds
@over_boards
def test_reset_starts_again(board, kind):
    env, fresh = make(board, kind), make(board, kind)
    fresh.reset()
    env.reset(seed=3)
    assert view(env) == view(fresh)
    rng = np.random.default_rng(14)
    for action in itertools.islice(random_game(env, rng), 3):
        env.step(action)
    env.reset(seed=5, options={"options": 1})
    assert view(env) == view(fresh)
    play_out(env, rng)
    env.reset(options={"moves": None, "board": None, "state": None})
    assert view(env) == view(fresh)


@over_small_boards
def test_nothing_is_left_of_a_game_that_was_given_up(board):
    """Reset in the middle, after an illegal move, between dead steps: the next game is the same."""
    env, fresh = make(board, "env"), make(board, "env")
    for illegal_at in (None, 1, 2):
        moment, is_last = 0, False
        while not is_last:
            env.reset()
            given_up = whole_game(env, np.random.default_rng(23), illegal_at)
            for action in itertools.islice(given_up, moment):
                env.step(action)
            is_last = not env.agents
            env.reset()
            fresh.reset()
            for action in whole_game(fresh, np.random.default_rng(24)):
                assert view(env) == view(fresh)
                env.step(action)
                fresh.step(action)
            assert view(env) == view(fresh)
            moment += 1
        assert moment >= 4


@over_kinds
@over_small_boards
def test_positions_that_reset_starts_from(board, kind):
    """At every ply of a game its moves, board, bytes and record start the same position."""
    played = make(board, kind)
    rng = np.random.default_rng(15)
    played.reset()
    for action in itertools.chain([None], random_game(played, rng)):
        if action is not None:
            played.step(action)
        raw = played.unwrapped
        shown = view(played)

        env = make(board, kind)
        env.reset(options={"moves": raw.moves})
        assert view(env) == shown

        rows = base.cell_owners(raw.game, raw.state)
        text = "/".join("".join(".XO"[owner + 1] for owner in row) for row in rows)
        to_play = env.possible_agents.index(played.agent_selection)
        for options in (
            {"state": raw.to_bytes()},
            {"state": raw.state},
            {"state": played.state},
            {"board": text, "to_play": to_play},
        ):
            env = make(board, kind)
            env.reset(options=options)
            assert env.unwrapped.actions == []
            if "state" in options:
                assert env.unwrapped.to_bytes() == raw.to_bytes()
            for name in ("agents", "agent_selection", "rewards", "_cumulative_rewards", "infos"):
                assert plain(getattr(env, name)) == plain(getattr(played, name)), name
            assert env.terminations == played.terminations
            assert env.truncations == played.truncations
            for agent in env.possible_agents:
                assert plain(env.observe(agent)) == plain(played.observe(agent))
            # And it can be played on from there.
            other = played.clone()
            for action in random_game(env, np.random.default_rng(16)):
                env.step(action)
                other.step(action)
            assert env.rewards == other.rewards
            assert plain(env.last()) == plain(other.last())


@over_kinds
@over_endings
def test_reset_to_a_position_that_is_over(board, ending, kind):
    played, action = before_the_end(board, kind, ending)
    played.step(action)
    env = make(board, kind)
    for options in (
        {"moves": played.unwrapped.moves},
        {"state": played.unwrapped.to_bytes()},
        {"state": played.unwrapped.state},
    ):
        env.reset(options=options)
        rewards = rewards_of(ending[2])
        assert env.terminations == {"player_0": True, "player_1": True}
        assert env.truncations == {"player_0": False, "player_1": False}
        assert all_booleans(env)
        assert env.rewards == env._cumulative_rewards == rewards
        assert legal_actions(env) == []
        told = {}
        for agent in env.agent_iter():
            told[agent] = env.last()[1]
            env.step(None)
        assert told == rewards


def position(board, moves):
    """The position of a board after some moves, as bytes and as a record."""
    env = make(board)
    env.reset(options={"moves": moves})
    return {"data": env.to_bytes(), "state": env.state}


def test_a_board_says_who_is_to_move_unless_told():
    env = hex_v0.raw_env(board_size=3, swap=True)
    env.reset(options={"board": "X.. / .O. / ..."})
    assert env.agent_selection == "player_0"
    env.reset(options={"board": "X.. / .O. / X.."})
    assert env.agent_selection == "player_1"
    env.reset(options={"board": "... / O.. / ..."})  # after the swap
    assert env.agent_selection == "player_0"
    env.reset(options={"board": "X.. / .O. / ...", "to_play": np.int64(1)})  # and X once more
    assert env.agent_selection == "player_1"
    assert np.flatnonzero(mask_of(env, "player_1")).tolist() == [1, 2, 3, 5, 6, 7, 8]


def given(key, board, moves):
    """Options with a position of another board, for a test to make."""
    return {"state": lambda: position(board, moves)[key]}


# The board, the options of reset (or how to make them) and part of the message.
UNREADABLE = {
    "taken cell": ("hex-3", {"moves": "a1 a1"}, "move 2 of 2: illegal action 0: a1 is taken"),
    "moves after the end": ("tictactoe", {"moves": "142536"}, "the game is over"),
    "moves as a list": ("hex-3", {"moves": ["a1"]}, "moves as text, got list"),
    "two positions": ("hex-3", {"moves": "", "board": "... / ... / ..."}, "moves and board"),
    "three positions": ("hex-3", {"moves": "", "board": "", "state": b""}, "board and state"),
    "board of two rows": ("hex-3", {"board": "... / ..."}, "3 rows"),
    "board as a list": ("hex-3", {"board": ["..."] * 3}, "board as text, got list"),
    "to_play of 2": ("hex-3", {"board": "XX. / ... / ...", "to_play": 2}, "to_play of 0 or 1"),
    "to_play of -1": ("hex-3", {"board": "O.. / ... / ...", "to_play": -1}, "to_play of 0 or 1"),
    "to_play by name": ("hex-3", {"board": "X../.../...", "to_play": "player_1"}, "to_play of"),
    "won by who is to play": ("tictactoe", {"board": "XXX / O.. / OO."}, "to play has won"),
    "no bytes": ("hex-3", {"state": b""}, "to_bytes"),
    "text for bytes": ("hex-3", {"state": "hexenv"}, "got str"),
    "number for bytes": ("hex-3", {"state": 3}, "got int"),
    "bytes of another game": ("tictactoe", given("data", "gomoku-4", "a1"), "of TicTacToe"),
    "bytes of another size": ("hex-3", given("data", "hex-5", "a1"), "of Hex"),
    "bytes of another option": ("hex-3", given("data", "hex-3-swap", "a1"), "of Hex"),
    "record of another game": ("hex-3", given("state", "gomoku-4", "a1"), "a state of hex"),
    "record of a larger board": ("hex-3", given("state", "hex-5", "d4 e5 a1 b2"), "board|action"),
    "record of a smaller board": ("hex-5", given("state", "hex-3", "a1 b2"), "damaged data"),
    "record of a wider board": ("connect4-4x5", given("state", "connect4", "17"), "expected a"),
}


@over_kinds
@pytest.mark.parametrize(("board", "options", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_bad_start_is_refused_and_changes_nothing(board, options, message, kind):
    options = {key: value() if callable(value) else value for key, value in options.items()}
    env = make(board, kind)
    new = view(env)
    with pytest.raises(ValueError, match=message):
        env.reset(options=options)
    assert view(env) == new
    assert not hasattr(env, "agents")  # as before reset

    env.reset()
    rng = np.random.default_rng(18)
    while env.agents:
        before = view(env)
        with pytest.raises(ValueError, match=message):
            env.reset(options=options)
        assert view(env) == before
        env.step(random_action(env, rng))


@pytest.mark.parametrize(
    ("larger", "smaller"),
    [("hex-5", "hex-3"), ("hex-3x5", "hex-3"), ("hex-5", "hex-2x4"), ("gomoku-9", "gomoku-4")],
)
def test_a_record_of_a_larger_board_never_reads_as_another_position(larger, smaller):
    """A record does not say how large its board is: where one is accepted, no stone is lost."""

    def stones(env):
        owners = base.cell_owners(env.game, env.state)
        return {tuple(place): owners[tuple(place)] for place in np.argwhere(owners != base.EMPTY)}

    source, env = make(larger), make(smaller)
    rng = np.random.default_rng(19)
    refused = 0
    for _ in range(8):
        source.reset()
        for action in random_game(source, rng):
            source.step(action)
            env.reset()
            before = view(env)
            try:
                env.reset(options={"state": source.state})
            except ValueError:
                assert view(env) == before
                refused += 1
            else:
                assert stones(env) == stones(source)
    assert refused > 40


# ---- pictures ------------------------------------------------------------------------------------


@over_kinds
def test_render_without_a_mode_warns(kind):
    env = make("hex-3", kind)
    env.reset()
    with pytest.warns(UserWarning, match="render was called without a render_mode"):
        assert env.render() is None


@over_kinds
def test_a_list_of_frames_has_each_position_once(kind):
    frames, films = (
        make("hex-3", kind, render_mode=mode) for mode in ("rgb_array", "rgb_array_list")
    )
    for env in (frames, films):
        env.reset()
    expected = [frames.render()]
    for action in random_game(frames, np.random.default_rng(2)):
        frames.step(action)
        films.step(action)
        expected.append(frames.render())
    for _ in films.agents:  # whose game is over
        films.step(None)
    assert np.array_equal(films.render(), expected)
    assert films.render() == []
    films.reset(options={"moves": "a1 b2"})
    films.reset()
    assert len(films.render()) == 1  # of a game that was left nothing is shown
    films.step(4)
    twin = films.unwrapped.clone()
    twin.step(0)
    assert (len(films.render()), len(twin.render())) == (1, 2)


@over_kinds
@pytest.mark.parametrize("theme", THEMES)
def test_how_pictures_look(kind, theme):
    options = {"theme": theme, "cell_size": 20, "coordinates": False}
    look = Look(**options)
    for mode, draw in (("rgb_array", render_rgb), ("svg", render_svg)):
        env = make("hex-3", kind, render_mode=mode, **options)
        env.reset(options={"moves": "b2"})
        raw = env.unwrapped
        assert np.array_equal(env.render(), draw(raw.game, raw.state, look=look))
        assert raw.look == look


@over_kinds
def test_notebooks_show_the_board_at_any_time(kind):
    env = make("hex-3", kind, theme="dark")
    assert env._repr_svg_() == board_of_moves("")
    env.reset(options={"moves": "a1 b2"})
    assert env._repr_svg_() == board_of_moves("a1 b2")
    image = re.fullmatch(
        r'<img alt="hex: X to play \(ply 2\)" src="data:image/svg\+xml;base64,(.*)">',
        env._repr_html_(),
    )
    assert base64.b64decode(image[1]).decode() == env._repr_svg_()


def board_of_moves(moves):
    game = make("hex-3").game
    state = notation.play(game, notation.parse_moves(game, moves))
    return render_svg(game, state, look=Look("dark"))


@over_kinds
def test_a_window(kind, monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = without_waiting("hex-3", kind, render_mode="human")
    assert pygame.display.get_surface() is None
    env.reset()
    first = pygame.image.tobytes(pygame.display.get_surface(), "RGB")
    assert env.render() is None
    env.step(4)
    second = pygame.image.tobytes(pygame.display.get_surface(), "RGB")
    assert first != second  # a step is shown at once
    env.close()
    assert pygame.display.get_surface() is None
    env.close()
    assert env.agents == ["player_0", "player_1"]
