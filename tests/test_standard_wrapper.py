"""`StandardWrapper` beside the three wrappers of PettingZoo that it stands for.

One difference is wanted, and is left out of the comparisons: after an illegal move PettingZoo's
masks are those from before it, and ours are all zeros, as at every other end.
"""

import numpy as np
import pytest
from environments import SMALL, legal_actions, make, plain, play_out, random_action, view
from pettingzoo.utils.env_logger import EnvLogger
from pettingzoo.utils.wrappers import (
    AssertOutOfBoundsWrapper,
    OrderEnforcingWrapper,
    TerminateIllegalWrapper,
)

from hexenv.envs.aec import BoardEnv
from hexenv.envs.standard_wrapper import StandardWrapper

over_boards = pytest.mark.parametrize("board", SMALL)
over_two_boards = pytest.mark.parametrize("board", ["hex-3-swap", "connect4-4x5"])
over_masks = pytest.mark.parametrize("mask_in", ["both", "observation", "info"])

ILLEGAL_MOVE = "Illegal move made, game terminating with current player losing"
PLAYED_ON = "step() called after all agents are terminated or truncated"
NOT_IN_SPACE = "action is not in action space"
ONLY_NONE = "when an agent is dead, the only valid action is None"
NO_STEP = "need to call step() or reset() in a loop over `agent_iter`"


def pettingzoos(raw, illegal_reward=-1.0):
    env = TerminateIllegalWrapper(raw, illegal_reward=illegal_reward)
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(env))


def hide_masks(value):
    """A value without what its masks say."""
    if isinstance(value, dict):
        return {k: "a mask" if k == "action_mask" else hide_masks(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [hide_masks(item) for item in value]
    return value


class Side:
    """An environment, with a loop over its agents, and what its calls have come to."""

    def __init__(self, env):
        self.env = env
        self.loop = None

    def next_turn(self):
        """The next agent of the loop."""
        if self.loop is None:
            self.loop = iter(self.env.agent_iter(40))
        return next(self.loop)

    def new_loop(self):
        self.loop = None

    def outcome(self, call):
        """What a call returned or raised, and what it logged."""
        EnvLogger.flush()
        try:
            result = call(self)
        except Exception as error:
            # Ours also says what was expected, and what came.
            said = NOT_IN_SPACE if str(error).startswith(NOT_IN_SPACE) else str(error)
            result = (type(error), said)
        logged = list(EnvLogger.mqueue)
        EnvLogger.flush()
        return result, logged

    def shown(self):
        """All that can be seen without a call that the wrappers take note of."""
        env, raw = self.env, self.env.unwrapped
        names = ("agents", "rewards", "terminations", "truncations", "infos", "agent_selection")
        attributes = {name: self.outcome(lambda _, n=name: getattr(env, n)) for name in names}
        attributes["cumulative"] = self.outcome(lambda _: env._cumulative_rewards)
        attributes["number of agents"] = self.outcome(lambda _: env.num_agents)
        if hasattr(raw, "agents"):
            attributes["observations"] = [raw.observe(agent) for agent in raw.possible_agents]
        return {**attributes, "actions": raw.actions, "position": raw.to_bytes()}


class Pair:
    """Both stacks of wrappers over the same board; every call is made on both and compared."""

    def __init__(self, board, illegal_reward=-1.0, **options):
        self.ours = Side(StandardWrapper(make(board, **options), illegal_reward))
        self.theirs = Side(pettingzoos(make(board, **options), illegal_reward))
        self.forfeited = False
        self.seen = []
        self.compare("at first", self.ours.shown(), self.theirs.shown())

    @property
    def env(self):
        return self.ours.env

    def call(self, call):
        """Make a call on both; returns what it came to, as text."""
        ours, theirs = self.ours.outcome(call), self.theirs.outcome(call)
        if any(ILLEGAL_MOVE in line for line in ours[1]):
            self.forfeited = True
        self.compare("result", ours, theirs)
        self.compare("afterwards", self.ours.shown(), self.theirs.shown())
        if self.forfeited:
            for agent in self.env.agents:
                assert not self.env.infos[agent].get("action_mask", np.zeros(1)).any()
            assert legal_actions(self.env) == []
        self.seen.append(str(ours))
        return self.seen[-1]

    def compare(self, what, ours, theirs):
        if self.forfeited:
            ours, theirs = hide_masks(ours), hide_masks(theirs)
        assert plain(ours) == plain(theirs), what

    def step(self, action):
        return self.call(lambda side: side.env.step(action))

    def last(self, observe=True):
        return self.call(lambda side: side.env.last(observe))

    def reset(self, **arguments):
        self.forfeited = False
        self.ours.loop = self.theirs.loop = None
        return self.call(lambda side: side.env.reset(**arguments))

    def drain(self):
        """None for each agent whose game is over."""
        while self.env.agents:
            self.last()
            self.step(None)


# ---- what it is ----------------------------------------------------------------------------------


@over_boards
def test_it_is_the_outermost_wrapper_and_the_only_one(board):
    env = make(board, "env")
    assert isinstance(env, OrderEnforcingWrapper)
    assert isinstance(env, StandardWrapper)
    assert isinstance(env.env, BoardEnv)
    assert env.unwrapped is env.env
    theirs = pettingzoos(make(board))
    assert str(env) == str(theirs)
    assert env.metadata == theirs.metadata
    assert env.possible_agents == theirs.possible_agents
    assert env.max_num_agents == theirs.max_num_agents == 2
    for agent in env.possible_agents:
        assert env.observation_space(agent) == theirs.observation_space(agent)
        assert env.action_space(agent) == theirs.action_space(agent)


# ---- before reset --------------------------------------------------------------------------------

CALLS = {
    "step": lambda side: side.env.step(0),
    "step None": lambda side: side.env.step(None),
    "observe": lambda side: side.env.observe("player_0"),
    "last": lambda side: side.env.last(),
    "last without observation": lambda side: side.env.last(observe=False),
    "render": lambda side: side.env.render(),
    "agent_iter": lambda side: side.env.agent_iter(),
    "state": lambda side: side.env.state(),
    "close": lambda side: side.env.close(),
    **{
        name: lambda side, name=name: getattr(side.env, name)
        for name in (
            *("agents", "rewards", "terminations", "truncations", "infos", "agent_selection"),
            *("num_agents", "max_num_agents", "possible_agents", "metadata", "render_mode"),
            *("_cumulative_rewards", "_private", "unknown", "moves"),
        )
    },
}
RAISING = set(CALLS) - {
    *("close", "max_num_agents", "possible_agents", "metadata", "render_mode", "moves")
}


@pytest.mark.parametrize("name", CALLS)
@over_two_boards
def test_calls_before_reset(board, name):
    pair = Pair(board, render_mode="ansi")
    text = pair.call(CALLS[name])
    assert ("Error" in text) == (name in RAISING)
    pair.reset()
    pair.step(0)
    assert pair.env.unwrapped.actions == [0]


@pytest.mark.parametrize("name", ["reset", *CALLS])
@over_two_boards
def test_calls_in_the_middle_of_a_game_and_after_it(board, name):
    pair = Pair(board, render_mode="ansi")
    call = CALLS.get(name, lambda side: side.env.reset())
    rng = np.random.default_rng(1)
    for moment in ("middle", "end", "after"):
        pair.reset()
        pair.step(random_action(pair.env, rng))
        while moment != "middle" and not pair.env.terminations[pair.env.agent_selection]:
            pair.step(random_action(pair.env, rng))
        if moment == "after":
            pair.drain()
        if name == "agent_iter":  # returns an object of its own
            pair.call(Side.next_turn)
        else:
            pair.call(call)
    assert len(pair.seen) > 6


@pytest.mark.parametrize("kind", ["raw_env", "env"])
def test_the_state_of_either_is_the_position(kind):
    env = make("hex-3", kind)
    env.reset(options={"moves": "a1 b2"})
    assert env.state.ply == 2
    other = make("hex-3", kind)
    other.reset(options={"state": env.state})
    assert other.to_bytes() == env.to_bytes()


def test_a_refused_reset_does_not_count():
    """Theirs counts it: the environment beneath would then be asked for what it has not."""
    env = make("hex-3", "env")
    with pytest.raises(ValueError, match="expected a cell"):
        env.reset(options={"moves": "z9"})
    with pytest.raises(AssertionError, match=r"reset\(\) needs to be called before step"):
        env.step(0)


# ---- illegal moves -------------------------------------------------------------------------------


@pytest.mark.parametrize("looks", [True, False])
@over_masks
@over_boards
def test_an_illegal_move_at_every_ply(board, mask_in, looks):
    rng = np.random.default_rng(2)
    pair = Pair(board, mask_in=mask_in)
    size = pair.env.action_space("player_0").n
    illegal_at = []
    for plies in range(pair.env.unwrapped.game.max_plies()):
        pair.reset()
        for _ in range(plies):
            if looks:
                pair.last()
            pair.step(random_action(pair.env, rng))
            if any(pair.env.terminations.values()):
                break
        illegal = sorted(set(range(size)) - set(legal_actions(pair.env)))
        if any(pair.env.terminations.values()) or not illegal:
            continue
        illegal_at.append(plies)
        mover = pair.env.agent_selection
        if looks:
            pair.last()
        assert ILLEGAL_MOVE in pair.step(int(rng.choice(illegal)))
        other = ({"player_0", "player_1"} - {mover}).pop()
        assert pair.env.rewards == {mover: -1, other: 0}
        assert pair.env.terminations == pair.env.truncations == {mover: True, other: True}
        assert pair.env.agent_selection == "player_0"
        assert len(pair.env.unwrapped.actions) == plies
        assert ONLY_NONE in pair.step(0)
        pair.drain()
        assert PLAYED_ON in pair.step(0)
        assert PLAYED_ON in pair.step(None)
    assert len(illegal_at) >= 2


@pytest.mark.parametrize("reward", [-1, -7.5, 0, 2])
def test_the_reward_for_an_illegal_move(reward):
    pair = Pair("tictactoe", illegal_reward=reward)
    pair.reset(options={"moves": "5"})
    pair.step(4)
    assert pair.env.rewards == {"player_0": 0, "player_1": reward}
    assert pair.env.last()[1:4] == (0, True, True)
    pair.step(None)
    assert pair.env.last()[1:4] == (reward, True, True)
    pair.drain()


# ---- actions outside the space -------------------------------------------------------------------


@pytest.mark.parametrize(
    "action",
    [
        *(-1, 1000, None, 0.0, 1.5, float("nan"), "0", b"0", [0], (0,), {}),
        *(np.int64(-1), np.float32(0), np.array([0]), np.array(0.0)),
    ],
    ids=repr,
)
@over_two_boards
def test_actions_outside_the_space(board, action):
    pair = Pair(board)
    pair.reset()
    before = view(pair.env)
    assert NOT_IN_SPACE in pair.step(action)
    assert view(pair.env) == before
    pair.last()
    assert NOT_IN_SPACE in pair.step(action)
    pair.step(0)
    assert pair.env.unwrapped.actions == [0]


def test_an_action_of_more_than_64_bits():
    """Not beside PettingZoo: its answer to it depends on the gymnasium."""
    env = make("hex-3-swap", "env")
    env.reset()
    before = view(env)
    with pytest.raises(AssertionError, match=NOT_IN_SPACE):
        env.step(10**30)
    assert view(env) == before


@pytest.mark.parametrize("integer", [int, np.int8, np.int32, np.int64, np.uint8, np.array])
@over_two_boards
def test_actions_inside_the_space(board, integer):
    pair = Pair(board)
    pair.reset()
    rng = np.random.default_rng(4)
    while not any(pair.env.terminations.values()):
        assert "Error" not in pair.step(integer(random_action(pair.env, rng)))
    assert len(pair.env.unwrapped.actions) > 2
    assert all(type(action) is int for action in pair.env.unwrapped.actions)


# ---- the order of calls --------------------------------------------------------------------------


@over_boards
def test_a_loop_without_steps(board):
    pair = Pair(board)
    pair.reset()
    assert "player_0" in pair.call(Side.next_turn)
    assert NO_STEP in pair.call(Side.next_turn)
    pair.step(0)
    assert "player_1" in pair.call(Side.next_turn)
    assert NO_STEP in pair.call(Side.next_turn)
    assert NOT_IN_SPACE in pair.step(-1)  # which counts as a step all the same
    assert "player_1" in pair.call(Side.next_turn)
    pair.reset()
    assert "player_0" in pair.call(Side.next_turn)


# ---- anything at any time ------------------------------------------------------------------------


def random_call(pair, rng):
    """Play mostly as one should, and sometimes do anything else; makes the call on both."""
    env = pair.env
    size = env.action_space("player_0").n
    is_over = not env.agents or env.terminations[env.agent_selection]
    illegal = sorted(set(range(size)) - set(legal_actions(env)))
    other_calls = [
        lambda: pair.step(None),
        lambda: pair.step(int(rng.integers(size))),
        lambda: pair.step(int(rng.choice([-1, size, size + 7]))),
        lambda: pair.step(0.0),
        lambda: pair.last(observe=False),
        lambda: pair.call(Side.new_loop),
        lambda: pair.call(lambda side: side.env.observe("player_0")),
        lambda: pair.call(lambda side: side.env.observe("player_1")),
        lambda: pair.call(lambda side: side.env.observe("player_2")),
        lambda: pair.call(lambda side: side.env.render()),
        lambda: pair.call(lambda side: side.env.close()),
        lambda: pair.reset(seed=int(rng.integers(9)), options={"options": 1}),
    ]
    number = rng.random()
    if number < 0.45:
        pair.step(None if is_over else random_action(env, rng))
    elif number < 0.6:
        pair.last()
    elif number < 0.75:
        pair.call(Side.next_turn)
    elif number < 0.8 and illegal and not is_over:
        pair.step(int(rng.choice(illegal)))
    elif number < 0.8 and is_over:
        pair.step(int(rng.integers(size)))
    elif number < 0.85 and not env.agents:
        pair.reset()
    else:
        other_calls[rng.integers(len(other_calls))]()


@over_masks
@over_boards
def test_random_calls(board, mask_in):
    pair = Pair(board, mask_in=mask_in, render_mode="ansi")
    pair.reset()
    rng = np.random.default_rng(6)
    for _ in range(600):
        random_call(pair, rng)
    for text in (ILLEGAL_MOVE, PLAYED_ON, NOT_IN_SPACE, ONLY_NONE, NO_STEP, "StopIteration"):
        assert any(text in seen for seen in pair.seen), text


@over_boards
def test_a_clone_goes_on_beside_pettingzoos(board):
    """The wrapper's own memory is copied too: that there was a reset, and a step since."""
    pair = Pair(board)
    rng = np.random.default_rng(7)
    for _ in range(5):
        pair.reset()
        while pair.env.agents:
            pair.ours.env = pair.ours.env.clone()
            pair.ours.loop = pair.theirs.loop = None
            pair.call(Side.next_turn)
            pair.ours.env = pair.ours.env.clone()
            pair.ours.loop = pair.theirs.loop = None
            assert NO_STEP in pair.call(Side.next_turn)
            if rng.random() < 0.1:
                pair.step(int(rng.integers(pair.env.action_space("player_0").n)))
            elif pair.env.terminations[pair.env.agent_selection]:
                pair.step(None)
            else:
                pair.step(random_action(pair.env, rng))
    play_out(pair.env, rng)
    assert pair.env.agents == []
