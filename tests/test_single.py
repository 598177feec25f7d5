"""The games as Gymnasium environments: one learner, and everything that may play against it."""

import copy
import itertools
import pickle

import gymnasium
import numpy as np
import pytest
from environments import SMALL, legal_actions, make, plain, single
from gymnasium.utils.env_checker import check_env

from agents import NRPA, UCT, GreedyAgent, RandomAgent
from hexenv import IllegalActionError
from hexenv.games.base import TRIALS
from hexenv.learners.single import SingleEnv
from hexenv.render.ansi import render_text
from hexenv.render.look import Look
from hexenv.render.rgb import render_rgb
from hexenv.render.svg import render_svg

EPISODES = 8
WORD = 2**64 - 1

VIEWS = {
    "default": {},
    "planes": {"planes": ("side", "last_move")},
    "channels-first": {"channels_first": True},
    "float32": {"dtype": np.float32},
    "mask-in-observation": {"mask_in": "observation"},
    "mask-in-info": {"mask_in": "info"},
    "all": {
        "planes": "last_move",
        "channels_first": True,
        "dtype": np.float32,
        "mask_in": "info",
    },
}

over_small_boards = pytest.mark.parametrize("board", SMALL)
over_sides = pytest.mark.parametrize("side", ["first", "second", "random"])
over_views = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)


# ---- opponents -----------------------------------------------------------------------------------


def last_legal(_observation, mask):
    return int(np.flatnonzero(mask)[-1])


def first_legal(_observation, mask):
    return np.flatnonzero(mask)[0]


class Highest:
    """An agent without a name or a reset."""

    def act(self, env):
        return max(legal_actions(env))


class Recorder:
    """Plays the lowest action, and keeps what it is given."""

    def __init__(self):
        self.seeds, self.moves, self.names = [], [], set()

    def reset(self, seed):
        self.seeds.append(seed)

    def act(self, env):
        self.moves.append(env.moves)
        self.names.add(str(env))
        assert env.infos[env.agent_selection]["action_mask"].any()
        return min(legal_actions(env))


class Meddler:
    """Plays on in the environment that it is shown."""

    def act(self, env):
        action = min(legal_actions(env))
        env.actions.append(3)
        env.step(action)
        return action


# ---- an independent account ----------------------------------------------------------------------


class Oracle:
    """What a learner should see: over the PettingZoo environment, its opponents' draws by hand.

    An opponent is "random" or a function of an environment.
    """

    def __init__(self, board, side, pool, **view):
        self.env = make(board, **view)
        self.side, self.pool, self.view = side, pool, view

    def seed(self, seed):
        self.bits = int(np.random.default_rng(seed).integers(1, WORD, dtype=np.uint64))

    def draw(self, count):
        self.bits ^= self.bits << 13 & WORD
        self.bits ^= self.bits >> 7
        self.bits ^= self.bits << 17 & WORD
        return int((self.bits >> 11) / 2**53 * count)

    def reset(self, options=None):
        while True:
            self.env.reset(options=options)
            self.player = {"first": 0, "second": 1}.get(self.side)
            if self.player is None:
                self.player = self.draw(2)
            self.opponent = self.pool[self.draw(len(self.pool))] if self.pool[1:] else self.pool[0]
            self.answer()
            if not self.is_over():
                return self.seen()

    def is_over(self):
        return any(self.env.terminations.values())

    def answer(self):
        while not self.is_over() and self.env.agent_selection != f"player_{self.player}":
            if self.opponent == "random":
                self.env.step(self.draw_action())
            else:
                self.env.step(self.opponent(self.env))

    def draw_action(self):
        """By trial where a game says whether an action is legal, but not for ever."""
        game, legal = self.env.game, legal_actions(self.env)
        for _ in range(TRIALS if hasattr(game, "is_legal") else 0):
            if (action := self.draw(game.num_actions())) in legal:
                return action
        return legal[self.draw(len(legal))]

    def seen(self):
        """The observation and the info."""
        observation, mask = self.env.observe(f"player_{self.player}"), self.env._position.mask
        mask = np.ones_like(mask) if self.is_over() else mask.copy()
        if self.view.get("mask_in") == "info":
            return observation, {"action_mask": mask}
        observation["action_mask"] = mask
        return observation, {} if "mask_in" in self.view else {"action_mask": mask}

    def step(self, action):
        self.env.step(action)
        self.answer()
        observation, info = self.seen()
        reward = self.env.rewards[f"player_{self.player}"]
        return observation, float(reward), self.is_over(), False, info


def mask_of(seen):
    """The mask in what reset or step has returned."""
    observation, info = seen[0], seen[-1]
    return info["action_mask"] if "action_mask" in info else observation["action_mask"]


def play_both(env, oracle, options=None, seed=None):
    """An episode in both, compared all the way; the rewards."""
    seen, expected = env.reset(seed=seed, options=options), oracle.reset(options)
    rng = np.random.default_rng(seed)
    assert seen[1].pop("opponent", env.opponent) == env.opponent
    assert plain(seen) == plain(expected)
    assert env.side == oracle.player
    while True:
        legal = np.flatnonzero(mask_of(seen))
        assert np.array_equal(legal, legal_actions(oracle.env))
        action = rng.choice(legal)
        seen, expected = env.step(action), oracle.step(action)
        assert (env.pool is not None) == ("opponent" in seen[4])
        assert seen[4].pop("opponent", env.opponent) == env.opponent
        assert plain(seen) == plain(expected)
        assert type(seen[1]) is float
        assert type(seen[2]) is type(seen[3]) is bool
        assert env.observation_space.contains(seen[0])
        assert env.state.tobytes() == oracle.env.state.tobytes()
        if seen[2]:
            return seen[1]


@over_sides
@over_small_boards
def test_episodes_are_as_the_rules_and_the_stream_say(board, side):
    env, oracle = single(board, side=side), Oracle(board, side, ["random"])
    rewards = set()
    for seed in range(EPISODES):
        oracle.seed(seed)
        rewards.add(play_both(env, oracle, seed=seed))
        rewards.add(play_both(env, oracle))  # the next goes on with the stream
    assert rewards <= {1.0, 0.0, -1.0}
    assert len(rewards) > 1 or (board, side) == ("hex-2x4", "first")  # can hardly be lost


@over_small_boards
def test_pools_are_drawn_from_after_the_side(board):
    pool = ["random", lambda env: max(legal_actions(env)), lambda env: min(legal_actions(env))]
    env, oracle = single(board, ["random", Highest(), first_legal]), Oracle(board, "random", pool)
    drawn = set()
    for seed in range(2 * EPISODES):
        oracle.seed(seed)
        play_both(env, oracle, seed=seed)
        assert env.opponent == ["random", "Highest", "first_legal"][pool.index(oracle.opponent)]
        drawn.add(env.opponent)
    assert drawn == {"random", "Highest", "first_legal"}


@over_views
@pytest.mark.parametrize("board", ["tictactoe", "hex-3-swap"])
def test_views(board, view):
    env, oracle = single(board, **view), Oracle(board, "random", ["random"], **view)
    for seed in range(3):
        oracle.seed(seed)
        play_both(env, oracle, seed=seed)
    assert env.observation_space == oracle.env.observation_space("player_0")
    assert env.action_space == oracle.env.action_space("player_0")


@pytest.mark.parametrize(
    "options",
    [
        {"moves": "1425"},
        {"moves": "142"},
        {"board": "XOX / .O. / ..."},
        {"board": ".X. / .O. / ...", "to_play": 0},
    ],
)
@over_sides
def test_starts(options, side):
    env, oracle = single(side=side), Oracle("tictactoe", side, ["random"])
    for seed in range(2 * EPISODES):
        oracle.seed(seed)
        play_both(env, oracle, options, seed)
    play_both(env, oracle)  # and the next one from the beginning
    assert env.state.ply > 4


# ---- Gymnasium -----------------------------------------------------------------------------------


CHECKED = {
    "hex": ("hexenv/Hex-v0", {"board_size": 4}),
    "connect4": ("hexenv/Connect4-v0", {"opponent": "uct:simulations=5"}),
    "tictactoe": ("hexenv/TicTacToe-v0", {"opponent": Highest()}),
    "gomoku": ("hexenv/Gomoku-v0", {"board_size": 5, "opponent": ["greedy", last_legal]}),
    "planes": ("hexenv/TicTacToe-v0", VIEWS["planes"]),
    "all": ("hexenv/TicTacToe-v0", VIEWS["all"]),
}


@pytest.mark.parametrize(("name", "options"), CHECKED.values(), ids=CHECKED)
def test_gymnasiums_own_check(name, options):
    env = gymnasium.make(name, **options)
    assert env.spec.id == name
    assert isinstance(env.unwrapped, SingleEnv)
    check_env(env.unwrapped, skip_render_check=True)
    observation, info = env.reset(seed=1)  # and it plays without a warning
    over = False
    while not over:
        assert env.observation_space.contains(observation)
        observation, _, over, _, info = env.step(env.action_space.sample(info["action_mask"]))
    env.close()
    env.close()


def test_gymnasiums_own_check_of_pictures(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    assert SingleEnv.metadata["render_modes"] == ["human", "ansi", "rgb_array", "svg"]
    check_env(gymnasium.make("hexenv/TicTacToe-v0", render_mode="ansi").unwrapped)


def test_a_time_limit_of_gymnasium_truncates():
    env = gymnasium.make("hexenv/Hex-v0", board_size=5, max_episode_steps=2)
    env.reset(seed=1)
    assert env.step(0)[2:4] == (False, False)
    action = np.flatnonzero(env.unwrapped.action_masks())[0]
    assert env.step(action)[2:4] == (False, True)


# ---- the learner's side and reward ---------------------------------------------------------------


def test_a_start_that_the_opponent_always_ends_is_refused():
    env = single(opponent="greedy", side="first")
    with pytest.raises(ValueError, match="expected a start from which the learner gets a turn"):
        env.reset(seed=1, options={"moves": "14257"})
    with pytest.raises(ValueError, match="expected reset"):
        env.step(7)
    env.reset(seed=1)
    assert env.state.ply == 0


# ---- illegal actions -----------------------------------------------------------------------------


def illegal_action(env):
    return int(np.flatnonzero(~env.action_masks())[0])


WRONG = {"taken": illegal_action, "negative": lambda _: -1, "too large": lambda _: 9}
over_wrong = pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)


@over_wrong
def test_an_illegal_action_ends_the_episode(wrong):
    env = single(side="second")
    before, _ = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(wrong(env))
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert plain(observation["observation"]) == plain(before["observation"])
    assert info["action_mask"].any()
    assert env.illegal_actions == 1
    with pytest.raises(ValueError, match="expected reset after the end of an episode"):
        env.step(int(np.flatnonzero(env.action_masks())[0]))
    env.reset()
    assert env.illegal_actions == 1


@over_wrong
@pytest.mark.parametrize("illegal", ["raise", "penalise"])
def test_an_illegal_action_may_change_nothing(illegal, wrong):
    env, twin = (single(illegal=illegal, side="second") for _ in range(2))
    seen = env.reset(seed=1)
    assert plain(seen) == plain(twin.reset(seed=1))
    over, refused = False, 0
    while not over:
        before = env.state.tobytes()
        if illegal == "raise":
            with pytest.raises(IllegalActionError, match="illegal action"):
                env.step(wrong(env))
        else:
            assert env.step(wrong(env))[1:4] == (-0.1, False, False)
            refused += 1
        assert env.state.tobytes() == before
        action = np.flatnonzero(env.action_masks())[0]
        seen = env.step(action)
        assert plain(seen) == plain(twin.step(action))  # the stream has not moved, either
        over = seen[2]
    assert env.illegal_actions == refused
    assert twin.illegal_actions == 0


@over_wrong
@pytest.mark.parametrize("max_illegal", [1, 2, 3])
def test_an_illegal_action_may_cost_something(max_illegal, wrong):
    env = single(illegal="penalise", penalty=-0.25, max_illegal=max_illegal, side="second")
    for episode in range(3):  # they are counted anew in each
        before = env.reset(seed=1)
        for count in range(1, max_illegal + 1):
            observation, reward, terminated, truncated, info = env.step(wrong(env))
            assert plain((observation, info)) == plain(before)
            assert (reward, terminated) == (-0.25, False)
            assert truncated == (count == max_illegal)
            assert env.illegal_actions == episode * max_illegal + count
        with pytest.raises(ValueError, match="expected reset after the end of an episode"):
            env.step(0)


def test_ten_illegal_actions_end_an_episode_by_default():
    env = single(illegal="penalise")
    env.reset(seed=1)
    assert [env.step(-1)[3] for _ in range(10)] == [False] * 9 + [True]


@pytest.mark.parametrize("action", [1.0, "1", None, [1], np.array([1]), True, np.float32(2)])
def test_what_is_no_integer_is_refused(action):
    env = single(illegal="penalise", side="first")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="expected an action as an integer from 0 to 8"):
        env.step(action)
    assert env.state.ply == 0
    assert env.illegal_actions == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"side": "black"}, "expected side of first, second, random, got 'black'"),
        ({"side": 0}, "expected side of"),
        ({"illegal": "ignore"}, "expected illegal of terminate, raise, penalise, got 'ignore'"),
        ({"max_illegal": 0}, "expected max_illegal of at least 1, got 0"),
        ({"max_illegal": 1.5}, "expected a whole number of max_illegal, got 1.5"),
        ({"render_mode": "rgb_array_list"}, "expected a render_mode of human, ansi, .*, svg"),
        ({"mask_in": "action"}, "expected mask_in of"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        single(**options)


# ---- opponents -----------------------------------------------------------------------------------


@over_small_boards
def test_a_function_sees_what_its_side_sees(board):
    seen = []

    def spy(observation, mask):
        seen.append((plain(observation), plain(mask)))
        return last_legal(observation, mask)

    def expected(env):
        expectation.append(plain(env.observe(env.agent_selection)))
        return max(legal_actions(env))

    for side in ("first", "second"):
        env, oracle = single(board, spy, side=side), Oracle(board, side, [expected])
        oracle.seed(2)
        seen, expectation = [], []
        play_both(env, oracle, seed=2)
        assert len(seen) > 0
        assert [observation for observation, _ in seen] == expectation
        assert all(dict(observation)["action_mask"] == mask for observation, mask in seen)


def test_a_function_cannot_change_the_game_through_what_it_sees():
    def vandal(observation, mask):
        taken = int(np.flatnonzero(mask == 0)[0])
        mask[:] = 1
        observation["observation"][:] = 1
        observation["action_mask"][:] = 1
        return taken

    env = single(opponent=vandal, side="first")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="opponent vandal: illegal action 4: 5 is taken") as raised:
        env.step(4)
    assert not isinstance(raised.value, IllegalActionError)  # which is for the learner's


def test_an_agent_is_given_the_game_and_a_seed_for_every_episode():
    agent = Recorder()
    env = single(opponent=agent, side="first")
    assert env.opponent == "Recorder"
    env.reset(seed=1)
    env.step(8)
    env.step(7)
    env.reset(seed=1, options={"moves": "15"})
    env.step(8)
    env.reset(seed=2)
    assert agent.moves == ["9", "918", "159"]
    assert agent.names == {"tictactoe_v0"}
    assert len(agent.seeds) == 3
    assert agent.seeds[0] == agent.seeds[1] != agent.seeds[2]
    assert all(type(seed) is int and 0 <= seed < 2**32 for seed in agent.seeds)


def test_an_agent_cannot_change_the_game():
    env, twin = single("hex-3", Meddler()), single("hex-3", first_legal)
    for seed in range(4):
        seen = env.reset(seed=seed)
        assert plain(seen) == plain(twin.reset(seed=seed))
        while not (len(seen) == 5 and seen[2]):
            action = np.flatnonzero(env.action_masks())[-1]
            seen = env.step(action)
            assert plain(seen) == plain(twin.step(action))


@pytest.mark.parametrize(
    ("opponent", "name"),
    [
        ("random", "random"),
        ("greedy", "greedy"),
        ("uct:simulations=5", "uct:simulations=5"),
        (UCT(simulations=5), "uct"),
        (GreedyAgent(), "greedy"),
        (RandomAgent(), "random"),
        (last_legal, "last_legal"),
        (Highest(), "Highest"),
        (["greedy"], "greedy"),
        ([("greedy",)], "greedy"),
    ],
)
def test_names_of_opponents(opponent, name):
    env = single(opponent=opponent, side="second")
    env.reset(seed=1)
    assert env.opponent == name
    assert env.state.ply == 1


@pytest.mark.parametrize("new", [first_legal, "random", "uct:simulations=2", [first_legal]])
def test_a_new_opponent_comes_with_the_next_episode(new):
    env, twin = (single("hex-3", last_legal, side="first") for _ in range(2))
    seen = env.reset(seed=1)
    twin.reset(seed=1)
    for number in itertools.count():
        if number == 1:
            env.set_opponent("greedy")
            env.set_opponent(new)
        assert env.opponent == "last_legal"
        action = np.flatnonzero(env.action_masks())[0]
        seen = env.step(action)
        assert plain(seen) == plain(twin.step(action))
        if seen[2]:
            break
    assert number > 1
    env.reset(seed=3)
    fresh = single("hex-3", new, side="first")
    fresh.reset(seed=3)
    assert env.opponent == fresh.opponent != "last_legal"
    assert plain(env.step(4)) == plain(fresh.step(4))


@pytest.mark.parametrize(
    ("opponent", "error", "message"),
    [
        ("nobody", ValueError, "expected an agent of .*random.*, got 'nobody'"),
        ("alphazero", ValueError, "alphazero: expected a value for net, got none"),
        ("uct:depth=3", ValueError, "expected a parameter of"),
        ("", ValueError, "expected an agent of"),
        ([], ValueError, "expected at least one opponent, got an empty list"),
        ([[], ()], ValueError, "expected at least one opponent"),
        (None, TypeError, "got None"),
        (UCT, TypeError, "got the class UCT"),
        (["random", 3], TypeError, "got 3"),
        ({"random": 1}, TypeError, "expected an opponent as"),
    ],
)
def test_what_is_no_opponent_is_refused(opponent, error, message):
    with pytest.raises(error, match=message):
        single(opponent=opponent)
    env = single()
    with pytest.raises(error, match=message):
        env.set_opponent(opponent)
    env.reset(seed=1)
    assert env.opponent == "random"


class Replies:
    """An agent that always answers the same."""

    name = "stubborn"

    def __init__(self, reply):
        self.reply = reply

    def act(self, _env):
        return self.reply


@pytest.mark.parametrize("kind", ["function", "agent"])
@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (4, r"illegal action 4: 5 is taken \(ply 1\)"),
        (9, "illegal action 9: expected 0 to 8"),
        (-1, "illegal action -1: expected 0 to 8"),
        (np.uint64(2**64 - 1), "illegal action 18446744073709551615"),
        (1.0, r"expected actions of shape \(1,\) and an integer type, got \(1,\) of float64"),
        (None, "expected actions of .* of object"),
        ("a1", "expected actions of"),
        ([1], r"expected actions of shape \(1,\) .*, got \(1, 1\) of int64"),
        (True, "expected actions of .* of bool"),
    ],
)
def test_an_opponent_that_plays_no_legal_action_is_named(kind, reply, message):
    def stubborn(_observation, _mask):
        return reply

    env = single(opponent=stubborn if kind == "function" else Replies(reply), side="first")
    env.reset(seed=1)
    with pytest.raises(ValueError, match=f"^opponent stubborn: {message}"):
        env.step(4)
    with pytest.raises(ValueError, match=r"^expected reset"):  # it is not the learner's turn
        env.step(4)
    env.set_opponent("random")
    env.reset(seed=1)  # all is well again
    assert env.step(4)[2] is False


# ---- order and seeds -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"moves": "14253"}, "expected a position in play to start from, got one that is over"),
        ({"board": "XXX / OO. / ..."}, "expected a position in play"),
        ({"moves": "11"}, "1 is taken"),
        ({"moves": "1", "board": "... / ... / ..."}, "expected one starting position"),
        ({"state": b""}, "expected a position"),
    ],
)
def test_a_bad_start_is_refused_and_changes_nothing(options, message):
    env, twin = single(side="second"), single(side="second")
    assert env.action_masks().all()
    with pytest.raises(ValueError, match=message):
        env.reset(seed=8, options=options)
    with pytest.raises(ValueError, match="expected reset"):
        env.step(0)
    env.reset(seed=1)
    twin.reset(seed=1)
    before = env.state.tobytes()
    with pytest.raises(ValueError, match=message):
        env.reset(seed=8, options=options)
    assert env.state.tobytes() == before
    assert env.np_random_seed == 1
    assert env.np_random.bit_generator.state == twin.np_random.bit_generator.state
    action = np.flatnonzero(env.action_masks())[0]
    assert plain(env.step(action)) == plain(twin.step(action))
    assert plain(env.reset()) == plain(twin.reset())


def play_on(env, seen=None, steps=12):
    """What is seen from here on, over several episodes."""
    found = [plain(seen)]
    for number in range(steps):
        legal = np.flatnonzero(env.action_masks())
        *seen, terminated, truncated, info = env.step(legal[number % len(legal)])
        found.append(plain([seen, terminated, truncated, info, env.side, env.opponent]))
        if terminated or truncated:
            found.append(plain(env.reset()))
    return found


def test_seeds():
    env = single("hex-3")
    episodes = [play_on(env, env.reset(seed=seed)) for seed in (1, 2, 1)]
    assert episodes[0] == episodes[2] != episodes[1]
    other = single("hex-3")
    assert play_on(other, other.reset(seed=1)) == episodes[0]
    assert other.np_random_seed == 1
    assert play_on(other, other.reset()) != episodes[0]  # on with the stream, not back


def test_without_a_seed_games_differ():
    openings = set()
    for _ in range(6):
        env = single("hex-3", side="second")
        env.reset()
        first = int(env.state.last_action)
        env.reset()
        openings.add((first, int(env.state.last_action)))
    assert len(openings) > 1


OPPONENTS = {
    "random": "random",
    "greedy": "greedy",
    "uct": "uct:simulations=5",
    "function": last_legal,
    "agent": GreedyAgent(seed=1),
    "pool": ["random", "greedy", last_legal, "uct:simulations=5"],
}


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"]
)
@pytest.mark.parametrize("opponent", OPPONENTS.values(), ids=OPPONENTS)
@pytest.mark.parametrize("board", ["hex-3", "tictactoe"])
def test_copies_go_on_alike_and_apart(board, opponent, copied):
    env = single(board, opponent, illegal="penalise")
    plain_copy = copied(env)  # before the first reset
    seen = env.reset(seed=6)
    assert plain(plain_copy.reset(seed=6)) == plain(seen)
    env.step(np.flatnonzero(env.action_masks())[0])
    env.step(-1)
    twin = copied(env)
    before = twin.state.tobytes()
    expected = play_on(env)
    assert twin.state.tobytes() == before
    assert twin.illegal_actions == 1
    assert play_on(twin) == expected


# ---- what is returned ----------------------------------------------------------------------------


@pytest.mark.parametrize("view", [{}, {"mask_in": "observation"}, {"mask_in": "info"}])
@pytest.mark.parametrize("illegal", ["raise", "terminate"])
def test_returned_arrays_are_the_callers(view, illegal):
    env, twin = (single(side="second", illegal=illegal, **view) for _ in range(2))
    seen = env.reset(seed=1)
    expected = twin.reset(seed=1)
    over = False
    while not over:
        assert plain(seen) == plain(expected)
        masks = env.action_masks()
        legal = np.flatnonzero(masks)
        masks[:] = False
        observation, info = seen[0], seen[-1]
        for part in (observation, info):
            for array in part.values() if isinstance(part, dict) else [part]:
                array[:] = 1
        assert env.action_masks().tolist() == twin.action_masks().tolist()
        seen, expected = env.step(legal[0]), twin.step(legal[0])
        over = expected[2]
    assert plain(seen) == plain(expected)


def test_masks_of_the_observation_and_of_the_info_are_apart():
    env = single()
    observation, info = env.reset(seed=1)
    kept = copy.deepcopy(info)
    observation["action_mask"][:] = 5
    assert plain(info) == plain(kept)


# ---- pictures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "draw"), [("ansi", render_text), ("rgb_array", render_rgb), ("svg", render_svg)]
)
@over_small_boards
def test_pictures_are_of_the_position(board, mode, draw):
    env = single(board, render_mode=mode)
    env.reset(seed=1)
    pictures = []
    for _ in range(4):
        picture = env.render()
        assert np.array_equal(picture, draw(env.raw_env.game, env.state))
        pictures.append(picture if isinstance(picture, str) else picture.tobytes())
        if env.step(np.flatnonzero(env.action_masks())[0])[2]:
            break
    assert len(set(pictures)) == len(pictures) > 1
    assert env.render_mode == mode


def test_gymnasium_lists_the_frames_of_an_episode():
    options = {"side": "first", "theme": "dark", "cell_size": 16}
    env = gymnasium.make("hexenv/TicTacToe-v0", render_mode="rgb_array_list", **options)
    env.reset(seed=1)
    expected = [env.unwrapped.render()]
    is_over = False
    while not is_over:
        action = int(np.argmax(env.unwrapped.action_masks()))
        is_over = env.step(action)[2]
        expected.append(env.unwrapped.render())
    assert len(expected) > 3
    assert np.array_equal(env.render(), expected)
    assert env.render() == []


def test_notebooks_show_the_board_at_any_time():
    env = single("hex-3", cell_size=16)
    look = Look(cell_size=16)
    assert env._repr_svg_() == render_svg(env.raw_env.game, env.state, look=look)
    env.reset(seed=1)
    env.step(4)
    assert env._repr_svg_() == render_svg(env.raw_env.game, env.state, look=look)
    assert f"(ply {env.state.ply})" in env._repr_html_()


def test_an_unknown_option_is_refused_with_those_there_are():
    known = (
        "a parameter of render_mode, theme, .*, opponent, side, .*, got .*'oponent'.*mean opponent"
    )
    with pytest.raises(TypeError, match=known):
        single(oponent="random")


def test_render_without_a_mode_warns():
    env = single()
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="render was called without a render_mode"):
        assert env.render() is None


def test_an_agent_that_is_for_two_players_does_not_plan_in_it():
    env = single()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="expected a PettingZoo environment"):
        NRPA(simulations=1).act(env)


def test_a_window(monkeypatch):
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = single(render_mode="human", side="first")
    env.raw_env.metadata["render_fps"] = 0
    assert pygame.display.get_surface() is None
    env.reset(seed=1)
    first = pygame.image.tobytes(pygame.display.get_surface(), "RGB")
    env.step(4)
    second = pygame.image.tobytes(pygame.display.get_surface(), "RGB")
    assert first != second  # shown at once
    assert env.render() is None
    assert pygame.image.tobytes(pygame.display.get_surface(), "RGB") == second
    env.close()
    assert pygame.display.get_surface() is None
    env.close()
