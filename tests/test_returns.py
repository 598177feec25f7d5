"""Searches over environments of one agent, and of three and more."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import AECEnv

from agents import (
    MAST,
    NRPA,
    RAVE,
    UCT,
    FlatMonteCarlo,
    PolicyAgent,
    PUCTAgent,
    QualityMCTS,
    UCB1TunedMCTS,
)
from agents.planning.environment import UnfitEnvironmentError
from hexenv import tictactoe_v0


class Corridor(gymnasium.Env):
    """Places 0 to 6, from 3: to the left 0.2 at the end, to the right 1; each step costs 0.01.

    With a slip, a step goes the other way.
    """

    action_space = spaces.Discrete(2)
    observation_space = spaces.Discrete(7)

    def __init__(self, slip=0.0):
        self.slip = slip

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 3
        return self.place, {}

    def step(self, action):
        right = bool(action) != (self.np_random.random() < self.slip)
        self.place += 1 if right else -1
        reward = {0: 0.2, 6: 1.0}.get(self.place, 0.0) - 0.01
        return self.place, reward, self.place in (0, 6), False, {}


class Lottery(gymnasium.Env):
    """One choice: `sure` for certain, or 1 with the probability `chance`; nothing is legal but."""

    action_space = spaces.Discrete(3)
    observation_space = spaces.Discrete(1)

    def __init__(self, sure, chance):
        self.sure, self.chance = sure, chance

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def action_masks(self):
        return np.array([1, 0, 1], bool)

    def step(self, action):
        assert action != 1
        reward = self.sure if action == 0 else float(self.np_random.random() < self.chance)
        return 0, reward, True, False, {}


def in_play(env, seed=0):
    env.reset(seed=seed)
    return env


def played(env, agent):
    """The return of an episode, and how long it was."""
    env.reset(seed=1)
    total, steps, over = 0.0, 0, False
    while not over:
        _, reward, terminated, truncated, _ = env.step(agent.act(env))
        total, steps, over = total + reward, steps + 1, terminated or truncated
    return total, steps


@pytest.mark.parametrize("kind", [UCT, FlatMonteCarlo])
def test_one_agent_finds_the_greatest_return(kind):
    assert played(Corridor(), kind(simulations=150, seed=0)) == (pytest.approx(0.97), 3)


def test_a_discount_makes_what_is_near_count():
    env = Corridor()
    env.reset()
    env.place = 1  # one step to 0.2, five to 1
    assert UCT(simulations=400, seed=0).act(env) == 1
    assert UCT(simulations=400, seed=0, discount=0.5).act(env) == 0


def test_values_are_mean_returns_between_the_worst_and_the_best():
    env = in_play(Corridor())
    agent = UCT(simulations=300, seed=0)
    agent.act(env)
    found = agent.statistics
    assert found.visits.sum() == found.simulations == 300
    assert found.proven is None
    assert (np.abs(found.values) <= 1).all()
    assert found.values[1] > found.values[0]
    assert env.place == 3  # the environment itself was not touched


@pytest.mark.parametrize(("sure", "chance", "best"), [(0.5, 0.8, 2), (0.5, 0.2, 0)])
def test_a_search_does_not_know_what_chance_will_bring(sure, chance, best):
    for seed in range(5):
        env = in_play(Lottery(sure, chance), seed)
        before = env.np_random.bit_generator.state
        agent = UCT(simulations=400, seed=seed)
        assert agent.act(env) == best
        assert env.np_random.bit_generator.state == before
        if best == 2:  # and is visited often: between 0 and 1 the value is the mean
            assert (agent.statistics.values[2] + 1) / 2 == pytest.approx(chance, abs=0.1)
        assert agent.statistics.visits[1] == 0


def test_one_seed_gives_one_search():
    found = []
    for _ in range(2):
        agent = UCT(simulations=100, seed=3)
        agent.act(in_play(Corridor(slip=0.3)))
        found.append(agent.statistics)
    assert np.array_equal(found[0].visits, found[1].visits)
    assert np.array_equal(found[0].values, found[1].values)


def test_environments_of_gymnasium():
    lake = gymnasium.make("FrozenLake-v1", is_slippery=False)
    assert played(lake, UCT(simulations=250, discount=0.95, seed=0))[0] == 1
    env, agent = in_play(gymnasium.make("CartPole-v1")), UCT(simulations=25, seed=0)
    for _ in range(40):  # at random it falls after some twenty
        assert not env.step(agent.act(env))[2]


def test_a_game_of_ours_against_its_opponent():
    env = gymnasium.make("hexenv/TicTacToe-v0", opponent="random", side="first")
    total, _ = played(env, UCT(simulations=60, seed=0))
    assert total == 1
    assert env.unwrapped.illegal_actions == 0


class Unbounded(Corridor):
    action_space = spaces.Box(0.0, 1.0)


class Shared(Corridor):
    """Its copies have a common place."""

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.places = [3]
        return 3, {}

    def clone(self):
        return self

    def step(self, action):
        self.places[0] += 1
        return self.places[0], 0.0, False, False, {}


@pytest.mark.parametrize("env", [Unbounded(), Shared(), object()])
def test_what_cannot_be_planned_in_is_refused(env):
    if hasattr(env, "reset"):
        env.reset()
    with pytest.raises(UnfitEnvironmentError):
        UCT(simulations=5).act(env)


FIRST_LEGAL = PolicyAgent.from_function(lambda planes, mask: int(mask.argmax()))


@pytest.mark.parametrize("agent", [NRPA(5), UCT(5, transpositions=True), PUCTAgent(FIRST_LEGAL, 5)])
def test_what_plans_for_two_says_so(agent):
    with pytest.raises(UnfitEnvironmentError):
        agent.act(in_play(Corridor()))


@pytest.mark.parametrize("discount", [0.0, 1.5, float("nan"), "much"])
def test_a_discount_is_checked(discount):
    with pytest.raises(ValueError, match="discount"):
        UCT(5, discount=discount)


# ---- several players -----------------------------------------------------------------------------


class Payoffs(AECEnv):
    """Each of some players in turn chooses one of three; a table says what all get for it."""

    metadata = {  # noqa: RUF012  # as PettingZoo's own
        "name": "payoffs_v0",
        "is_turn_based": True,
        "has_perfect_information": True,
        "is_deterministic": True,
    }
    render_mode = None

    def __init__(self, players, seed):
        super().__init__()
        self.possible_agents = [f"player_{i}" for i in range(players)]
        draw = np.random.default_rng(seed).random((*[3] * players, players))
        self.table = 10 * np.sort(draw, axis=0)  # so that all differ by something
        self.now = np.random.default_rng(seed + 1000).random((players, 3, players))

    def action_space(self, agent):
        return spaces.Discrete(3)

    def observation_space(self, agent):
        return spaces.Dict(observation=spaces.Discrete(99), action_mask=spaces.MultiBinary(3))

    def reset(self, seed=None, options=None):
        self.agents = self.possible_agents[:]
        self.played = ()
        self.agent_selection = self.agents[0]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def observe(self, agent):
        return {"observation": len(self.played), "action_mask": np.ones(3, np.int8)}

    def gains(self, played):
        """What everybody gets for the last action: something at once, and the table at the end."""
        gains = self.now[len(played) - 1, played[-1]]
        return gains + self.table[played] if len(played) == len(self.possible_agents) else gains

    def step(self, action):
        self.played = (*self.played, int(action))
        self.rewards = dict(zip(self.possible_agents, self.gains(self.played), strict=True))
        over = len(self.played) == len(self.possible_agents)
        self.agent_selection = self.possible_agents[len(self.played) % len(self.possible_agents)]
        self.terminations = dict.fromkeys(self.agents, over)

    def exact(self, played=()):
        """The returns of all by max-n, the best action, and by how much in all that follows."""
        mover = len(played)
        if mover == len(self.possible_agents):
            return np.zeros(mover), None, np.inf
        found, margin = [], np.inf
        for action in range(3):
            below = self.exact((*played, action))
            found.append(self.gains((*played, action)) + below[0])
            margin = min(margin, below[2])
        own = [one[mover] for one in found]
        best = int(np.argmax(own))
        return found[best], best, min(margin, own[best] - sorted(own)[-2])


def test_everybody_seeks_the_best_for_themselves():
    games = [Payoffs(3, seed) for seed in range(100)]
    for env in sorted(games, key=lambda game: game.exact()[2])[-3:]:  # the clearest ones
        env.reset()
        while not env.terminations[env.agent_selection]:
            best = env.exact(env.played)[1]
            assert UCT(simulations=700, seed=0, c=0.5).act(env) == best
            env.step(best)


@pytest.mark.parametrize("env", [Corridor(), Payoffs(3, 0)])
def test_what_learns_for_two_players_says_so(env):
    in_play(env)
    for kind in (MAST, RAVE, UCB1TunedMCTS, QualityMCTS):
        with pytest.raises(ValueError, match="players"):
            kind(simulations=5).act(env)
    with pytest.raises(ValueError, match="players"):
        UCT(simulations=5, playout="nst").act(env)
    with pytest.raises(ValueError, match="one worker"):
        UCT(simulations=5, workers=2).act(env)
    with pytest.raises(UnfitEnvironmentError):
        NRPA(5).act(env)
    with pytest.raises(ValueError, match="discount"):
        UCT(5, transpositions=True, discount=0.5)


def test_an_agent_goes_from_one_kind_of_environment_to_another():
    agent = UCT(simulations=30, seed=0)
    for _ in range(2):
        assert agent.act(in_play(Corridor())) == 1
        assert agent.act(in_play(tictactoe_v0.env())) in range(9)
        assert agent.act(in_play(Payoffs(3, 0))) in range(3)
        agent.reset()


class Duel(Payoffs):
    """Three players; the first may knock the last one out, for 10, or get 1. The second ends it."""

    def __init__(self):
        super().__init__(3, 0)

    def observe(self, agent):
        mask = np.array([1, 1, 0] if agent == "player_0" else [1, 0, 0], np.int8)
        return {"observation": len(self.played), "action_mask": mask}

    def step(self, action):
        if action is None:
            self._was_dead_step(action)
            return
        self.played = (*self.played, int(action))
        self.rewards = dict.fromkeys(self.agents, 0.0)
        if self.agent_selection == "player_0":
            self.rewards["player_0"] = 1.0
            self.agent_selection = "player_1"
            if action == 1:
                self.terminations["player_2"] = True
                self._skip_agent_selection, self.agent_selection = "player_1", "player_2"
        else:
            self.rewards["player_0"] = 10.0 if self.played[0] == 1 else 0.0
            self.terminations = dict.fromkeys(self.agents, True)


def test_a_player_who_is_out_does_not_end_the_game():
    env = Duel()
    env.reset()
    assert UCT(simulations=40, seed=0).act(env) == 1
    env.step(1)
    env.step(None)
    assert UCT(simulations=10, seed=0).act(env) == 0


def test_an_environment_that_draws_its_seed_itself():
    env = Lottery(0.1, 0.9)
    env.reset()
    assert UCT(simulations=100, seed=0).act(env) == 2
    with pytest.raises(ValueError, match="before reset"):
        UCT(5).act(gymnasium.make("CartPole-v1"))


def test_two_players_are_searched_as_before():
    """Their rewards on the way add up, and who has more has won: no returns are kept."""
    agent = UCT(simulations=100, seed=0, discount=0.5)
    agent.act(in_play(Payoffs(2, 0)))
    assert agent.statistics.proven is not None


def test_slices_of_a_search_change_nothing(monkeypatch):
    """However often a search looks at the clock: a copy of such an environment draws its chance."""
    found = []
    for seconds in (1.0, 1e-9):
        monkeypatch.setattr("agents.core.budget.LONG_SLICE", seconds)
        agent = UCT(simulations=100, seed=3)
        agent.act(in_play(Corridor(slip=0.3)))
        found.append(agent.statistics.visits.tolist())
    assert found[0] == found[1]
