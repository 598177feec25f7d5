"""Planning over any environment: whose rules are obeyed, and what a faithful copy is."""

import copy
import pickle
import threading
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from environments import BOARDS, KINDS, SMALL, make, played, shown, theirs
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import BaseWrapper
from pettingzoo.utils.wrappers import (
    AssertOutOfBoundsWrapper,
    OrderEnforcingWrapper,
    TerminateIllegalWrapper,
)

from agents import (
    NRPA,
    UCT,
    AlphaBeta,
    FlatMonteCarlo,
    GreedyAgent,
    RandomAgent,
    TranspositionMCTS,
)
from agents.planning import foreign
from agents.planning.clones import SHARED, clone, duplicate, silent_clone
from agents.planning.environment import UnfitEnvironmentError, action_mask, is_over
from agents.planning.foreign import ForeignGame, without_guards
from agents.planning.view import planner_view
from hexenv import connect4_v0, tictactoe_v0
from hexenv.envs.aec import BoardEnv
from hexenv.envs.standard_wrapper import StandardWrapper
from hexenv.games import tictactoe

over_kinds = pytest.mark.parametrize("kind", KINDS)


over_theirs = pytest.mark.parametrize("name", ["connect_four", "tictactoe"])


def actions_in(agent):
    """All actions in the tree that an agent's last search left."""
    tree = agent.planner.workers[0].tree
    return set(tree.action[1 : tree.node_count[0]].tolist())


# ---- wrappers of users ---------------------------------------------------------------------------


class NoCentre(BaseWrapper):
    """Forbids action 4."""

    def observe(self, agent):
        observation = self.env.observe(agent)
        mask = observation["action_mask"].copy()
        mask[4] = 0
        return {**observation, "action_mask": mask}


class NoCentreByInfo(BaseWrapper):
    """Forbids action 4 in the infos, where the mask of the environment below must be."""

    @property
    def infos(self):
        infos = copy.deepcopy(self.env.infos)
        for info in infos.values():
            info["action_mask"][4] = 0
        return infos


class Misere(BaseWrapper):
    """Who makes a line has lost."""

    @property
    def rewards(self):
        return {agent: -reward for agent, reward in self.env.rewards.items()}


class Silent(BaseWrapper):
    """Changes nothing; but who could tell?"""


class AtMostFour(BaseWrapper):
    """The game ends without a winner after four plies, which the wrapper itself counts."""

    def reset(self, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.plies = []

    def step(self, action):
        self.plies.append(action)
        super().step(action)

    @property
    def terminations(self):
        return {agent: len(self.plies) >= 4 for agent in self.env.agents}

    @property
    def rewards(self):
        return dict.fromkeys(self.env.agents, 0)


class Below(BaseWrapper):
    """Forbids what the innermost environment, which it also keeps at hand, has played last but one.

    So it depends on the position of an environment that is not its own `env`.
    """

    def __init__(self, env):
        super().__init__(env)
        self.raw = env.unwrapped

    def observe(self, agent):
        observation = self.env.observe(agent)
        mask = observation["action_mask"].copy()
        neighbour = (self.raw.actions[-1] + 1) % len(mask) if self.raw.actions else 0
        if mask.sum() > 1:
            mask[neighbour] = 0
        return {**observation, "action_mask": mask}


class WrapperOfOurs(StandardWrapper):
    """A wrapper with `clone` from its parent, and with `last` from PettingZoo, which observes."""

    observe = NoCentre.observe
    last = AECEnv.last


class BoardOfAUser(BoardEnv):
    """A subclass may change the rules, as here: no move in the centre."""

    def observe(self, agent):
        observation = super().observe(agent)
        observation["action_mask"][4] = 0
        return observation


MAKERS = {
    "ours, env": tictactoe_v0.env,
    "ours, raw_env": tictactoe_v0.raw_env,
    "ours, connect4": connect4_v0.env,
    "theirs, tictactoe": lambda: theirs("tictactoe").env(),
    "theirs, tictactoe raw": lambda: theirs("tictactoe").raw_env(),
    "theirs, connect four": lambda: theirs("connect_four").env(),
}
over_wrapped = pytest.mark.parametrize("name", MAKERS)


def make_wrapped(name, wrapper):
    """An environment under a user's wrapper."""
    return wrapper(MAKERS[name]())


# ---- which game is planned over ------------------------------------------------------------------


@over_kinds
@pytest.mark.parametrize("board", BOARDS)
def test_our_environments_are_planned_over_as_compiled_games(board, kind):
    env = played(make(board, kind))
    game, root, compiles, actions, assumed = planner_view(env)
    assert game is env.unwrapped.game
    assert root.tobytes() == env.unwrapped.state.tobytes()
    assert compiles
    assert actions == tuple(env.unwrapped.actions)
    assert assumed is None
    assert not planner_view(env, "interpreted").compiles
    assert isinstance(planner_view(env, "environment").game, ForeignGame)


@pytest.mark.parametrize(
    "wrap",
    [
        OrderEnforcingWrapper,
        AssertOutOfBoundsWrapper,
        lambda env: TerminateIllegalWrapper(env, -1),
        lambda env: OrderEnforcingWrapper(AssertOutOfBoundsWrapper(env)),
        lambda env: StandardWrapper(env, illegal_reward=-5),
    ],
)
def test_wrappers_that_change_no_rules_are_looked_through(wrap):
    env = played(wrap(tictactoe_v0.raw_env()))
    assert planner_view(env).compiles
    assert planner_view(env).game is env.unwrapped.game


@pytest.mark.parametrize(
    "make_env",
    [
        lambda: Silent(tictactoe_v0.env()),
        lambda: OrderEnforcingWrapper(Silent(tictactoe_v0.raw_env())),
        lambda: WrapperOfOurs(tictactoe_v0.raw_env()),
        lambda: BoardOfAUser(tictactoe.new(), "tictactoe_v0"),
        lambda: StandardWrapper(BoardOfAUser(tictactoe.new(), "tictactoe_v0")),
        lambda: theirs("tictactoe").env(),
        lambda: theirs("connect_four").raw_env(),
    ],
    ids=["wrapper", "inner", "subclass", "board", "wrapped board", "tictactoe", "connect four"],
)
def test_what_may_change_the_rules_is_planned_over_as_it_is(make_env):
    env = played(make_env())
    planned = planner_view(env)
    assert isinstance(planned.game, ForeignGame)
    assert type(planned.root.env) is type(without_guards(env))
    assert planned.root.env.unwrapped is not env.unwrapped
    assert not planned.compiles
    for route in ("compiled", "interpreted"):
        with pytest.raises(ValueError, match=f'"{route}" is for plain .*{type(env).__name__}'):
            UCT(10, route=route).act(env)


class Plain(tictactoe.TicTacToe):
    """A game that is not under `@compiled`."""


def test_a_game_that_does_not_compile_is_interpreted():
    env = played(BoardEnv(Plain(), "tictactoe_v0"), [0, 3])
    agent = UCT(200, seed=0)
    assert not planner_view(env).compiles
    assert agent.act(env) in range(9)
    with pytest.raises(ValueError, match='route "compiled" needs a @compiled game, got Plain'):
        planner_view(env, "compiled")


# ---- whose rules are obeyed ----------------------------------------------------------------------


@over_wrapped
@pytest.mark.parametrize("actions", [(), (0,), (0, 1, 2)], ids=len)
def test_a_forbidden_action_is_nowhere_in_the_tree(name, actions):
    env = played(make_wrapped(name, NoCentre), actions)
    agent = UCT(80, seed=0)
    assert agent.act(env) != 4
    assert agent.statistics.visits.sum() == 80
    assert agent.statistics.visits[4] == 0
    assert 4 not in agent.statistics.principal_variation
    assert len(actions_in(agent)) > 1
    assert 4 not in actions_in(agent)
    for other in (GreedyAgent(seed=0), RandomAgent(seed=0)):
        assert 4 not in {other.act(env) for _ in range(25)}


@pytest.mark.parametrize(
    "make_env",
    [
        lambda: WrapperOfOurs(tictactoe_v0.raw_env()),
        lambda: BoardOfAUser(tictactoe.new(), "tictactoe_v0"),
        lambda: NoCentreByInfo(tictactoe_v0.env(mask_in="info")),
        lambda: NoCentreByInfo(tictactoe_v0.env()),
    ],
    ids=["wrapper", "board", "info", "info beside an observation"],
)
def test_a_mask_is_obeyed_wherever_it_is_restricted(make_env):
    agent = UCT(200, seed=0)
    assert agent.act(played(make_env(), [0])) != 4
    assert agent.statistics.visits[4] == 0
    assert 4 not in actions_in(agent)


@pytest.mark.parametrize("name", ["ours, env", "ours, raw_env", "theirs, tictactoe"])
def test_where_no_action_is_left_the_game_is_over(name):
    # All cells but the forbidden centre get filled, without a line: X X O / O . X / X O O.
    env = played(make_wrapped(name, NoCentre), [0, 2, 1, 3, 5, 7, 6])
    agent = UCT(20, seed=0)
    assert agent.act(env) == 8
    assert agent.statistics.values[8] == 0
    env.step(8)
    assert is_over(env)
    with pytest.raises(ValueError, match="expected an environment in play"):
        agent.act(env)


"""Positions in which action 2 makes a line."""


@over_wrapped
def test_changed_rewards_are_obeyed(name):
    actions = [2, 0, 2, 0, 2, 6] if "connect" in name else [0, 5, 1, 6]  # then 2 makes a line
    values = []
    for wrapper in (Misere, Silent):
        agent = UCT(150, seed=0)
        action = agent.act(played(make_wrapped(name, wrapper), actions))
        values.append(float(agent.statistics.values[2]))
        assert (action == 2) == (wrapper is Silent)
        greedy, env = GreedyAgent(seed=0), played(make_wrapped(name, wrapper), actions)
        assert (2 in {greedy.act(env) for _ in range(15)}) == (wrapper is Silent)
    assert values == [-1, 1]


@over_wrapped
def test_a_wrapper_may_end_the_game_earlier(name):
    env = played(make_wrapped(name, AtMostFour), [0, 1])
    agent = UCT(200, seed=0)
    agent.act(env)
    assert env.plies == [0, 1]
    assert len(agent.statistics.principal_variation) == 2
    assert not agent.statistics.values.any()  # a draw however it goes


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrapper_may_look_through_to_the_bottom(kind):
    env = played(Below(getattr(tictactoe_v0, kind)()), [0])
    twin = clone(env)
    assert twin.raw is twin.unwrapped is not env.unwrapped
    agent = UCT(300, seed=0)
    agent.act(env)
    line = agent.statistics.principal_variation
    assert len(line) > 1
    for action in line:
        assert action_mask(env)[action]
        env.step(action)


# ---- clones --------------------------------------------------------------------------------------


@over_kinds
@over_theirs
def test_clones_of_pettingzoos_environments_are_independent(name, kind):
    env = played(getattr(theirs(name), kind)(), [4, 1])
    before = shown(env)
    twin = clone(env)
    assert type(twin) is type(env)
    assert twin.unwrapped is not env.unwrapped
    twin.step(2)
    assert shown(env) == before != shown(twin)
    of_twin = shown(twin)
    env.step(0)
    assert shown(twin) == of_twin

    twin = clone(env)  # plays on to the same end
    rng = np.random.default_rng(0)
    while env.agents:
        action = None if is_over(env) else int(rng.choice(np.flatnonzero(action_mask(env))))
        env.step(action)
        twin.step(action)
        assert shown(twin) == shown(env)
    assert not twin.agents


@over_theirs
def test_the_state_of_wrappers_is_cloned(name):
    with pytest.raises(AttributeError, match="before reset"):
        _ = clone(theirs(name).env()).agent_selection
    env = played(theirs(name).env(), [4] * (6 if name == "connect_four" else 1))
    before = shown(env)
    twin = clone(env)
    twin.step(4)  # illegal: it is taken, or the column is full
    assert all(twin.terminations.values())
    assert sorted(twin.rewards.values()) == [-1, 0]
    assert shown(env) == before
    for over in (twin, clone(twin)):  # the wrapper remembers that the game was ended
        over.step(None)
        over.step(None)
        assert not over.agents
    with pytest.raises(AssertionError, match="action is not in action space"):
        clone(env).step(99)
    env.step(0)
    assert not any(env.terminations.values())


# ---- environments made here ----------------------------------------------------------------------


class Heap(AECEnv):
    """Two agents take one, two or three counters from a heap in turn; who takes the last wins.

    The agent to move has lost when a multiple of four is left.
    """

    metadata = {"name": "heap_v0"}  # noqa: RUF012

    def __init__(self, counters=10, agents=2):
        super().__init__()
        self.counters = counters
        self.possible_agents = [f"agent {number}" for number in range(agents)]

    def observation_space(self, agent):
        return spaces.Dict(
            observation=spaces.Box(0, 1000, (1,), np.int64), action_mask=spaces.MultiBinary(3)
        )

    def action_space(self, agent):
        return spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        self.left = self.counters
        self.agents = self.possible_agents[:]
        self.agent_selection = self.agents[0]
        self.rewards = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def observe(self, agent):
        mask = np.array([count <= self.left for count in (1, 2, 3)], np.int8)
        return {"observation": np.array([self.left]), "action_mask": mask}

    def step(self, action):
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        assert action + 1 <= self.left
        self.left -= action + 1
        agent = self.agent_selection
        index = self.agents.index(agent)
        if self.left == 0:
            self.rewards = {other: 1 if other == agent else -1 for other in self.agents}
            self.terminations = dict.fromkeys(self.agents, True)
        self.agent_selection = self.agents[(index + 1) % len(self.agents)]
        self._accumulate_rewards()


@pytest.mark.parametrize(("counters", "best"), [(5, 0), (6, 1), (7, 2), (9, 0), (3, 2), (1, 0)])
def test_an_environment_of_a_user_is_solved(counters, best):
    env = played(Heap(counters))
    agent = UCT(600, seed=0)
    assert agent.act(env) == best
    assert agent.statistics.values[best] > 0.5


class HeapWithRewardsOnTheWay(Heap):
    """Every counter taken is worth one; nobody gets anything for the last.

    It also holds what cannot be copied and does no harm, and chance of its own, which is copied.
    """

    def reset(self, seed=None, options=None):
        super().reset(seed, options)
        self.lock, self.rng = threading.Lock(), np.random.default_rng(0)

    def step(self, action):
        agent = self.agent_selection
        super().step(action)
        if self.agents:
            self.rewards = dict.fromkeys(self.agents, 0)
            self.rewards[agent] = action + 1
        self.noise = self.rng.random()


def test_rewards_on_the_way_add_up():
    # With four left, who takes three has more at the end than the other; no other action wins.
    env = played(HeapWithRewardsOnTheWay(4))
    before = env.rng.bit_generator.state
    agent = UCT(300, seed=0)
    assert agent.act(env) == 2
    assert agent.statistics.values[2] == 1
    assert env.rng.bit_generator.state == before
    assert clone(env).lock is env.lock


# ---- what environments may be made of ------------------------------------------------------------


class Slotted:
    __slots__ = ("heap", "owner")

    def __init__(self, owner, count):
        self.owner, self.heap = owner, [1] * count


@dataclass(frozen=True)
class Frozen:
    heap: list


class Named(NamedTuple):
    heap: list


FORMS = (
    lambda env, count: [1] * count,
    lambda env, count: dict.fromkeys(range(count), 1),
    lambda env, count: (1,) * count,
    lambda env, count: np.ones(count, np.int8),
    lambda env, count: deque([1] * count),
    lambda env, count: np.array([1] * count, object),
    lambda env, count: Frozen([1] * count),
    lambda env, count: Named([1] * count),
    lambda env, count: Slotted(env, count),
    lambda env, count: defaultdict(int, enumerate([1] * count)),
    lambda env, count: ([1] * count, env),
)


class HeapOfManyKinds(Heap):
    """Another kind of thing at every ply, with what is in it used up in place where it can be."""

    @property
    def left(self):
        heap = self.heap
        heap = heap[0] if isinstance(heap, (Named, tuple)) and heap[-1:] != (1,) else heap
        heap = getattr(heap, "heap", heap)
        return sum(heap.values() if isinstance(heap, dict) else heap) if len(heap) else 0

    @left.setter
    def left(self, count):
        self.heap = FORMS[count % len(FORMS)](self, count)


class HeapInTwoAttributes(Heap):
    def reset(self, seed=None, options=None):
        self.heap = [0]
        self.inside = {"heap": self.heap}
        super().reset(seed, options)

    @property
    def left(self):
        return self.heap[0]

    @left.setter
    def left(self, count):
        self.inside["heap"][0] = count


class HeapInViews(Heap):
    """Written through one view of an array, and read through another."""

    def reset(self, seed=None, options=None):
        self.cells = np.zeros(20, np.int16).reshape(4, 5)
        self.backwards = self.cells.reshape(-1)[::-1]
        self.fixed = self.cells[0]
        self.fixed.flags.writeable = False
        super().reset(seed, options)

    @property
    def left(self):
        return int(self.cells.sum())

    @left.setter
    def left(self, count):
        self.backwards[:count], self.backwards[count:] = 1, 0


class HeapInSlots(Heap):
    __slots__ = ("left",)


class HeapInNewAttributes(Heap):
    @property
    def left(self):
        return min(value for name, value in vars(self).items() if name.startswith("after"))

    @left.setter
    def left(self, count):
        setattr(self, f"after {count}", count)


class HeapInAHeap(Heap):
    """The game is in a list of environments, each of which knows the outer one."""

    def reset(self, seed=None, options=None):
        self.inner = [played(Heap(self.counters))]
        self.inner[0].outer = self
        super().reset(seed, options)

    @property
    def left(self):
        return self.inner[0].outer.inner[0].counters

    @left.setter
    def left(self, count):
        self.inner[0].counters = count


class WrapperThatShares(BaseWrapper):
    """Takes counters out of the list of the environment in it, behind its back."""

    def reset(self, seed=None, options=None):
        super().reset(seed, options)
        self.shared = self.env.inside

    def step(self, action):
        self.shared["heap"][0] -= self.shared["heap"][0] > 5
        super().step(action)


MADE_OF = {
    "many kinds": HeapOfManyKinds,
    "two attributes": HeapInTwoAttributes,
    "views": HeapInViews,
    "slots": HeapInSlots,
    "new attributes": HeapInNewAttributes,
    "a heap": HeapInAHeap,
    "shared": lambda counters: WrapperThatShares(HeapInTwoAttributes(counters)),
    "tictactoe": lambda counters: theirs("tictactoe").env(),
    "connect four": lambda counters: theirs("connect_four").env(),
    "go": lambda counters: theirs("go").env(board_size=5),
}


@pytest.mark.parametrize("make_env", MADE_OF.values(), ids=MADE_OF)
def test_clones_go_on_as_what_they_are_of(make_env):
    rng = np.random.default_rng(0)
    for _ in range(2):
        env = played(make_env(17))
        for _ in range(40):
            if is_over(env):
                break
            before, twin, third = shown(env), clone(env), clone(env)
            assert shown(twin) == before
            action, other = rng.choice(np.flatnonzero(action_mask(env)), 2).tolist()
            twin.step(other)
            assert shown(env) == shown(third) == before
            third.step(action)
            env.step(action)
            assert shown(third) == shown(env)
            if not is_over(env):  # a clone of a clone goes on as well
                again = clone(third)
                reply = int(np.flatnonzero(action_mask(env))[-1])
                again.step(reply)
                original = clone(env)
                original.step(reply)
                assert shown(again) == shown(original)


@pytest.mark.parametrize("name", ["connect_four", "tictactoe"])
def test_clones_are_as_deep_copies_of_all_attributes(name):
    env = played(theirs(name).raw_env(), [4, 1])
    for twin in (clone(env), clone(clone(env))):
        memo = {id(env): twin}
        copies = {key: copy.deepcopy(value, memo) for key, value in vars(env).items()}
        assert list(vars(twin)) == list(copies)
        for key, value in vars(twin).items():
            assert type(value) is type(copies[key])
            mutable = isinstance(value, (list, dict)) and key not in SHARED
            assert not (mutable and value is vars(env)[key])
        assert twin.infos["player_1"] is not env.infos["player_1"]
        assert twin._agent_selector == env._agent_selector
        assert twin._agent_selector.agent_order is twin.agents
        assert env._agent_selector.agent_order is env.agents


def test_a_value_is_duplicated_as_a_deep_copy_would():
    lock = threading.Lock()
    cycle = [1, {"two": (3, [4])}, np.arange(3), {5, 6}, frozenset([7]), lock.__class__, len, None]
    cycle += [cycle, (cycle, 1), Frozen(cycle), np.float32(0.5), range(3), slice(2)]
    twin = duplicate(cycle, {})
    assert twin is not cycle
    assert twin[8] is twin
    assert twin[9][0] is twin
    assert twin[10].heap is twin
    assert twin[1] == cycle[1]
    assert twin[1] is not cycle[1]
    assert twin[1]["two"][1] is not cycle[1]["two"][1]
    assert twin[2] is not cycle[2]
    assert not np.shares_memory(twin[2], cycle[2])
    assert twin[3] == cycle[3]
    assert twin[3] is not cycle[3]
    assert twin[5:8] == cycle[5:8]
    with pytest.raises(TypeError, match="lock"):
        duplicate([lock], {})


# ---- what a search remembers, and what it does not look at ---------------------------------------


class CountsSteps(BaseWrapper):
    """Counts the steps of all its clones."""

    steps = 0

    def step(self, action):
        CountsSteps.steps += 1
        super().step(action)


@pytest.mark.parametrize("agent", [UCT, FlatMonteCarlo, TranspositionMCTS, AlphaBeta])
@pytest.mark.parametrize("name", ["connect_four", "tictactoe"])
def test_what_is_remembered_changes_nothing_but_the_steps(name, agent, monkeypatch):
    found, steps = [], []
    for room in (0, 3, 2_000):
        monkeypatch.setattr(foreign, "MOST_PLACES", room)
        env = played(CountsSteps(theirs(name).env()), [4, 1, 3])
        CountsSteps.steps = 0
        options = {"depth": 3} if agent is AlphaBeta else {"simulations": 40, "seed": 0}
        one = agent(**options)
        one.act(env)
        found.append((one.statistics.visits.tolist(), one.statistics.values.tolist()))
        steps.append(CountsSteps.steps)
    assert found[0] == found[1] == found[2]
    assert steps[2] <= steps[1] <= steps[0]
    if agent is UCT:
        assert steps[2] < steps[0]


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(foreign, "MOST_PLACES", 10)
    planned = planner_view(played(theirs("tictactoe").env()))
    state, rng = planned.new_state(), np.random.default_rng(0)
    for _ in range(100):
        planned.game.copy(planned.root, state)
        planned.game.random_playout(state, rng, np.empty(9, np.int32))
        assert planned.game.is_terminal(state)
    waiting, places = [planned.root.place], 0
    while waiting:
        waiting += waiting.pop().after.values()
        places += 1
    assert places == 11


class HeapWithAPicture(Heap):
    """Draws its observations on a surface, one pixel more for each action."""

    def __init__(self, render_mode=None):
        super().__init__()
        self.render_mode = render_mode

    def reset(self, seed=None, options=None):
        super().reset(seed, options)
        self.screen = pytest.importorskip("pygame").Surface((self.counters, 1))

    def step(self, action):
        self.screen.set_at((self.left - 1, 0), "white")
        super().step(action)

    def observe(self, agent):
        drawn = sum(self.screen.get_at((x, 0))[0] > 0 for x in range(self.counters))
        return {**super().observe(agent), "observation": np.array([drawn, self.left])}


def test_a_surface_is_copied_where_nothing_is_rendered():
    env = played(HeapWithAPicture())
    if not hasattr(type(env.screen), "__deepcopy__"):
        pytest.skip("this pygame cannot copy surfaces")
    UCT(50, seed=0).act(env)
    twin = clone(env)
    twin.step(0)
    assert env.observe("agent 0")["observation"][0] == 0
    assert twin.observe("agent 0")["observation"][0] == 1
    drawing = played(theirs("tictactoe").env(render_mode="rgb_array"))
    silent = silent_clone(drawing)
    assert clone(silent).unwrapped.screen is silent.unwrapped.screen is drawing.unwrapped.screen
    with pytest.raises(ValueError, match=r"changed the original|one action leads"):
        UCT(50).act(played(HeapWithAPicture("rgb_array")))


def test_large_environments_are_remembered_less():
    env = played(Heap())
    small = planner_view(env).game._room
    env.table = np.zeros(foreign.MOST_BYTES // 10, np.int8)
    assert small == foreign.MOST_PLACES
    assert planner_view(env).game._room == 9


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda agent: pickle.loads(pickle.dumps(agent))])
def test_an_agent_that_has_searched_can_be_copied(copied):
    env = played(Heap(9))
    agent = UCT(100, seed=0)
    env.step(agent.act(env))
    twin = copied(agent)
    assert twin.planner._root.root.place.after == {}
    assert twin.act(env) == agent.act(env)
    assert twin.statistics.visits.tolist() == agent.statistics.visits.tolist()
    agent.act(played(theirs("connect_four").env()))
    pickle.dumps(agent)


def test_a_failed_step_is_not_remembered():
    planned = planner_view(played(Heap(2)))
    game, state = planned.game, planned.new_state()
    before = shown(planned.root.env)
    for _ in range(3):
        game.copy(planned.root, state)
        with pytest.raises(AssertionError):
            game.step(state, 2)
    game.copy(planned.root, state)
    game.step(state, 1)
    assert game.outcome(state, 0) == 1
    assert shown(planned.root.env) == before


GUARDED = ["connect_four", "tictactoe", "go"]


def options_of(name):
    return {"board_size": 5} if name == "go" else {}


@pytest.mark.parametrize("name", GUARDED)
def test_playouts_take_the_actions_that_are_observed(name):
    rng = np.random.default_rng(0)
    for _ in range(5):
        env = played(theirs(name).env(**options_of(name)))
        game = planner_view(env).game
        assert game._mask_of is not None
        for _ in range(150):
            raw = without_guards(env)
            assert raw is env.unwrapped
            legal = np.flatnonzero(action_mask(env)) if not is_over(env) else []
            assert list(game._playout_actions(raw)) == list(legal)
            if len(legal) == 0:
                break
            env.step(int(rng.choice(legal)))


def test_what_disagrees_with_the_mask_is_not_trusted(monkeypatch):
    raw = theirs("connect_four").raw_env
    name = f"{raw.__module__}.{raw.__qualname__}"
    expected = UCT(60, seed=0)
    expected.act(played(raw()))
    for wrong in (lambda env: [0, 1], lambda env: env.no_such_thing, lambda env: [4] * 7):
        monkeypatch.setitem(foreign.MASKS, name, wrong)
        agent = UCT(60, seed=0)
        agent.act(played(raw()))
        assert agent.statistics.visits.tolist() == expected.statistics.visits.tolist()
    env = played(raw())
    observe = env.observe  # of an object that a user has changed

    def without_three(agent):
        observation = observe(agent)
        observation["action_mask"][3] = 0
        return observation

    env.observe = without_three
    assert planner_view(env).game._mask_of is None


def test_a_guard_that_a_user_has_changed_stays():
    env = played(theirs("tictactoe").env())
    assert without_guards(env) is env.unwrapped
    env.env.rewards = dict.fromkeys(env.agents, 0)  # which hides those of the environment in it
    assert without_guards(env) is env.env
    with_own_last = type("WithOwnLast", (Heap,), {"last": lambda self, observe=True: None})
    guarded = played(OrderEnforcingWrapper(with_own_last()))  # whose `last` is another one
    assert without_guards(guarded) is guarded


def test_the_rate_of_a_long_search_is_told_once(monkeypatch, capsys):
    monkeypatch.setattr(foreign, "_told", set())
    UCT(20, seed=0).act(played(Heap()))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(foreign, "LONG", 0.0)
    for env in (Heap(), Heap(9), Silent(theirs("tictactoe").env()), tictactoe_v0.env()):
        agent = UCT(20, seed=0)
        agent.act(played(env))
        assert agent.statistics.simulations_per_second > 0
    printed = capsys.readouterr()
    assert printed.out == ""
    about = [line.split(" simulations a second")[0] for line in printed.err.splitlines()]
    assert [line.split()[:3] for line in about] == [
        ["hexenv:", "heap_v0", "allows"],
        ["hexenv:", "Silent<tictactoe_v3>", "allows"],
    ]


# ---- environments that are refused ---------------------------------------------------------------

HEAP_OF_THE_MODULE = []


class HeapInAModule(Heap):
    """Keeps the game in a global variable."""

    @property
    def left(self):
        return sum(HEAP_OF_THE_MODULE)

    @left.setter
    def left(self, count):
        HEAP_OF_THE_MODULE[:] = [1] * count


class HeapInAClass(Heap):
    """Keeps the game in a class attribute."""

    heap = [0]  # noqa: RUF012

    @property
    def left(self):
        return self.heap[0]

    @left.setter
    def left(self, count):
        self.heap[0] = count


def cloned_by(clone):
    """A heap with a method `clone` of its own."""
    return type("HeapOfAUser", (Heap,), {"clone": clone})


def out_of_heaps(env):
    raise RuntimeError("out of heaps")


class HeapWhoseClonesShare(Heap):
    """A clone of its own that forgets about the heap, a list here."""

    def reset(self, seed=None, options=None):
        self.heap = [0]
        super().reset(seed, options)

    left = HeapInAClass.left

    def clone(self):
        return copy.copy(self)


HeapWhoseCloneRaises = cloned_by(out_of_heaps)
UNFAITHFUL = {
    "in a module": (HeapInAModule, "one action leads|changed the original|a clone raised"),
    "in a class": (HeapInAClass, "one action leads|changed the original|a clone raised"),
    "raises": (HeapWhoseCloneRaises, "a clone raised .*out of heaps"),
    "itself": (cloned_by(lambda env: env), "changed the original"),
    "new": (cloned_by(lambda env: played(Heap())), "the same position"),
    "nothing": (cloned_by(lambda env: None), "a clone raised AttributeError"),
    "shares": (HeapWhoseClonesShare, "one action leads|changed the original"),
}


@pytest.mark.parametrize("agent", [UCT(10), GreedyAgent()], ids=["uct", "greedy"])
@pytest.mark.parametrize(("heap", "reason"), UNFAITHFUL.values(), ids=UNFAITHFUL)
def test_an_environment_without_faithful_clones_is_refused(heap, reason, agent):
    env = played(heap(), [2])
    with pytest.raises(ValueError, match=rf"method clone\(\).*({reason})"):
        agent.act(env)


def test_a_random_agent_needs_no_clones():
    assert RandomAgent(0).act(played(HeapWhoseCloneRaises())) in range(3)


class HeapWithoutMask(Heap):
    def observe(self, agent):
        return np.array([self.left])


class HeapOfOtherActions(Heap):
    def __init__(self, space):
        super().__init__()
        self.space = space

    def action_space(self, agent):
        return self.space


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (HeapWithoutMask(), "expected an action_mask in .* HeapWithoutMask"),
        (HeapOfOtherActions(spaces.Discrete(3, start=1)), r"got Discrete\(3, start=1\)"),
        (HeapOfOtherActions(spaces.Box(0, 1, (3,))), "got Box"),
        (HeapOfOtherActions(spaces.MultiBinary(3)), r"got MultiBinary\(3\)"),
    ],
    ids=["no mask", "start", "box", "multi-binary"],
)
def test_an_environment_of_another_kind_is_refused(env, message):
    with pytest.raises(ValueError, match=message):
        UCT(10).act(played(env))


@pytest.mark.parametrize(
    ("agents", "message"), [(3, "got 3: .*'agent 2'"), (1, "got 1: .*'agent 0'")]
)
def test_what_plans_for_two_refuses_other_numbers_of_agents(agents, message):
    with pytest.raises(ValueError, match=message):
        NRPA(10).act(played(Heap(agents=agents)))


# ---- whole games ---------------------------------------------------------------------------------


# ---- what planning leaves alone, and what it must see --------------------------------------------


def test_planning_draws_nothing_in_a_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pytest.importorskip("pygame")
    env = BaseWrapper(tictactoe_v0.env(render_mode="human"))
    env.reset()
    shown = []
    monkeypatch.setattr("hexenv.render.window.Window.show", lambda self, frame: shown.append(frame))
    UCT(simulations=20, seed=0).act(env)
    assert shown == []
    env.step(4)
    assert len(shown) == 1


class KeepsALog(StandardWrapper):
    """A user's wrapper of our environments, with a state of its own."""

    def __init__(self, env):
        super().__init__(env)
        self.log = []

    def step(self, action):
        self.log.append(action)
        super().step(action)


@pytest.mark.parametrize("board", SMALL)
def test_planning_leaves_the_state_of_a_users_wrapper_alone(board):
    env = played(KeepsALog(make(board)), [1])
    UCT(simulations=20, seed=0).act(env)
    twin = clone(env)
    assert type(twin) is KeepsALog
    assert env.log == twin.log == [1]
    before = shown(env)
    twin.step(2)
    assert (env.log, shown(env)) == ([1], before)


def test_what_cannot_be_copied_is_shared_whole():
    env = played(HeapWithRewardsOnTheWay(), [1])
    env.log = env.same_log = [[1], threading.Lock()]
    twin = clone(env)
    assert twin.log is twin.same_log is env.log


def test_one_agent_in_several_threads():
    start = connect4_v0.env()
    start.reset(options={"moves": "44"})
    barrier = threading.Barrier(4)

    def act(seed):
        env = start.clone()  # of the same game
        barrier.wait(60)
        return [agent.act(env) for _ in range(5)]

    agent = UCT(simulations=100, max_nodes=200, seed=0)
    with ThreadPoolExecutor(4) as pool:
        actions = [action for done in pool.map(act, range(4)) for action in done]
    assert len(actions) == 20
    assert set(actions) <= set(range(7))


def test_a_module_in_the_place_of_an_environment_is_named():
    with pytest.raises(UnfitEnvironmentError, match=r"the module hexenv\.connect4_v0.*its env\(\)"):
        UCT(simulations=5).act(connect4_v0)
