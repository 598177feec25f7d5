"""Wrappers for learners: images of boards, the canonical side, stacks, flat boards, rewards."""

import copy

import gymnasium
import numpy as np
import pytest
from environments import SMALL, make, plain, single, vector
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from hexenv import IllegalActionError
from hexenv.envs.observation import cell_symmetries, observation_of
from hexenv.games import base, connect4, gomoku, hex, tictactoe
from hexenv.learners.single import SingleEnv
from hexenv.learners.vector import BoardVectorEnv
from hexenv.wrappers import (
    CanonicalHex,
    FlattenBoards,
    StackBoards,
    SymmetryAugmentation,
    VectorCanonicalHex,
    VectorFlattenBoards,
    VectorOneSidedReward,
    VectorStackBoards,
    VectorSymmetryAugmentation,
)

VIEWS = {
    "default": {},
    "mask-in-observation": {"mask_in": "observation"},
    "all": {
        "planes": ("side", "last_move"),
        "channels_first": True,
        "dtype": np.float32,
        "mask_in": "info",
    },
}
GAMES = {
    "hex": hex.new((2, 4)),
    "hex-swap": hex.new(3, swap=True),
    "connect4": connect4.new(),
    "connect4-in-two": connect4.new(3, 4, 2),
    "tictactoe": tictactoe.new(),
    "gomoku": gomoku.new((5, 6)),
}
WRAPPERS = {
    "symmetry": (SymmetryAugmentation, VectorSymmetryAugmentation),
    "canonical": (CanonicalHex, VectorCanonicalHex),
    "stack": (lambda env: StackBoards(env, 3), lambda env: VectorStackBoards(env, 3)),
    "flatten": (
        lambda env: FlattenBoards(env, np.float32),
        lambda env: VectorFlattenBoards(env, np.float32),
    ),
    "three": (
        lambda env: FlattenBoards(StackBoards(SymmetryAugmentation(env), 2)),
        lambda env: VectorFlattenBoards(VectorStackBoards(VectorSymmetryAugmentation(env), 2)),
    ),
}
"""The wrapper of a single environment and that of a vector environment."""

HEX = ["hex-3", "hex-3-swap"]
SIDES = ["first", "second", "random"]
MODES = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
NEIGHBOURS = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))

over_games = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
over_small_boards = pytest.mark.parametrize("board", SMALL)
over_hex = pytest.mark.parametrize("board", HEX)
over_sides = pytest.mark.parametrize("side", SIDES)
over_views = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
over_wrappers = pytest.mark.parametrize(("wrap", "wrap_many"), WRAPPERS.values(), ids=WRAPPERS)


def planes_of(observation):
    return observation["observation"] if isinstance(observation, dict) else observation


def masks_of(env):
    """The mask of a single environment, as sb3-contrib finds it; the masks of many boards."""
    if isinstance(env, gymnasium.Env):
        return env.get_wrapper_attr("action_masks")()
    return env.action_masks()


def plain_masks(observation, info):
    """The masks of an observation and of its info; there is at least one."""
    found = [observation["action_mask"]] if isinstance(observation, dict) else []
    found += [info["action_mask"]] if "action_mask" in info else []
    assert found
    return found


def any_legal(mask, rng):
    return int(rng.choice(np.flatnonzero(mask)))


# ---- symmetries of cells -------------------------------------------------------------------------


@over_games
def test_cells_move_as_the_group_says(game):
    actions, cells = game.symmetries(), cell_symmetries(game)
    assert (cells[0] == np.arange(game.rows * game.columns)).all()
    for first, first_cells in zip(actions, cells, strict=True):
        for then, then_cells in zip(actions, cells, strict=True):
            both = np.flatnonzero((actions == then[first]).all(axis=1))
            assert (cells[both] == then_cells[first_cells]).all(axis=1).tolist() == [True]


@pytest.mark.parametrize("name", ["hex", "hex-swap", "tictactoe", "gomoku"])
def test_cells_move_as_actions_where_actions_are_cells(name):
    game = GAMES[name]
    cells = game.rows * game.columns
    assert (cell_symmetries(game) == game.symmetries()[:, :cells]).all()


def test_the_columns_of_connect4_are_mirrored():
    board = np.arange(42).reshape(6, 7)
    assert (cell_symmetries(connect4.new())[1] == board[:, ::-1].ravel()).all()


class CellsUnknown(tictactoe.TicTacToe):
    def last_cell(self, state):
        return 0

    def cells_of_action(self, state, action):
        return []


# ---- games on images -----------------------------------------------------------------------------


@over_views
@over_small_boards
def test_what_is_played_on_images_is_a_game(board, view):
    """The actions chosen on images, played in a plain environment, show just what was shown."""
    envs = VectorSymmetryAugmentation(vector(board, 1, None, **view))
    twin, rng, met = make(board, **view), np.random.default_rng(1), set()
    for episode in range(30):
        observations, infos = envs.reset(seed=episode)
        twin.reset()
        met.add(int(envs.symmetries[0]))
        over = False
        while not over:
            mask = twin.infos[twin.agent_selection].get("action_mask")
            expected = twin.observe(twin.agent_selection)
            mask = expected["action_mask"] if mask is None else mask
            assert plain(observation_of(observations, 0)) == plain(expected)
            assert all((found[0] == mask).all() for found in plain_masks(observations, infos))
            assert (masks_of(envs)[0] == mask).all()
            action = any_legal(mask, rng)
            mover = twin.agent_selection
            twin.step(action)
            observations, rewards, terminations, _, infos = envs.step(np.array([action]))
            over = bool(terminations[0])
            assert over == twin.terminations[mover]
            assert rewards[0] == twin.rewards[mover]
        shown = twin.observe(twin.agent_selection)
        assert (planes_of(observations)[0] == planes_of(shown)).all()
    assert met == set(range(len(twin.game.symmetries())))


@over_sides
@over_small_boards
def test_actions_lead_back_to_the_game_below(board, side):
    env = SymmetryAugmentation(single(board, side=side))
    below, rng = single(board, side=side), np.random.default_rng(2)
    game = below.unwrapped.raw_env.game
    actions, cells = game.symmetries(), cell_symmetries(game)
    for episode in range(8):
        shown, info = env.reset(seed=episode)
        seen, _ = below.reset(seed=episode)
        over = False
        while not over:
            image, moved = actions[env.symmetry], cells[env.symmetry]
            flat = [o["observation"].reshape(len(moved), -1) for o in (shown, seen)]
            assert (flat[0][moved] == flat[1]).all()
            assert (info["action_mask"][image] == seen["action_mask"]).all()
            action = any_legal(masks_of(below), rng)
            seen, reward, over, _, _ = below.step(action)
            shown, *outcome, info = env.step(image[action])
            assert outcome == [reward, over, False]
            assert env.unwrapped.state.tobytes() == below.state.tobytes()


def test_symmetries_are_drawn_from_the_seed_of_reset():
    def drawn(seed):
        env = SymmetryAugmentation(single())
        env.reset(seed=seed)
        found = [env.symmetry]
        for _ in range(30):
            env.reset()
            found.append(env.symmetry)
        return found

    assert drawn(1) == drawn(1) != drawn(2)
    assert set(drawn(1)) == set(range(8))


def test_a_reset_without_a_seed_draws_a_symmetry_from_anywhere():
    env = SymmetryAugmentation(single())
    env.reset()
    envs = VectorSymmetryAugmentation(vector(num_envs=200))
    envs.reset()
    assert set(envs.symmetries.tolist()) == set(range(8))


def test_boards_take_the_seeds_of_a_list():
    envs = VectorSymmetryAugmentation(vector(num_envs=40))
    envs.reset(seed=5)
    numbers = envs.symmetries
    envs.reset(seed=list(range(5, 45)))
    assert (envs.symmetries == numbers).all()
    envs.reset(seed=[None] * 40)
    assert (envs.symmetries != numbers).any()


def test_a_reset_of_some_boards_seeds_no_others():
    envs, twins = (VectorSymmetryAugmentation(vector(num_envs=40)) for _ in "ab")
    some = np.arange(40) < 20
    for one, seed in ((envs, 1), (twins, 2)):
        one.reset(seed=0)
        one.reset(seed=seed, options={"reset_mask": some})
        one.reset()
    same = envs.symmetries == twins.symmetries
    assert same[20:].all()
    assert not same[:20].all()


# ---- the canonical side --------------------------------------------------------------------------


def swapped(game, owners):
    """The position with the colours swapped and transposed, player 0 to move."""
    state = base.new_state(game)
    for row, column in zip(*np.nonzero(owners != base.EMPTY), strict=True):
        cell = int(column) * game.columns + int(row)
        game.place(state, cell, 1 - int(owners[row, column]))
    return state


@over_views
@over_hex
def test_player_1_sees_the_swapped_board_as_player_0_would(board, view):
    envs, rng = VectorCanonicalHex(vector(board, 1, None, **view)), np.random.default_rng(3)
    raw = make(board, **view)
    kept = [raw.planes.index(name) for name in ("own", "opponent", "side")]  # no swap at ply 0
    axis = 0 if view.get("channels_first") else 2
    for _ in range(6):
        observations, _ = envs.reset()
        over = False
        while not over:
            state = envs.unwrapped.states.view(np.recarray)[0]
            if state.ply % 2 == 1:
                state = swapped(raw.game, base.cell_owners(raw.game, state))
            raw.begin_at(state, ())
            expected = planes_of(raw.observe("player_0")).take(kept, axis)
            shown = planes_of(observation_of(observations, 0)).take(kept, axis)
            assert plain(shown) == plain(expected)
            cells = raw.game.rows * raw.game.columns
            legal = [raw.is_legal(action) for action in range(cells)]
            assert masks_of(envs)[0][:cells].tolist() == legal
            action = any_legal(masks_of(envs)[0], rng)
            observations, _, terminations, _, _ = envs.step(np.array([action]))
            over = bool(terminations[0])


@over_sides
@over_hex
def test_actions_on_the_canonical_side_are_mirrored_for_player_1(board, side):
    env, below = CanonicalHex(single(board, side=side)), single(board, side=side)
    rng, met = np.random.default_rng(4), set()
    for episode in range(8):
        env.reset(seed=episode)
        below.reset(seed=episode)
        met.add(below.side)
        over = False
        while not over:
            action = any_legal(masks_of(below), rng)
            mirrored = action
            if below.side == 1 and action < 9:
                mirrored = action % 3 * 3 + action // 3
            assert masks_of(env)[mirrored]
            assert masks_of(env).sum() == masks_of(below).sum()
            _, reward, over, _, _ = below.step(action)
            assert env.step(mirrored)[1] == reward
            assert env.unwrapped.state.tobytes() == below.state.tobytes()
    assert met == {"first": {0}, "second": {1}, "random": {0, 1}}[side]


def joins_top_to_bottom(stones):
    size = len(stones)
    waiting = [(0, column) for column in np.flatnonzero(stones[0]).tolist()]
    met = set(waiting)
    while waiting:
        row, column = waiting.pop()
        for down, right in NEIGHBOURS:
            cell = row + down, column + right
            inside = min(cell) >= 0 and max(cell) < size
            if inside and stones[cell] and cell not in met:
                met.add(cell)
                waiting.append(cell)
    return any(row == size - 1 for row, _ in met)


@pytest.mark.parametrize("opponent", ["random", None])
@over_views
def test_the_last_observation_belongs_to_the_episode_that_ended(view, opponent):
    envs = VectorCanonicalHex(vector("hex-3-swap", 8, opponent, autoreset_mode="SameStep", **view))
    envs.reset(seed=6)
    rng, ended = np.random.default_rng(6), 0
    for _ in range(40):
        actions = [any_legal(mask, rng) for mask in masks_of(envs)]
        _, rewards, terminations, _, infos = envs.step(np.array(actions))
        for board in np.flatnonzero(terminations).tolist():
            ended += 1
            planes = planes_of(infos["final_obs"][board])
            own, other = planes[:2] if view.get("channels_first") else np.moveaxis(planes, 2, 0)[:2]
            won = rewards[board] == 1 and opponent is not None  # else the winner has just moved
            assert joins_top_to_bottom(own) == won
            assert joins_top_to_bottom(other.T) != won
    assert ended > 20


def test_an_illegal_action_in_self_play_ends_the_game_for_who_is_to_move():
    envs = VectorCanonicalHex(vector("hex-3", 2, None, autoreset_mode="SameStep"))
    envs.reset()
    observations, *_ = envs.step(np.array([1, 2]))  # player 0 on b1 and c1: a2 and a3 to player 1
    assert masks_of(envs).argmin(axis=1).tolist() == [3, 6]
    _, rewards, terminations, _, infos = envs.step(np.array([3, 0]))
    assert (terminations.tolist(), rewards.tolist()) == ([True, False], [-1, 0])
    assert plain(infos["final_obs"][0]) == plain(observation_of(observations, 0))
    assert infos["final_info"]["action_mask"].argmin(axis=1)[0] == 3
    assert masks_of(envs)[0].all()


@pytest.mark.parametrize("kind", ["fails", "plays illegally"])
@pytest.mark.parametrize("moment", ["step", "reset"])
def test_the_canonical_side_is_known_after_an_opponent_has_failed(kind, moment):
    calls, fatal = [], 5 if moment == "step" else 2

    def fails_once(observations, masks):
        calls.append(len(masks))
        if len(calls) != fatal:
            return masks.argmax(axis=1)
        if kind == "fails":
            raise RuntimeError("out of time")
        return np.full(len(masks), 99)

    envs = VectorCanonicalHex(vector("hex-3", 16, fails_once))
    envs.reset(seed=17)

    def play(steps):
        for _ in range(steps):
            envs.step(masks_of(envs).argmax(axis=1))
            assert (envs.view.images == envs.unwrapped.sides).all()

    with pytest.raises((RuntimeError, ValueError)):
        play(5) if moment == "step" else envs.reset(seed=18)
    play(4)
    assert len(calls) > fatal


# ---- stacked and flat boards ---------------------------------------------------------------------


@over_views
def test_stacks_hold_the_last_observations_of_the_episode(view):
    env, below = StackBoards(single("gomoku-4", **view), 3), single("gomoku-4", **view)
    rng, axis = np.random.default_rng(7), 0 if view.get("channels_first") else 2
    for episode in range(5):
        stacked, seen = env.reset(seed=episode)[0], below.reset(seed=episode)[0]
        seen_so_far = [np.zeros_like(planes_of(seen))] * 2
        over = False
        while True:
            seen_so_far.append(planes_of(seen))
            expected = np.concatenate(seen_so_far[-3:], axis)
            assert plain(planes_of(stacked)) == plain(expected)
            assert env.observation_space.contains(stacked)
            if over:
                break
            action = any_legal(masks_of(env), rng)
            stacked = env.step(action)[0]
            seen, _, over, _, _ = below.step(action)
        assert len(seen_so_far) > 4


@pytest.mark.parametrize("dtype", [None, np.float32, "float64"])
@over_views
def test_flat_boards_have_one_axis(view, dtype):
    env, below = FlattenBoards(single("hex-2x4", **view), dtype), single("hex-2x4", **view)
    flat, info = env.reset(seed=1)
    seen, info_below = below.reset(seed=1)
    expected = planes_of(seen).reshape(-1).astype(dtype or planes_of(seen).dtype)
    assert plain(planes_of(flat)) == plain(expected)
    assert plain(info) == plain(info_below)
    assert env.observation_space.contains(flat)
    if isinstance(seen, dict):
        assert list(flat) == list(env.observation_space.spaces) == ["observation", "action_mask"]
        assert plain(flat["action_mask"]) == plain(seen["action_mask"])
    else:
        assert isinstance(flat, np.ndarray)


# ---- many boards and one -------------------------------------------------------------------------


def singles(wrap, board, seed, mode, **options):
    """A wrapped single environment, stepped as one board of a vector environment is.

    Yields ``(observation, mask, reward, over, final observation)`` and is sent the actions.
    """
    env = wrap(single(board, **options))
    observation, reward, over, final = env.reset(seed=seed)[0], 0.0, False, None
    while True:
        action = yield plain([observation, masks_of(env), reward, over, final])
        final = None
        if over and mode == AutoresetMode.NEXT_STEP:
            observation, reward, over = env.reset()[0], 0.0, False
            continue
        observation, reward, over, _, _ = env.step(action)
        if over and mode == AutoresetMode.SAME_STEP:
            final, observation = observation, env.reset()[0]


@over_views
@pytest.mark.parametrize("mode", MODES, ids=["next-step", "same-step"])
@over_wrappers
def test_every_board_is_as_a_single_environment(wrap, wrap_many, mode, view):
    envs = wrap_many(vector("hex-3-swap", 3, autoreset_mode=mode, **view))
    alone = [singles(wrap, "hex-3-swap", 8 + board, mode, **view) for board in range(3)]
    seen, rng, ended = [next(one) for one in alone], np.random.default_rng(8), 0
    observations, infos = envs.reset(seed=8)
    rewards, over = np.zeros(3), np.zeros(3, bool)
    for _ in range(25):
        masks = masks_of(envs)
        assert all((found == masks).all() for found in plain_masks(observations, infos))
        assert envs.observation_space.contains(observations)
        final_obs = infos.get("final_obs", [None] * 3)
        for board in range(3):
            of_board = [observation_of(observations, board), masks[board], float(rewards[board])]
            of_board += [bool(over[board]), final_obs[board]]
            assert plain(of_board) == seen[board]
        actions = [any_legal(mask, rng) for mask in masks]
        observations, rewards, over, _, infos = envs.step(np.array(actions))
        seen = [one.send(action) for one, action in zip(alone, actions, strict=True)]
        ended += int(over.sum())
    assert ended > 5


@over_views
@over_wrappers
def test_a_reset_of_some_boards_leaves_the_others_as_they_were(wrap, wrap_many, view):
    del wrap
    envs = wrap_many(vector("hex-3", 4, autoreset_mode="Disabled", **view))
    rng, resets = np.random.default_rng(9), 0
    envs.reset(seed=9)
    for _ in range(12):
        actions = [any_legal(mask, rng) for mask in masks_of(envs)]
        before, _, over, _, _ = envs.step(np.array(actions))
        masks = masks_of(envs)
        if not over.any():
            continue
        after, _ = envs.reset(options={"reset_mask": over})
        for board in np.flatnonzero(~over).tolist():
            resets += 1
            assert plain(observation_of(after, board)) == plain(observation_of(before, board))
            assert (masks_of(envs)[board] == masks[board]).all()
        assert (masks_of(envs)[over].sum(axis=1) >= 8).all()
    assert resets > 5


@over_wrappers
def test_arrays_are_fresh(wrap, wrap_many):
    env, envs = wrap(single("hex-3")), wrap_many(vector("hex-3"))
    for one, action in ((env, 4), (envs, np.array([4, 4, 4]))):
        first, info = one.reset(seed=11)
        kept = plain([first, info])
        one.step(action)
        assert plain([first, info]) == kept
        first, info = one.reset(seed=11)
        planes_of(first)[:] = 7
        info["action_mask"][:] = 7
        first["action_mask"][:] = 7
        assert plain(list(one.reset(seed=11))) == kept


# ---- rewards of a side ---------------------------------------------------------------------------


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("mode", MODES, ids=["next-step", "same-step"])
@over_small_boards
def test_rewards_of_one_side(board, mode, side):
    """Over random games: as the winner in the position before a reset says."""
    envs = VectorOneSidedReward(vector(board, 4, None, autoreset_mode=mode), side)
    twins = vector(board, 4, None, autoreset_mode=mode)
    rng, ends = np.random.default_rng(12), set()
    envs.reset()
    twins.reset()
    to_move = np.zeros(4, int)
    over = np.zeros(4, bool)
    for _ in range(40):
        actions = np.array([any_legal(mask, rng) for mask in masks_of(envs)])
        begins = over if mode == AutoresetMode.NEXT_STEP else np.zeros(4, bool)
        observations, rewards, *_ = envs.step(actions)
        expected, to_mover, over, _, _ = twins.step(actions)
        assert plain(observations) == plain(expected)
        assert (rewards == np.where(to_move == side, to_mover, -to_mover)).all()
        assert not np.signbit(rewards[rewards == 0]).any()
        ends |= set(rewards[over].tolist())
        to_move = np.where(begins, 0, 1 - to_move)
        if mode == AutoresetMode.SAME_STEP:
            to_move[over] = 0
    assert {-1.0, 1.0} <= ends


@pytest.mark.parametrize(
    ("illegal", "for_mover", "for_other"),
    [("terminate", -1.0, 1.0), ("penalise", -0.25, 0.0)],
)
def test_rewards_of_illegal_actions(illegal, for_mover, for_other):
    for side, expected in ((1, for_mover), (0, for_other)):
        envs = VectorOneSidedReward(
            vector(opponent=None, illegal=illegal, penalty=-0.25, num_envs=1), side
        )
        envs.reset()
        envs.step(np.array([4]))
        assert envs.step(np.array([4]))[1] == [expected]


def test_one_sided_rewards_are_of_the_outermost_masks():
    envs = VectorOneSidedReward(VectorCanonicalHex(vector("hex-3", 1, None)), side=1)
    envs.reset()
    envs.step(np.array([1]))
    assert masks_of(envs).argmin() == 3
    assert envs.unwrapped.action_masks().argmin() == 1


# ---- wrapped environments in use -----------------------------------------------------------------


WRAPPED = {
    "symmetry": ("hexenv/Connect4-v0", SymmetryAugmentation),
    "canonical": ("hexenv/Hex-v0", CanonicalHex),
    "stack": ("hexenv/TicTacToe-v0", lambda env: StackBoards(env, 2)),
    "flatten": ("hexenv/Gomoku-v0", lambda env: FlattenBoards(env, "float32")),
}
over_wrapped = pytest.mark.parametrize(("name", "wrap"), WRAPPED.values(), ids=WRAPPED)


# Gymnasium prefers to check what has no wrapper.
@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
@over_views
@over_wrapped
def test_gymnasium_finds_nothing_wrong(name, wrap, view):
    env = wrap(gymnasium.make(name, **view))
    check_env(env, skip_render_check=True)
    assert env.reset(seed=1)[0] in env.observation_space


@over_wrapped
def test_the_specification_makes_the_same_environment(name, wrap):
    env = wrap(gymnasium.make(name))
    again = gymnasium.make(env.spec)
    assert type(again) is type(env)
    assert plain(again.reset(seed=13)) == plain(env.reset(seed=13))


@over_wrappers
def test_opponents_are_set_on_the_environment_below(wrap, wrap_many):
    env, envs = wrap(single("hex-3")), wrap_many(vector("hex-3"))
    assert type(env.unwrapped) is SingleEnv
    assert type(envs.unwrapped) is BoardVectorEnv
    for one in (env, envs):
        one.unwrapped.set_opponent("greedy")
        one.reset()
    assert env.unwrapped.opponent == "greedy"
    assert envs.unwrapped.opponents == ("greedy",) * 3


@over_wrappers
def test_a_deep_copy_goes_on_alone(wrap, wrap_many):
    for one, action in ((wrap(single("hex-3")), 4), (wrap_many(vector("hex-3")), np.full(3, 4))):
        one.reset(seed=14)
        twin = copy.deepcopy(one)
        expected = plain(list(one.step(action)))
        one.reset(seed=15)
        assert plain(list(twin.step(action))) == expected


@pytest.mark.parametrize("action", [-1, 9, 100])
def test_actions_outside_the_space_are_judged_below(action):
    env = SymmetryAugmentation(single(illegal="raise"))
    env.reset(seed=1)
    with pytest.raises(IllegalActionError, match=str(action)):
        env.step(action)
    envs = VectorSymmetryAugmentation(vector(num_envs=1))
    envs.reset(seed=1)
    assert envs.step(np.array([action]))[1] == [-1]


def test_a_refused_action_changes_nothing():
    env, expected = (StackBoards(SymmetryAugmentation(single(illegal="raise")), 2) for _ in "ab")
    observation, _ = env.reset(seed=16)
    expected.reset(seed=16)
    action = int(observation["action_mask"].argmax())
    env.step(action)
    expected.step(action)
    with pytest.raises(IllegalActionError):
        env.step(action)
    action = int(masks_of(env).argmax())
    assert plain(list(env.step(action))) == plain(list(expected.step(action)))


# ---- refusals ------------------------------------------------------------------------------------


def without_planes():
    space = gymnasium.spaces.Discrete(2)
    return gymnasium.wrappers.TransformObservation(single(), lambda _: 0, space)


def of_others():
    return gymnasium.make("CartPole-v1")


def many_of_others():
    return gymnasium.make_vec("CartPole-v1", num_envs=1, vectorization_mode="sync")


CHANGED = r"planes of shape \(3, 3, 3\) to wrap"
NOT_ON_SQUARES = "the game of Hex on a square board"
REFUSED = [
    (lambda: CanonicalHex(single("hex-2x4")), ValueError, NOT_ON_SQUARES),
    (lambda: CanonicalHex(single("tictactoe")), ValueError, NOT_ON_SQUARES),
    (lambda: VectorCanonicalHex(vector("connect4-4x5")), ValueError, NOT_ON_SQUARES),
    (lambda: SymmetryAugmentation(FlattenBoards(single("hex-3"))), ValueError, CHANGED),
    (lambda: SymmetryAugmentation(StackBoards(single("hex-3"), 2)), ValueError, CHANGED),
    (lambda: CanonicalHex(FlattenBoards(single("hex-3"))), ValueError, CHANGED),
    (lambda: CanonicalHex(StackBoards(single("hex-3"), 2)), ValueError, CHANGED),
    (lambda: StackBoards(FlattenBoards(single()), 2), ValueError, r"three axes .*\(18,\)"),
    (lambda: StackBoards(single(), 0), ValueError, "size of at least 1, got 0"),
    (lambda: VectorStackBoards(vector(), -1), ValueError, "size of at least 1, got -1"),
    (lambda: StackBoards(single(), 1.5), ValueError, "whole number of size"),
    (lambda: VectorStackBoards(vector(), "2"), ValueError, "whole number of size"),
    (lambda: SymmetryAugmentation(of_others()), TypeError, "a SingleEnv below"),
    (lambda: StackBoards(of_others(), 2), TypeError, "a SingleEnv below"),
    (lambda: FlattenBoards(of_others()), TypeError, "a SingleEnv below"),
    (lambda: CanonicalHex(of_others()), TypeError, "a SingleEnv below"),
    (lambda: VectorSymmetryAugmentation(many_of_others()), TypeError, "a BoardVectorEnv below"),
    (lambda: VectorCanonicalHex(many_of_others()), TypeError, "a BoardVectorEnv below"),
    (lambda: VectorFlattenBoards(many_of_others()), TypeError, "a BoardVectorEnv below"),
    (lambda: VectorOneSidedReward(many_of_others()), TypeError, "a BoardVectorEnv below"),
    (lambda: FlattenBoards(without_planes()), ValueError, "observations of planes"),
    *(
        (lambda side=side: VectorOneSidedReward(vector(opponent=None), side), ValueError, "0 or 1")
        for side in (-1, 2, "first", None)
    ),
    (lambda: VectorOneSidedReward(vector()), ValueError, "made with opponent=None"),
    (lambda: cell_symmetries(CellsUnknown()), ValueError, "actions are shown on cells"),
]


@pytest.mark.parametrize(("wrap", "error", "message"), REFUSED)
def test_what_cannot_be_wrapped_is_refused(wrap, error, message):
    with pytest.raises(error, match=f"expected .*{message}"):
        wrap()
