"""The games as Gymnasium vector environments: board by board the same as single environments."""

import copy
import functools
import gc
import threading

import gymnasium
import numpy as np
import pytest
from competitors import Together
from environments import SMALL, make, plain, single, vector
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from agents import UCT, PolicyAgent
from hexenv import IllegalActionError
from hexenv.compiled import interpreted
from hexenv.envs.aec import BoardEnv
from hexenv.games import base, tictactoe
from hexenv.learners.vector import BoardVectorEnv
from hexenv.render.ansi import render_text
from hexenv.render.look import Look
from hexenv.render.rgb import render_rgb
from hexenv.render.svg import render_svg

RESETTING = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)

over_resetting = pytest.mark.parametrize("mode", RESETTING, ids=lambda mode: mode.name.lower())
over_small_boards = pytest.mark.parametrize("board", SMALL)
over_threads = pytest.mark.parametrize("threads", [1, 2, 3, 9])
over_views = pytest.mark.parametrize(
    "view",
    [
        {"planes": ("side", "last_move")},
        {"channels_first": True},
        {"dtype": np.float32},
        {"mask_in": "observation"},
        {"mask_in": "info"},
        {"mask_in": "info", "channels_first": True, "dtype": np.float32, "planes": "last_move"},
    ],
    ids=["planes", "channels-first", "float32", "mask-in-observation", "mask-in-info", "all"],
)


def synchronous(board, num_envs, opponent, mode=AutoresetMode.NEXT_STEP, **options):
    """Gymnasium's vector environment over single ones."""
    one = functools.partial(single, board, opponent, **options)
    return SyncVectorEnv([one] * num_envs, autoreset_mode=mode)


def seen(value):
    """A value that `==` compares in full, with the types of arrays and of what they hold."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return ("objects", value.shape, [seen(item) for item in value])
    if isinstance(value, np.ndarray):
        return plain(value)
    if isinstance(value, dict):  # the order of infos is nobody's promise
        return {key: seen(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(seen(item) for item in value)
    return (type(value), value)


def some_actions(masks, rng, illegal=0.0):
    """Legal actions, and now and then one that is not."""
    actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])
    strange = rng.integers(-1, masks.shape[1] + 1, len(masks))
    return np.where(rng.random(len(masks)) < illegal, strange, actions)


def compare(envs, others, steps, illegal=0.0, seed=3):
    """Step both alike; how many episodes have ended, and what rewards there were."""
    rng = np.random.default_rng(seed)
    assert seen(envs.reset(seed=seed)) == seen(others.reset(seed=seed))
    ended, rewards = 0, set()
    for _ in range(steps):
        masks = envs.action_masks()
        assert masks.any(axis=1).all()
        assert masks.tolist() == [mask.tolist() for mask in others.call("action_masks")]
        assert envs.sides.tolist() == list(others.get_attr("side"))
        actions = some_actions(masks, rng, illegal)
        found = envs.step(actions)
        assert seen(found) == seen(others.step(actions))
        ended += int((found[2] | found[3]).sum())
        rewards |= set(found[1].tolist())
    assert envs.opponents == others.get_attr("opponent")
    assert envs.illegal_actions == sum(others.get_attr("illegal_actions"))
    assert [state.tobytes() for state in envs.states] == [
        state.tobytes() for state in others.get_attr("state")
    ]
    assert envs.np_random_seed == others.np_random_seed
    return ended, rewards


def by_the_planes(observation, mask):
    """A legal action that hangs on every stone in sight."""
    planes = observation["observation"]
    legal = np.flatnonzero(mask)
    return int(legal[int(planes.ravel() @ np.arange(1, planes.size + 1)) % len(legal)])


def last_legal(_observation, mask):
    return int(np.flatnonzero(mask)[-1])


def over_boards(function):
    """A function of one board as one of many."""

    def of_many(observations, masks):
        assert masks.shape[0] > 0
        assert seen(observations["action_mask"]) == seen(masks)
        rows = zip(observations["observation"], masks, strict=True)
        return np.array([function({"observation": row}, mask) for row, mask in rows])

    of_many.__name__ = function.__name__
    return of_many


# ---- the same as Gymnasium's over single environments --------------------------------------------


def for_many(opponent):
    """What stands for an opponent of single boards, for many."""
    if isinstance(opponent, list):
        return [for_many(one) for one in opponent]
    return over_boards(opponent) if callable(opponent) else opponent


OPPONENTS = [
    *((board, one) for board in SMALL for one in ("random", "greedy", ["greedy", "random"])),
    *((board, by_the_planes) for board in ("tictactoe", "hex-3-swap", "connect4-4x5")),
    ("tictactoe", "uct:simulations=8"),
    ("connect4-4x5", ["uct:simulations=4", "random", "greedy"]),
    ("tictactoe", ["random", by_the_planes, "uct:simulations=3", last_legal]),
]


@pytest.mark.parametrize(("board", "opponent"), OPPONENTS)
@over_resetting
def test_it_is_as_single_environments(mode, board, opponent):
    envs = vector(board, 5, for_many(opponent), autoreset_mode=mode, threads=2)
    ended, rewards = compare(envs, synchronous(board, 5, opponent, mode), 30, illegal=0.03)
    assert ended > 5
    assert len(rewards) > 1
    envs.close()


def steps_of(envs, steps):
    """All that a vector environment shows in some steps with illegal actions among them."""
    rng = np.random.default_rng(3)
    yield seen(envs.reset(seed=3))
    for _ in range(steps):
        yield seen(envs.step(some_actions(envs.action_masks(), rng, 0.03)))


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize(
    "board",
    [
        "hex-3-swap",
        "connect4-4x5",
        "tictactoe",
        pytest.param("gomoku-4", marks=pytest.mark.slow),
    ],
)
def test_machine_code_and_plain_python_step_alike(board):
    with interpreted():
        expected = list(steps_of(vector(board, 5, ["greedy", "random"], threads=2), 30))
    assert list(steps_of(vector(board, 5, ["greedy", "random"], threads=2), 30)) == expected


@pytest.mark.parametrize("illegal", ["terminate", "penalise"])
@over_resetting
@over_threads
def test_illegal_actions_and_threads(threads, mode, illegal):
    options = {"illegal": illegal, "penalty": -0.5, "max_illegal": 2, "side": "second"}
    envs = vector("tictactoe", 7, autoreset_mode=mode, threads=threads, **options)
    others = synchronous("tictactoe", 7, "random", mode, **options)
    ended, rewards = compare(envs, others, 40, illegal=0.4)
    assert ended > 10
    assert {"terminate": -1.0, "penalise": -0.5}[illegal] in rewards
    assert envs.illegal_actions > 25
    envs.close()


@over_views
@over_resetting
def test_views(mode, view):
    envs = vector("tictactoe", 3, autoreset_mode=mode, threads=2, **view)
    others = synchronous("tictactoe", 3, "random", mode, **view)
    ended, _ = compare(envs, others, 20, illegal=0.05)
    assert ended > 2
    assert envs.observation_space == others.observation_space
    assert envs.single_observation_space == others.single_observation_space
    assert envs.action_space == others.action_space
    assert envs.single_action_space == others.single_action_space
    assert envs.metadata["autoreset_mode"] is mode
    assert envs.observation_space.contains(envs.reset()[0])
    envs.close()


def test_a_function_is_called_once_for_all_boards_that_wait():
    sizes = []

    def spy(_observations, masks):
        sizes.append(len(masks))
        return np.argmax(masks, axis=1)

    envs = vector("hex-3", 64, spy, threads=2)
    envs.reset(seed=1)
    assert sizes == [int((envs.sides == 1).sum())]
    envs.step(np.argmax(envs.action_masks(), axis=1))
    assert sizes[1:] == [64]


RESETS = [
    *({"seed": seed} for seed in (None, [5, None, 7], None, 4, [None] * 3, [1, 2, 3])),
    *({"options": {"moves": "1425"}}, {"options": {"board": "XO. / OX. / ..."}, "seed": 1}, {}),
]


@over_resetting
def test_resets_in_between_go_on_with_the_streams(mode):
    """And a start is for the episodes that the reset begins."""
    envs = vector("tictactoe", 3, autoreset_mode=mode, threads=2)
    others = synchronous("tictactoe", 3, "random", mode)
    rng = np.random.default_rng(4)
    for arguments in ({"seed": 1}, *RESETS):
        assert seen(envs.reset(**arguments)) == seen(others.reset(**arguments))
        assert envs.np_random_seed == others.np_random_seed
        for one, other in zip(envs.np_random, others.np_random, strict=True):
            assert one.bit_generator.state == other.bit_generator.state
        for _ in range(12):
            actions = some_actions(envs.action_masks(), rng)
            assert seen(envs.step(actions)) == seen(others.step(actions))
    envs.close()


@over_threads
def test_resets_by_hand(threads):
    envs = vector("tictactoe", 4, autoreset_mode="Disabled", threads=threads)
    others = synchronous("tictactoe", 4, "random", AutoresetMode.DISABLED)
    rng = np.random.default_rng(5)
    assert seen(envs.reset(seed=2)) == seen(others.reset(seed=2))
    resets = 0
    for number in range(40):
        actions = some_actions(envs.action_masks(), rng, illegal=0.05)
        found = envs.step(actions)
        assert seen(found) == seen(others.step(actions))
        over = found[2] | found[3]
        if number % 7 == 0:
            over[rng.integers(4)] = True  # one that may still be in play
        if over.any():
            seed = [None, 9, None, int(number)] if number % 2 else None
            options = {"moves": "15"} if number % 3 else {}
            given = {"reset_mask": over, **options}
            expected = others.reset(seed=seed, options=given.copy())
            assert seen(envs.reset(seed=seed, options=given)) == seen(expected)
            assert given["reset_mask"] is over
            assert envs.np_random_seed == others.np_random_seed
            resets += 1
    assert resets > 10
    envs.close()


def test_boards_that_are_over_wait_for_a_reset():
    envs = vector("tictactoe", 3, last_legal_of_many, side="first", autoreset_mode="Disabled")
    envs.reset(seed=1)
    for action in (0, 1):
        envs.step(np.array([action, action + 3, action]))
    _, rewards, terminations, _, infos = envs.step(np.array([2, 6, 2]))
    assert rewards.tolist() == [1.0, 0.0, 1.0]
    assert terminations.tolist() == [True, False, True]
    assert envs.action_masks().all(axis=1).tolist() == [True, False, True]
    assert "final_obs" not in infos
    before = envs.states.tobytes()
    with pytest.raises(ValueError, match=r"expected a reset of the boards that are over, \[0, 2\]"):
        envs.step(np.array([3, 3, 3]))
    envs.reset(options={"reset_mask": np.array([True, False, False])})
    with pytest.raises(ValueError, match=r"boards that are over, \[2\], got step"):
        envs.step(np.array([3, 3, 3]))
    assert envs.states[1:].tobytes() == before[len(before) // 3 :]
    envs.reset(options={"reset_mask": np.array([False, False, True])})
    assert envs.step(np.array([3, 2, 3]))[2].tolist() == [False, True, False]


def last_legal_of_many(_observations, masks):
    return masks.shape[1] - 1 - np.argmax(masks[:, ::-1], axis=1)


# ---- Gymnasium's registry and wrappers -----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Hex", {"board_size": 4}),
        ("Connect4", {}),
        ("TicTacToe", {"opponent": "greedy", "side": "first"}),
        ("Gomoku", {"board_size": 5, "opponent": None}),
    ],
)
def test_make_vec_makes_it(name, options):
    envs = gymnasium.make_vec(f"hexenv/{name}-v0", num_envs=3, **options)
    assert type(envs) is BoardVectorEnv
    assert envs.num_envs == 3
    assert envs.spec.id == f"hexenv/{name}-v0"
    observations, _ = envs.reset(seed=1)
    assert envs.observation_space.contains(observations)
    envs.action_space.seed(1)
    actions = envs.action_space.sample(tuple(observations["action_mask"]))
    assert envs.step(actions)[1].shape == (3,)
    envs.close()


def test_make_vec_makes_a_synchronous_one_if_told_to():
    envs = gymnasium.make_vec("hexenv/TicTacToe-v0", num_envs=2, vectorization_mode="sync")
    assert type(envs) is SyncVectorEnv
    compare(vector("tictactoe", 2), envs, 12)
    envs.close()


def test_gymnasiums_statistics():
    envs = vector("tictactoe", 4, autoreset_mode="SameStep")
    counted = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    rng = np.random.default_rng(1)
    counted.reset(seed=1)
    total = 0.0
    for _ in range(30):
        _, rewards, *_ = counted.step(some_actions(envs.action_masks(), rng))
        total += rewards.sum()
    assert counted.episode_count > 10
    assert sum(counted.return_queue) == total


def test_modes_by_value_and_by_name():
    for mode in AutoresetMode:
        for given in (mode, mode.value):
            assert vector(autoreset_mode=given).metadata["autoreset_mode"] is mode
    assert vector().metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


# ---- both sides ----------------------------------------------------------------------------------


class SelfPlay:
    """What is seen of boards on which every action is for whoever is to move, one by one."""

    def __init__(self, board, num_envs, mode, illegal="terminate", **view):
        self.envs = [make(board, **view) for _ in range(num_envs)]
        self.mode, self.illegal, self.view = mode, illegal, view
        self.over = [False] * num_envs

    def reset(self, options=None):
        for env in self.envs:
            env.reset(options=options)
        self.over = [False] * len(self.envs)
        return [self.seen(env) for env in self.envs]

    def seen(self, env):
        """The planes of the player to move, and the mask."""
        observation = env.observe(env.agent_selection)
        mask = observation["action_mask"]
        return observation["observation"], np.ones_like(mask) if mask.sum() == 0 else mask

    def step(self, actions):
        """For each board: what is seen, the reward, whether it is over, what was seen at last."""
        found = []
        for number, (env, action) in enumerate(zip(self.envs, actions.tolist(), strict=True)):
            reward, final = 0.0, None
            if self.over[number]:
                env.reset()
                self.over[number] = False
            else:
                mover = env.agent_selection
                if env.is_legal(action):
                    env.step(action)
                    reward = env.rewards[mover]
                    self.over[number] = env.terminations[mover]
                else:
                    reward = -1.0 if self.illegal == "terminate" else -0.1
                    self.over[number] = self.illegal == "terminate"
            over = self.over[number]
            if over and self.mode == AutoresetMode.SAME_STEP:
                final = self.seen(env)
                env.reset()
                self.over[number] = False
            found.append((*self.seen(env), reward, over, final))
        return found


@pytest.mark.parametrize("illegal", ["terminate", "penalise"])
@over_resetting
@over_small_boards
def test_without_an_opponent_each_action_is_for_whoever_is_to_move(board, mode, illegal):
    envs = vector(board, 4, None, autoreset_mode=mode, illegal=illegal, threads=2)
    oracle = SelfPlay(board, 4, mode, illegal)
    rng = np.random.default_rng(7)
    observations, infos = envs.reset(seed=1)
    expected = oracle.reset()
    assert seen(observations["observation"]) == seen(np.stack([one[0] for one in expected]))
    rewards, movers = set(), set()
    for _ in range(60):
        actions = some_actions(envs.action_masks(), rng, illegal=0.1)
        observations, found, terminations, truncations, infos = envs.step(actions)
        expected = oracle.step(actions)
        planes, masks, wanted, over, final = zip(*expected, strict=True)
        assert seen(observations["observation"]) == seen(np.stack(planes))
        assert seen(observations["action_mask"]) == seen(np.stack(masks))
        assert seen(infos["action_mask"]) == seen(np.stack(masks))
        assert found.tolist() == list(wanted)
        assert terminations.tolist() == list(over)
        assert not truncations.any()
        assert envs.sides.tolist() == [env.game.to_play(env.state) for env in oracle.envs]
        assert [s.tobytes() for s in envs.states] == [env.state.tobytes() for env in oracle.envs]
        for number, last in enumerate(final):
            if last is not None:
                assert seen(infos["final_obs"][number]["observation"]) == seen(last[0])
                assert seen(infos["final_obs"][number]["action_mask"]) == seen(last[1])
                assert seen(infos["final_info"]["action_mask"][number]) == seen(last[1])
        if mode == AutoresetMode.SAME_STEP:
            assert ("final_obs" in infos) == any(over)
        rewards |= set(found.tolist())
        movers |= set(envs.sides.tolist())
    assert 1.0 in rewards
    assert {-1.0, -0.1} & rewards
    assert movers == {0, 1}
    assert envs.opponents == ("",) * 4
    envs.close()


def test_a_game_for_both_sides_may_start_with_either():
    envs = vector("tictactoe", 2, None)
    envs.reset(options={"moves": "142"})
    assert envs.sides.tolist() == [1, 1]
    observations, rewards, terminations, _, _ = envs.step(np.array([2, 8]))
    assert envs.sides.tolist() == [0, 0]
    assert observations["observation"].sum(axis=(1, 2)).tolist() == [[2, 2]] * 2
    _, rewards, terminations, _, _ = envs.step(np.array([8, 2]))  # the second wins for X
    assert rewards.tolist() == [0.0, 1.0]
    assert terminations.tolist() == [False, True]


def test_illegal_actions_of_both_sides_are_counted_together():
    envs = vector("tictactoe", 1, None, illegal="penalise", max_illegal=3)
    envs.reset()
    truncated = [envs.step(np.array([action]))[3][0] for action in (0, 0, 1, 1, 2, 2)]
    assert truncated == [False] * 5 + [True]
    assert envs.illegal_actions == 3


# ---- opponents -----------------------------------------------------------------------------------


@pytest.mark.parametrize("new", ["greedy", ["random", "uct:simulations=2"], last_legal_of_many])
def test_a_new_opponent_comes_with_each_boards_next_episode(new):
    fresh_names = {"greedy", "random", "uct:simulations=2", "last_legal_of_many"}

    def old(_observations, masks):
        return np.argmax(masks, axis=1)

    envs = vector("tictactoe", 5, old, autoreset_mode="SameStep")
    envs.reset(seed=1)
    rng = np.random.default_rng(8)
    waiting = np.ones(5, bool)
    for number in range(20):
        if number == 1:
            envs.set_opponent("random")
            envs.set_opponent(new)
        _, _, terminations, _, _ = envs.step(some_actions(envs.action_masks(), rng))
        if number > 0:
            waiting &= ~terminations
            for name, waits in zip(envs.opponents, waiting, strict=True):
                assert (name == "old") == waits
                assert waits or name in fresh_names
    assert not waiting.any()


def test_opponents_that_are_not_compiled_play_in_one_thread():
    threads, running = set(), threading.Lock()

    def spy(_observations, masks):
        assert running.acquire(blocking=False)
        threads.add(threading.get_ident())
        running.release()
        return np.argmax(masks, axis=1)

    envs = vector("hex-3", 9, "random", threads=3)
    envs.reset(seed=1)
    envs.set_opponent(spy)
    envs.reset()
    for _ in range(10):
        envs.step(np.argmax(envs.action_masks(), axis=1))
    assert threads == {threading.get_ident()}
    envs.close()


def test_an_agent_plays_on_each_board_as_one_of_its_own_would():
    agent = UCT(simulations=30)
    envs = vector("tictactoe", 3, agent)
    alone = [lambda: single("tictactoe", UCT(simulations=30))] * 3
    compare(envs, SyncVectorEnv(alone, autoreset_mode=AutoresetMode.NEXT_STEP), 40)
    assert envs.opponents == ("uct",) * 3
    assert agent.statistics is None


def test_an_agent_that_cannot_play_on_many_boards_is_shared_by_them():
    agent = UCT(simulations=3, workers=2)
    envs = vector("tictactoe", 3, agent, threads=2)
    envs.reset(seed=1)
    rng = np.random.default_rng(1)
    for _ in range(10):
        envs.step(some_actions(envs.action_masks(), rng))
    assert envs.opponents == ("uct",) * 3
    assert agent.statistics is not None


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda masks: np.argmin(masks, axis=1), "illegal action 4: 5 is taken .*board 0"),
        (lambda masks: np.where(np.arange(3) == 2, 9, 0), "expected 0 to 8 .*board 2"),
        (lambda masks: np.zeros(3), r"expected actions of shape \(3,\) and an integer type, got"),
        (lambda masks: np.zeros((3, 1), int), r"got \(3, 1\) of int64"),
        (lambda masks: np.zeros(2, int), r"got \(2,\) of int64"),
        (lambda masks: 0, r"got \(\) of int64"),
        (lambda masks: [None] * 3, "of object"),
        (lambda masks: masks[:, 0] == 1, "of bool"),
    ],
)
def test_an_opponent_that_plays_no_legal_action_is_named(answer, message):
    def stubborn(_observations, masks):
        return answer(masks)

    envs = vector("tictactoe", 3, stubborn, side="first")
    envs.reset(seed=1)
    with pytest.raises(ValueError, match=f"^opponent stubborn: .*{message}"):
        envs.step(np.array([4, 4, 4]))
    envs.set_opponent("random")
    envs.reset(seed=1)
    assert envs.step(np.array([4, 4, 4]))[1].tolist() == [0.0] * 3


def test_an_opponent_by_name_plays_all_boards_together_if_it_can():
    envs = gymnasium.make_vec(
        "hexenv/TicTacToe-v0", num_envs=5, opponent="competitors.Together", side="first"
    )
    assert set(envs.unwrapped.opponents) == {"competitors.Together"}
    envs.reset(seed=0)
    Together.batches.clear()
    envs.step(np.full(5, 4))
    assert Together.batches == [5]
    env = gymnasium.make("hexenv/TicTacToe-v0", opponent="competitors.Together", side="first")
    env.reset(seed=0)
    env.step(4)
    assert Together.batches == [5]  # one board asks it to act
    envs = gymnasium.make_vec("hexenv/TicTacToe-v0", num_envs=5, opponent="competitors.Apart")
    envs.reset(seed=0)
    envs.step(np.full(5, 4))
    assert Together.batches == [5]


def test_an_opponent_may_answer_with_a_list():
    envs = vector("tictactoe", 2, lambda _observations, masks: [8] * len(masks), side="second")
    observations, _ = envs.reset(seed=1)
    assert observations["observation"][:, 2, 2, 1].tolist() == [1, 1]
    assert envs.opponents == ("<lambda>",) * 2


@pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name.lower())
def test_an_opponent_that_fails_leaves_no_game_half_played(mode):
    fails = iter([False, True])

    def unsteady(_observations, masks):
        if next(fails, False):
            raise RuntimeError("no idea")
        return np.argmax(masks, axis=1)

    envs = vector("tictactoe", 2, unsteady, autoreset_mode=mode, side="second")
    envs.reset(seed=1)
    with pytest.raises(RuntimeError, match="no idea"):
        envs.step(np.array([4, 8]))
    if mode == AutoresetMode.NEXT_STEP:
        _, rewards, *_ = envs.step(np.array([4, 8]))
        assert rewards.tolist() == [0.0, 0.0]
    else:
        with pytest.raises(ValueError, match=r"boards that are over, \[0, 1\], got step"):
            envs.step(np.array([4, 8]))
        envs.reset()
    assert envs.states["ply"].tolist() == [1, 1]
    envs.step(np.array([4, 8]))
    assert envs.states["ply"].tolist() == [3, 3]


def shows_what_is_there(envs, observations):
    """Whether the planes and masks are those of the states."""
    game, sides = envs.raw_env.game, envs.sides
    for i, state in enumerate(envs.states):
        owners = base.cell_owners(game, state).reshape(-1)
        planes = np.empty((owners.size, len(game.planes())), np.int8)
        game.observe(state, int(sides[i]), owners, planes)
        mask = np.ones(game.num_actions(), np.int8)
        if state.winner == base.IN_PLAY:
            game.legal_mask(state, owners, mask)
        shown = observations["observation"][i].reshape(planes.shape)
        if not (np.array_equal(shown, planes) and np.array_equal(mask, envs.action_masks()[i])):
            return False
    return True


@pytest.mark.parametrize("board", ["hex-2x4", "hex-3-swap", "gomoku-4"])
@pytest.mark.parametrize("both", [False, True], ids=["one", "both"])
@over_resetting
def test_what_is_shown_is_there_after_failures_copies_and_resets_of_some(mode, both, board):
    rng, failures = np.random.default_rng(2), 0

    def unsteady(observations, masks):
        if rng.random() < 0.1:
            raise RuntimeError("no idea")
        return masks.argmax(axis=1)

    envs = vector(board, 4, None if both else unsteady, autoreset_mode=mode)
    some = np.array([True, False, True, False])
    reset = envs.reset
    for step in range(200):
        try:
            if step == 0:
                observations, _ = reset(seed=1)
            elif mode != AutoresetMode.NEXT_STEP and envs.idle.any():
                observations, _ = reset(options={"reset_mask": envs.idle})
            elif step % 23 == 0:
                observations, _ = reset(options={"reset_mask": some})
            else:
                if step % 31 == 0:
                    envs = copy.deepcopy(envs)
                    reset = envs.reset
                actions = some_actions(envs.action_masks(), rng, 0.03)
                observations, *_ = envs.step(actions)
        except RuntimeError:
            failures += 1
        else:
            assert shows_what_is_there(envs, observations)
    assert both or failures > 3


def test_an_opponent_is_not_asked_again_where_it_has_failed():
    asked = []

    def unsteady(observations, _masks):
        asked.append(int(observations["observation"].sum()))
        if len(asked) == 2:
            raise RuntimeError("no idea")
        return np.full(len(observations["observation"]), 8)

    envs = vector("tictactoe", 1, unsteady, side="second")
    envs.reset(seed=1)
    with pytest.raises(RuntimeError, match="no idea"):
        envs.step(np.array([4]))
    envs.step(np.array([0]))
    assert asked == [0, 2, 0]  # of the new episode


def test_a_failure_in_one_part_ends_the_episodes_of_all():
    def unsteady(observations, masks):
        if not observations["observation"].any() or len(calls) < 6:
            calls.append(len(masks))
            return masks.argmax(axis=1)
        raise RuntimeError("no idea")

    calls = []
    envs = vector("hex-3", 4, threads=4, side="second")
    envs.reset(seed=1)
    envs.set_opponent(unsteady)
    envs.reset(seed=1)
    assert calls == [1] * 4
    with pytest.raises(RuntimeError, match="no idea"):
        envs.step(envs.action_masks().argmax(axis=1))
    assert envs.idle.tolist() == [True] * 4
    assert envs.states["ply"].max() == 3  # the first parts had stepped


def test_a_failed_start_is_not_that_of_later_episodes():
    fails = iter([True])

    def unsteady(_observations, masks):
        if next(fails, False):
            raise RuntimeError("no idea")
        return masks.argmax(axis=1)

    envs = vector("tictactoe", 2, unsteady, side="second")
    with pytest.raises(RuntimeError):
        envs.reset(seed=1, options={"moves": "14"})
    envs.step(np.zeros(2, int))
    assert envs.states["ply"].tolist() == [1, 1]


@pytest.mark.parametrize("num_envs", [1, 2, 4])
def test_channels_first_are_the_same_planes_turned(num_envs):
    """One board alone has another layout in memory than several."""
    for seed in range(20):
        last, first = (
            vector("connect4-4x5", num_envs, over_boards(by_the_planes), channels_first=turned)
            for turned in (False, True)
        )
        first.set_opponent(over_boards(by_turned_planes))
        for envs in (last, first):
            envs.reset(seed=seed)
        for _ in range(6):
            actions = last.action_masks().argmax(axis=1)
            expected, found = last.step(actions)[0], first.step(actions)[0]
            turned = np.moveaxis(expected["observation"], -1, 1)
            assert plain(found["observation"]) == plain(turned)
            assert plain(found["action_mask"]) == plain(expected["action_mask"])


def by_turned_planes(observation, mask):
    planes = np.moveaxis(observation["observation"], 0, -1)
    return by_the_planes({"observation": planes}, mask)


def test_a_seeded_agent_for_all_boards_plays_the_same_again():
    agent = PolicyAgent(lambda planes, masks: (np.zeros(masks.shape), None), temperature=1.0)
    envs = vector("tictactoe", 4, agent)

    def games(seed):
        envs.reset(seed=seed)
        states = []
        for _ in range(12):
            envs.step(envs.action_masks().argmax(axis=1))
            states.append(envs.states.tobytes())
        return states

    assert games(3) == games(3)
    assert games(3) != games(4)


@over_views
def test_a_policy_sees_the_same_as_the_opponent_of_one_board_and_of_many(view):
    def weighing(planes, masks):
        assert planes.shape[1:3] == (4, 5)
        seen = planes.reshape(len(planes), -1).astype(float)
        return seen @ np.random.default_rng(1).random((seen.shape[1], masks.shape[1])), None

    envs = vector("connect4-4x5", 3, PolicyAgent(weighing), **view)
    others = synchronous("connect4-4x5", 3, PolicyAgent(weighing), **view)
    rng = np.random.default_rng(3)
    envs.reset(seed=3)
    others.reset(seed=3)
    for _ in range(60):
        actions = some_actions(envs.action_masks(), rng)
        assert seen(envs.step(actions)) == seen(others.step(actions))


def test_a_policy_may_play_in_two_environments_at_once():
    shapes = []

    def policy(planes, masks):
        shapes.append(planes.shape[1:])
        return masks, None

    agent = PolicyAgent(policy)
    both = [vector("hex-3", 2, agent, side="first", channels_first=turned) for turned in (0, 1)]
    for envs in both:
        envs.reset(seed=1)
    for envs in both:
        envs.step(envs.action_masks().argmax(axis=1))
    assert shapes == [(3, 3, 3)] * 2  # rows, columns, planes
    wide = vector("hex-2x4", 2, agent, side="first", channels_first=True)
    wide.reset(seed=1)
    both[0].step(both[0].action_masks().argmax(axis=1))
    wide.step(wide.action_masks().argmax(axis=1))
    assert shapes[2:] == [(3, 3, 3), (2, 4, 3)]


def test_a_policy_with_planes_of_its_own_says_what_boards_must_show():
    agent = PolicyAgent(lambda planes, masks: (masks, None), planes=("side",), title="mine")
    envs = vector("tictactoe", 4, agent, side="second")
    with pytest.raises(ValueError, match="mine: expected boards with planes of own, opponent, sid"):
        envs.reset(seed=1)
    vector("tictactoe", 4, agent, side="second", planes="side").reset(seed=1)


def test_seeds_may_be_an_array():
    assert seen(vector(num_envs=3).reset(seed=np.arange(3))) == seen(
        vector(num_envs=3).reset(seed=0)
    )


def test_a_mask_of_boards_to_reset_stays_the_callers():
    envs = vector(num_envs=2)
    envs.reset(seed=1)
    mask = np.array([True, False])
    _, infos = envs.reset(options={"reset_mask": mask})
    infos["_action_mask"][:] = False
    assert mask.tolist() == [True, False]


@pytest.mark.parametrize("former", [over_boards(last_legal), "uct:simulations=2"], ids=["f", "uct"])
def test_a_former_opponent_costs_nothing_once_its_games_are_over(former):
    envs = vector("tictactoe", 3, former)
    envs.reset(seed=1)
    envs.set_opponent(["random", "greedy"])
    boards, _ = next(iter(envs._parts))
    assert not boards.is_compiled
    rng = np.random.default_rng(0)
    for _ in range(12):
        envs.step(some_actions(envs.action_masks(), rng))
    assert boards.is_compiled
    assert boards.table.actions.size == 0
    assert set(envs.opponents) <= {"random", "greedy"}


def test_an_opponent_is_neither_taken_away_nor_added():
    with pytest.raises(ValueError, match="expected an opponent in an environment made with one"):
        vector().set_opponent(None)
    alone = vector(opponent=None)
    with pytest.raises(ValueError, match="expected no opponent in an environment made without one"):
        alone.set_opponent("random")
    alone.set_opponent(None)
    alone.reset(seed=1)
    assert alone.opponents == ("",) * 3


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "expected num_envs from 1 to .*, got 0"),
        ({"num_envs": -1}, "expected num_envs from 1 to .*, got -1"),
        ({"num_envs": 2.0}, "expected a whole number of num_envs, got 2.0"),
        ({"threads": 0}, "expected threads of at least 1, got 0"),
        ({"threads": "all"}, "expected a whole number of threads"),
        ({"render_mode": "human"}, "expected a render_mode of ansi, rgb_array, svg"),
        ({"opponent": None, "side": "first"}, "expected no side without an opponent"),
        ({"autoreset_mode": "Never"}, "expected an autoreset_mode of NextStep, SameStep, Disabled"),
        ({"max_episode_steps": 3}, "expected no max_episode_steps: games end, got 3"),
        ({"penalty": 0.5}, "expected penalty of at most 0, got 0.5"),
        ({"penalty": np.nan}, "expected penalty of at most 0, got nan"),
        ({"dtype": np.float16}, "expected a dtype of bool, int8, .*, got float16"),
    ],
)
def test_bad_options_are_refused(options, message, monkeypatch):
    unraisable = []
    monkeypatch.setattr("sys.unraisablehook", unraisable.append)
    with pytest.raises(ValueError, match=message):
        vector(**options)
    gc.collect()
    assert unraisable == []


@pytest.mark.parametrize(
    "actions",
    [
        np.zeros(2, int),
        np.zeros((3, 1), int),
        np.zeros(3),
        np.zeros(3, bool),
        [0, 0],
        0,
        None,
        ["a", "b", "c"],
    ],
)
def test_actions_of_another_shape_or_type_are_refused(actions):
    envs = vector("tictactoe", 3, side="first")
    envs.reset(seed=1)
    before = envs.states.tobytes()
    with pytest.raises(ValueError, match=r"actions of shape \(3,\) as integers from 0 to 8, got"):
        envs.step(actions)
    assert envs.states.tobytes() == before


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.int64, np.uint64, list, tuple])
def test_integers_of_any_kind_are_actions(kind):
    envs = vector("tictactoe", 2, last_legal_of_many, side="first")
    envs.reset(seed=1)
    actions = kind([0, 4]) if kind in (list, tuple) else np.array([0, 4], kind)
    observations, *_ = envs.step(actions)
    own = observations["observation"][..., 0].reshape(2, 9)
    assert own.argmax(axis=1).tolist() == [0, 4]


def test_step_before_reset_is_refused():
    envs = vector()
    assert envs.action_masks().all()
    with pytest.raises(ValueError, match="expected reset before the first step"):
        envs.step(np.zeros(3, int))


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        ([True, False, True], TypeError, "expected reset_mask as an array of bool"),
        (np.array([1, 0, 1]), TypeError, "expected reset_mask as an array of bool"),
        (np.array([True, False]), ValueError, r"expected reset_mask of shape \(3,\)"),
        (np.zeros(3, bool), ValueError, "with a True in it"),
    ],
)
def test_bad_reset_masks_are_refused(mask, error, message):
    envs = vector("tictactoe", 3, autoreset_mode="Disabled")
    envs.reset(seed=1)
    before = envs.states.tobytes()
    with pytest.raises(error, match=message):
        envs.reset(options={"reset_mask": mask})
    assert envs.states.tobytes() == before


def test_the_first_reset_is_of_all_boards():
    envs = vector("tictactoe", 2, autoreset_mode="Disabled")
    with pytest.raises(ValueError, match="expected a reset of all boards first"):
        envs.reset(options={"reset_mask": np.array([True, False])})
    observations, _ = envs.reset(seed=1, options={"reset_mask": np.array([True, True])})
    assert len(observations["action_mask"]) == 2


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("opponent", ["random", None])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": [1, 2]}, "expected a seed or 3 of them, got 2"),
        ({"seed": [7, 8, -1]}, "-1"),
        ({"seed": -1, "options": {"moves": "1 2"}}, "-1"),
        ({"options": {"moves": "11"}}, "1 is taken"),
        ({"options": {"moves": "14253"}}, "expected a position in play"),
        ({"options": {"moves": "1", "state": b""}}, "expected one starting position"),
    ],
)
def test_bad_resets_are_refused_and_change_nothing(arguments, message, opponent, threads):
    envs = vector(opponent=opponent, threads=threads, autoreset_mode="SameStep")
    twin = vector(opponent=opponent, autoreset_mode="SameStep")
    envs.reset(seed=1)
    twin.reset(seed=1)
    with pytest.raises((ValueError, gymnasium.error.Error), match=message):
        envs.reset(**arguments)
    assert envs.np_random_seed == twin.np_random_seed
    rng = np.random.default_rng(9)
    for _ in range(10):
        actions = some_actions(envs.action_masks(), rng)
        assert seen(envs.step(actions)) == seen(twin.step(actions))


@over_threads
def test_illegal_actions_may_raise_and_change_nothing(threads):
    options = {"illegal": "raise", "side": "second", "threads": threads}
    envs, twin = (vector("tictactoe", 5, **options) for _ in range(2))
    assert seen(envs.reset(seed=1)) == seen(twin.reset(seed=1))
    rng = np.random.default_rng(10)
    ended = np.zeros(5, bool)
    for _ in range(12):
        actions = some_actions(envs.action_masks(), rng)
        wrong = actions.copy()
        board = int(rng.choice(np.flatnonzero(~ended))) if not ended.all() else None
        if board is not None:
            wrong[board] = rng.choice([-1, 9])
            with pytest.raises(IllegalActionError, match=f"expected 0 to 8 .*, board {board}$"):
                envs.step(wrong)
        actions[ended] = -1  # the action of a board whose next episode begins does not count
        found = envs.step(actions)
        assert seen(found) == seen(twin.step(actions))
        ended = found[2]
    assert envs.illegal_actions == 0
    envs.close()
    twin.close()


# ---- what is returned ----------------------------------------------------------------------------


@over_resetting
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("view", [{}, {"mask_in": "info"}, {"mask_in": "observation"}])
def test_returned_arrays_are_the_callers(view, threads, mode):
    options = {"autoreset_mode": mode, "threads": threads, **view}
    envs, twin = (vector("tictactoe", 3, **options) for _ in range(2))
    found = envs.reset(seed=1)
    expected = twin.reset(seed=1)
    rng = np.random.default_rng(11)

    def spoil(value):
        if isinstance(value, dict):
            for item in value.values():
                spoil(item)
        elif isinstance(value, np.ndarray) and value.dtype == object:
            for item in value:
                spoil(item)
        elif isinstance(value, np.ndarray):
            value[:] = 1

    for _ in range(20):
        assert seen(found) == seen(expected)
        masks = envs.action_masks()
        actions = some_actions(masks, rng)
        for value in (*found, masks, envs.states["ply"], envs.sides):
            spoil(value)
        assert seen(envs.action_masks()) == seen(twin.action_masks())
        assert seen(envs.sides) == seen(twin.sides)
        found, expected = envs.step(actions), twin.step(actions)
        actions[:] = -1
    envs.close()
    twin.close()


def arrays_in(value):
    """All arrays of numbers in what a step has returned."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple) or (isinstance(value, np.ndarray) and value.dtype.hasobject):
        return [array for item in value for array in arrays_in(item)]
    return [value] if isinstance(value, np.ndarray) else []


def test_what_is_returned_shares_no_memory():
    envs = vector("tictactoe", 3, autoreset_mode="SameStep")
    envs.reset(seed=1)
    most = 0
    for _ in range(12):
        found = envs.step(np.argmax(envs.action_masks(), axis=1))
        arrays = arrays_in((found, envs.states, envs.sides))
        most = max(most, len(arrays))
        for i, one in enumerate(arrays):
            assert not any(np.shares_memory(one, other) for other in arrays[:i])
    assert most >= 9 + 2 + 4  # with what comes at the end of an episode


# ---- pictures, copies and the end ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "draw"), [("ansi", render_text), ("rgb_array", render_rgb), ("svg", render_svg)]
)
def test_pictures_are_of_every_board(mode, draw):
    options = {} if mode == "ansi" else {"look": Look("dark", 16)}
    envs = vector("hex-3", 3, render_mode=mode, threads=2, theme="dark", cell_size=16)
    envs.reset(seed=1)
    envs.step(np.argmax(envs.action_masks(), axis=1))
    pictures = envs.render()
    assert type(pictures) is tuple
    assert len(pictures) == 3
    for picture, state in zip(pictures, envs.states, strict=True):
        assert np.array_equal(picture, draw(make("hex-3").game, state, **options))
    assert len({picture if type(picture) is str else picture.tobytes() for picture in pictures}) > 1
    assert envs.render_mode == mode
    envs.close()


def test_there_is_no_picture_without_a_mode():
    envs = vector()
    envs.reset(seed=1)
    assert envs.render() is None


@pytest.mark.parametrize("opponent", ["random", ["greedy", "uct:simulations=3"], None])
def test_copies_go_on_alike_and_apart(opponent):
    envs = vector("tictactoe", 3, opponent)
    envs.reset(seed=1)
    rng = np.random.default_rng(13)
    envs.step(some_actions(envs.action_masks(), rng))
    twin = copy.deepcopy(envs)
    kept = twin.states.tobytes()
    played = []
    for _ in range(12):
        actions = some_actions(envs.action_masks(), rng)
        played.append((actions, seen(envs.step(actions))))
    assert twin.states.tobytes() == kept
    for actions, expected in played:
        assert seen(twin.step(actions)) == expected


def threads_of_a_step(envs):
    """Step once; the threads that this has started."""
    before = set(threading.enumerate())
    envs.reset(seed=1)
    envs.step(np.argmax(envs.action_masks(), axis=1))
    return set(threading.enumerate()) - before


@pytest.mark.parametrize("threads", [1, 3])
def test_it_is_closed_once_or_twice(threads):
    envs = vector("tictactoe", 6, threads=threads)
    started = threads_of_a_step(envs)
    assert (threads > 1) <= len(started) < threads
    envs.close()
    assert envs.closed
    assert not any(thread.is_alive() for thread in started)
    envs.close()
    assert envs.closed


def test_one_that_is_forgotten_ends_its_threads():
    envs = vector("tictactoe", 6, threads=3)
    started = threads_of_a_step(envs)
    assert started
    del envs
    gc.collect()
    for thread in started:
        thread.join(60.0)
    assert not any(thread.is_alive() for thread in started)


@pytest.mark.parametrize("seed", [-1, [0, -2], [0, 1.5], np.random.default_rng(1), "x", 1.5])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    envs = vector("tictactoe", 2)
    with pytest.raises(ValueError, match="expected a seed as a whole number"):
        envs.reset(seed=seed)
    if not isinstance(seed, list):
        with pytest.raises(ValueError, match="expected a seed as a whole number from 0, or None"):
            single("tictactoe").reset(seed=seed)


def test_answers_of_different_lengths_name_the_opponent():
    def ragged(observations, masks):
        return [[0], [1, 2]]

    envs = vector("tictactoe", 2, opponent=ragged, side="second")
    with pytest.raises(ValueError, match="opponent ragged: expected an action for each board"):
        envs.reset(seed=1)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_opponents_of_new_episodes_answer_together_with_the_others(mode):
    asked = []

    def first(observations, masks):
        asked.append(len(masks))
        return masks.argmax(axis=1)

    envs = gymnasium.make_vec(
        "hexenv/TicTacToe-v0", num_envs=40, opponent=first, autoreset_mode=mode, threads=1
    )
    seen, _ = envs.reset(seed=1)
    rng, most, ended = np.random.default_rng(2), 0, 0
    for _ in range(30):
        asked.clear()
        masks = seen["action_mask"]
        seen, rewards, over, _, _ = envs.step((rng.random(masks.shape) * masks).argmax(axis=1))
        most, ended = max(most, len(asked)), ended + int(over.sum())
        assert (rewards[~over] == 0).all()
    assert ended > 100
    assert most == (1 if mode == "NextStep" else 2)


def test_a_first_answer_that_ends_the_game_is_followed_by_another_start():
    asked = []

    def first(observations, masks):
        asked.append(len(masks))
        return masks.argmax(axis=1)

    openings = ["1425", "5"]  # after the first one the opponent wins at once

    def raw_env(render_mode=None):
        return BoardEnv(tictactoe.new(), "started_v0", render_mode=render_mode, openings=openings)

    envs = BoardVectorEnv(raw_env, num_envs=20, opponent=first, side="second", threads=1)
    seen, _ = envs.reset(seed=1)
    rng, over, calls = np.random.default_rng(2), np.zeros(20, bool), []
    for _ in range(40):
        asked.clear()
        masks, begun = seen["action_mask"], over
        seen, rewards, over, _, _ = envs.step((rng.random(masks.shape) * masks).argmax(axis=1))
        calls.append(len(asked))
        assert not over[begun].any()
        assert not rewards[begun].any()
        assert (seen["observation"][begun].sum(axis=(1, 2, 3)) == 1).all()
    assert max(calls) > 1
