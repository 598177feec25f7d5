"""What planning over clones needs of an environment: what is refused, why, and what is assumed."""

import importlib
import json
import random
import types

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils import BaseWrapper
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from agents import (
    NRPA,
    UCT,
    AlphaBeta,
    DistanceMCTS,
    FlatMonteCarlo,
    GreedyAgent,
    GumbelAgent,
    PolicyAgent,
    PUCTAgent,
    RandomAgent,
    Solver,
    TranspositionMCTS,
)
from agents.apps.cli import main
from agents.arena.match import play_game, play_match, summarise
from agents.arena.running import TournamentRun
from agents.arena.specification import Tournament
from agents.planning import requirements
from agents.planning.clones import clone
from agents.planning.environment import PERFECT_INFORMATION, UnfitEnvironmentError, is_over
from agents.planning.requirements import check_planning, known_traits
from agents.planning.view import planner_view
from agents.records import GameRecord, Recorder, load_record, save_record
from agents.solvers import solver as exact
from hexenv import connect4_v0, gomoku_v0, hex_v0, tictactoe_v0

# ---- environments made here ----------------------------------------------------------------------


class Bets(AECEnv):
    """Two agents say in turn whether they raise (1) or not (0), four times in all.

    Who has the higher number of `deal` wins, by as much as was raised. This one has no chance and
    hides nothing: all is dealt by `options`, and everybody sees it.
    """

    metadata = {"name": "bets_v0"}  # noqa: RUF012
    plies = 4
    dealt = None  # how many numbers there are to be dealt at random

    def __init__(self):
        super().__init__()
        self.possible_agents = ["left", "right"]
        self.rng = np.random.default_rng(0)

    def observation_space(self, agent):
        return spaces.Dict()

    def action_space(self, agent):
        return spaces.Discrete(2)

    def deal(self):
        return [5, 3] if self.dealt is None else self.rng.integers(0, self.dealt, 2).tolist()

    def after_step(self):
        pass

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.numbers = list(self.deal())
        self.bets = []
        self.agents = self.possible_agents[:]
        self.agent_selection = "left"
        self.rewards = dict.fromkeys(self.agents, 0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def seen(self, agent):
        return [*self.numbers, *self.bets]

    def observe(self, agent):
        seen = np.full(2 + self.plies, -1.0)
        numbers = self.seen(agent)
        seen[: len(numbers)] = numbers
        return {"observation": seen, "action_mask": np.ones(2, np.int8)}

    def step(self, action):
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self.bets.append(int(action))
        self.after_step()
        if len(self.bets) == self.plies:
            sign = np.sign(self.numbers[0] - self.numbers[1])
            won = float(sign * (1 + sum(self.bets)))
            self.rewards = {"left": won, "right": -won}
            self.terminations = dict.fromkeys(self.agents, True)
        self.agent_selection = self.agents[len(self.bets) % 2]
        self._accumulate_rewards()


class DealtOpenly(Bets):
    """What is dealt is random, and both see all of it, each the own number first."""

    dealt = 1000

    def seen(self, agent):
        own = self.possible_agents.index(agent)
        return [self.numbers[own], -self.numbers[1 - own], *self.bets]


class DealtFaceDown(DealtOpenly):
    """Each sees the own number alone, of few."""

    dealt = 3

    def seen(self, agent):
        return [self.numbers[self.possible_agents.index(agent)], *self.bets]


class DealtFaceDownOfMany(DealtFaceDown):
    dealt = 10**6  # no two starts are the same


class DealtByTheModule(DealtFaceDown):
    """By a generator that is nobody's own."""

    def deal(self):
        return [random.randrange(3), random.randrange(3)]


class DealtBelow(DealtFaceDown):
    """By a generator in a part of a part of it, which no seed reaches."""

    def __init__(self):
        super().__init__()
        self.table = types.SimpleNamespace(dealers=[{"rng": np.random.RandomState(1)}])

    def deal(self):
        return self.table.dealers[0]["rng"].randint(0, 3, 2).tolist()


class DeckOnTheTable(Bets):
    """What is dealt face down, nobody sees before the end."""

    dealt = 3

    def seen(self, agent):
        return self.bets


class HidesTheBets(Bets):
    """No number is hidden, and nothing is random; but nobody sees what the other has said."""

    def seen(self, agent):
        return self.bets[self.possible_agents.index(agent) :: 2]


def dice(roll, **members):
    """A class of bets in which what is said moves the numbers by chance."""

    def after_step(self):
        self.numbers[0] += int(roll(self))

    return type("Dice", (Bets,), {"after_step": after_step, **members})


OF_THIS_MODULE = np.random.default_rng(0)
Dice = dice(lambda env: env.rng.integers(-3, 4))
DiceOfTheModule = dice(lambda env: np.random.randint(-3, 4))  # noqa: NPY002
DiceOfItsModule = dice(lambda env: OF_THIS_MODULE.integers(-3, 4))
DiceOfItsClass = dice(lambda env: env.dice.integers(-3, 4), dice=np.random.default_rng(0))
DiceOfTheSystem = dice(lambda env: random.SystemRandom().randrange(10**9))  # no seed reaches it


class DiceOfPython(Bets):
    def __init__(self):
        super().__init__()
        self.cup = types.SimpleNamespace(rng=random.Random(3))

    def after_step(self):
        self.numbers[0] += self.cup.rng.randint(-3, 3)


class DiceInSlots(DiceOfPython):
    """By a generator in an object without a dictionary, beside a long table of numbers."""

    class Cup:
        __slots__ = ("rng",)

        def __init__(self):
            self.rng = random.Random(3)

    def __init__(self):
        super().__init__()
        self.cup = self.Cup()
        self.table = list(range(1000, 1000 + 2 * requirements.MOST_OBJECTS))


class DealtByItsClass(Bets):
    """Both see what a generator deals which all environments of the class share."""

    dealer = np.random.default_rng(0)

    def deal(self):
        return self.dealer.integers(0, 3, 2).tolist()


class DealtInTwoCodes(DealtOpenly):
    """What is dealt has an owner; each is shown 1 for the own, and 2 for the other's."""

    dealt = 3

    def seen(self, agent):
        code = [0, 1, 2] if agent == "left" else [0, 2, 1]
        return [*(code[number] for number in self.numbers), *self.bets]


class DealtInTwoUnits(DealtOpenly):
    """Each is shown all, in an own unit; and what is nothing to anybody as no number."""

    def seen(self, agent):
        unit = 1.0 if agent == "left" else 0.3
        nothing = np.nan if agent == self.agent_selection else -np.inf
        return [unit * number for number in self.numbers] + self.bets[:3] + [nothing]


class ShowsParts(Bets):
    """A tuple of arrays of several shapes, one of them of objects."""

    def observe(self, agent):
        bets = np.array([f"{agent} sees {bet}" for bet in self.bets], object)
        parts = np.array(self.numbers), bets, {"nothing": np.full((2, 2), np.nan)}
        return {**super().observe(agent), "parts": parts}


class Unhashable(Bets):
    """As dataclasses are."""

    __hash__ = None

    def __eq__(self, other):
        return True


class Declares(HidesTheBets):
    """What it declares is believed."""

    metadata = {  # noqa: RUF012
        "name": "bets_v1",
        "is_turn_based": True,
        "has_perfect_information": True,
        "is_deterministic": True,
    }


class DeclaresLess(Bets):
    metadata = {"name": "bets_v2", "has_perfect_information": False}  # noqa: RUF012


class BelowWhatDeclares(Declares):
    """What a class declares is not believed of a subclass."""


class Blind(BaseWrapper):
    """Shows nothing of ours but the mask."""

    def observe(self, agent):
        observation = self.env.observe(agent)
        return {**observation, "observation": np.zeros(1)}


class Named(Bets):
    """A game of PettingZoo's that need not be installed, known by its name."""

    def __init__(self, name):
        super().__init__()
        self.metadata = {"name": name}


def of_pettingzoo(name):
    """The class of a game of PettingZoo's, as far as it matters here."""
    made = type("raw_env", (Bets,), {"metadata": {"name": name}})
    made.__module__ = "pettingzoo.classic.of.tests"
    return made()


def of_openspiel(dynamics, chance_mode, information):
    """The attributes that Shimmy's environments have."""
    env = Bets()
    kinds = {"dynamics": dynamics, "chance_mode": chance_mode, "information": information}
    named = {key: types.SimpleNamespace(name=name) for key, name in kinds.items()}
    env.game_type = types.SimpleNamespace(**named)
    return env


HIDDEN, CHANCE, AT_ONCE = "hidden information", "chance between moves", "simultaneous moves"
IMPERFECT = "EXPLICIT_STOCHASTIC", "IMPERFECT_INFORMATION"

ENVIRONMENTS = {
    "hex_v0": (lambda: hex_v0.env(board_size=3), ()),
    "connect4_v0": (connect4_v0.raw_env, ()),
    "tictactoe_v0": (tictactoe_v0.env, ()),
    "gomoku_v0": (lambda: gomoku_v0.env(board_size=5), ()),
    "a wrapper around ours": (lambda: BaseWrapper(tictactoe_v0.env()), ()),
    "a blinding wrapper around ours": (
        lambda: Blind(connect4_v0.env(rows=4, columns=5, connect=3)),
        (HIDDEN,),
    ),
    "tictactoe_v3": (lambda: of_pettingzoo("tictactoe_v3"), ()),
    "connect_four_v3": (lambda: OrderEnforcingWrapper(of_pettingzoo("connect_four_v3")), ()),
    "chess_v6": (lambda: of_pettingzoo("chess_v6"), ()),
    "go_v5": (lambda: of_pettingzoo("go_v5"), ()),
    "rps_v2": (lambda: Named("rps_v2"), (AT_ONCE,)),
    "leduc_holdem_v4": (lambda: Named("leduc_holdem_v4"), (HIDDEN, CHANCE)),
    "texas_holdem_v4": (lambda: Named("texas_holdem_v4"), (HIDDEN, CHANCE)),
    "texas_holdem_no_limit_v6": (lambda: Named("texas_holdem_no_limit_v6"), (HIDDEN, CHANCE)),
    "gin_rummy_v4": (lambda: BaseWrapper(Named("gin_rummy_v4")), (HIDDEN, CHANCE)),
    "hanabi_v5": (lambda: Named("hanabi_v5"), (HIDDEN, CHANCE)),
    "kuhn_poker": (lambda: of_openspiel("SEQUENTIAL", *IMPERFECT), (HIDDEN, CHANCE)),
    "goofspiel": (
        lambda: of_openspiel("SIMULTANEOUS", "EXPLICIT_STOCHASTIC", "PERFECT_INFORMATION"),
        (AT_ONCE, CHANCE),
    ),
    "backgammon": (
        lambda: of_openspiel("SEQUENTIAL", "EXPLICIT_STOCHASTIC", "PERFECT_INFORMATION"),
        (CHANCE,),
    ),
    "breakthrough": (
        lambda: of_openspiel("SEQUENTIAL", "DETERMINISTIC", "PERFECT_INFORMATION"),
        (),
    ),
    "matrix game": (
        lambda: of_openspiel("SIMULTANEOUS", "DETERMINISTIC", "ONE_SHOT"),
        (AT_ONCE, HIDDEN),
    ),
    "declares": (Declares, ()),
    "declares less": (DeclaresLess, (HIDDEN,)),
    "below what declares": (BelowWhatDeclares, (HIDDEN,)),
    "open": (Bets, ()),
    "dealt openly": (DealtOpenly, ()),
    "dealt face down": (DealtFaceDown, (HIDDEN,)),
    "dealt face down of many": (DealtFaceDownOfMany, (HIDDEN,)),
    "dealt by the module": (DealtByTheModule, (HIDDEN,)),
    "dealt below": (DealtBelow, (HIDDEN,)),
    "deck on the table": (DeckOnTheTable, (CHANCE,)),
    "hides the bets": (HidesTheBets, (HIDDEN,)),
    "dice": (Dice, (CHANCE,)),
    "dice of numpy": (DiceOfTheModule, (CHANCE,)),
    "dice of python": (DiceOfPython, (CHANCE,)),
    "dice of its module": (DiceOfItsModule, (CHANCE,)),
    "dice of its class": (DiceOfItsClass, (CHANCE,)),
    "dice in slots": (DiceInSlots, (CHANCE,)),
    "dealt by its class": (DealtByItsClass, ()),
    "dealt in two codes": (DealtInTwoCodes, ()),
    "dealt in two units": (DealtInTwoUnits, ()),
    "shows parts": (ShowsParts, ()),
}
"""Environments, and what each lacks."""


def played(env, actions=()):
    env.reset(seed=1)
    for action in actions:
        env.step(action)
    return env


def lacks_of(env, use=planner_view):
    """What an environment is refused for."""
    with pytest.raises(UnfitEnvironmentError) as caught:
        use(env)
    return tuple(word for word in (AT_ONCE, HIDDEN, CHANCE) if word in str(caught.value))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_what_an_environment_lacks(name):
    make, lacks = ENVIRONMENTS[name]
    if not lacks:
        planner_view(played(make()), "environment")
        return
    assert lacks_of(played(make())) == lacks
    assert lacks_of(played(make(), [1, 0])) == lacks  # a late first look


@pytest.mark.parametrize("module", [hex_v0, connect4_v0, tictactoe_v0, gomoku_v0])
def test_ours_declare_it_and_are_never_tried(module, monkeypatch):
    monkeypatch.setattr("agents.planning.requirements.tried_faults", lambda env: 1 / 0)
    for env in (played(module.env()), played(module.raw_env())):
        assert known_traits(env) == (True, True, True)
        planner_view(env, "environment")


# ---- the real ones, where they are installed -----------------------------------------------------

REAL = {
    "tictactoe.tictactoe": (),
    "connect_four.connect_four": (),
    "chess.chess": (),
    "go.go": (),
    "rps.rps": (AT_ONCE,),
    "rlcard_envs.leduc_holdem": (HIDDEN, CHANCE),
    "rlcard_envs.texas_holdem": (HIDDEN, CHANCE),
    "rlcard_envs.texas_holdem_no_limit": (HIDDEN, CHANCE),
    "hanabi.hanabi": (HIDDEN, CHANCE),
}


@pytest.mark.filterwarnings("ignore")  # of the libraries
@pytest.mark.parametrize("name", REAL)
def test_the_games_of_pettingzoo(name):
    try:
        env = played(importlib.import_module(f"pettingzoo.classic.{name}").env())
    except ImportError as error:
        pytest.skip(str(error))
    if REAL[name]:
        assert lacks_of(env, UCT(100, seed=1).act) == REAL[name]
    else:
        assert known_traits(env) == (True, True, True)


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("kuhn_poker", (HIDDEN, CHANCE)),
        ("leduc_poker", (HIDDEN, CHANCE)),
        ("goofspiel", (AT_ONCE, CHANCE)),
        ("backgammon", (CHANCE,)),
        ("tic_tac_toe", ()),
    ],
)
def test_the_games_of_openspiel_through_shimmy(name, lacks):
    shimmy = pytest.importorskip("shimmy.openspiel_compatibility", exc_type=ImportError)
    env = played(shimmy.OpenSpielCompatibilityV0(game_name=name))
    if lacks:
        assert lacks_of(env, UCT(100, seed=1).act) == lacks
    else:
        assert UCT(20, seed=1).act(env) in range(9)


@pytest.mark.parametrize("name", ["CartPole-v1", "FrozenLake-v1"])
@pytest.mark.parametrize("agent", [NRPA(10), GreedyAgent(), RandomAgent()], ids=lambda a: a.name)
def test_environments_of_gymnasium_are_refused(name, agent):
    try:
        env = gymnasium.make(name)
    except gymnasium.error.DependencyNotInstalled as error:
        pytest.skip(str(error))
    env.reset(seed=1)
    with pytest.raises(UnfitEnvironmentError, match=r"PettingZoo environment of two agents.*names"):
        agent.act(env)
    if hasattr(agent, "prepare"):
        with pytest.raises(UnfitEnvironmentError):
            agent.prepare(env)


def test_environments_without_turns_are_refused():
    class Parallel:
        possible_agents = agents = ("left", "right")

    with pytest.raises(UnfitEnvironmentError, match="at the same time"):
        UCT(10).act(Parallel())


# ---- every agent that plans ----------------------------------------------------------------------


def evaluate(observations, masks):
    return np.zeros(masks.shape), np.zeros(len(masks))


class OfAnyShape(PolicyAgent):
    def evaluate(self, game, states):
        return np.ones((len(states), game.num_actions())), np.zeros(len(states))


PLANNERS = {
    "uct": lambda **options: UCT(60, seed=0, **options),
    "workers": lambda **options: UCT(60, workers=2, seed=0, **options),
    "hard": lambda **options: UCT(60, solver="hard", seed=0, **options),
    "transpositions": lambda **options: TranspositionMCTS(60, seed=0, **options),
    "flat": lambda **options: FlatMonteCarlo(60, seed=0, **options),
    "distance": lambda **options: DistanceMCTS(60, seed=0, **options),
    "puct": lambda **options: PUCTAgent(OfAnyShape(evaluate), 60, seed=0, **options),
    "gumbel": lambda **options: GumbelAgent(OfAnyShape(evaluate), 60, seed=0, **options),
    "nrpa": lambda **options: NRPA(60, seed=0, **options),
    "alphabeta": lambda **options: AlphaBeta(4, seed=0, **options),
    "solver": lambda **options: Solver(seed=0, **options),
    "greedy": lambda **options: GreedyAgent(seed=0, **options),
}
over_planners = pytest.mark.parametrize("name", PLANNERS)


@over_planners
@pytest.mark.parametrize("make", [DealtFaceDown, lambda: Named("leduc_holdem_v4")])
def test_every_planner_refuses(name, make):
    env = played(make())
    agent = PLANNERS[name]()
    for refused in (agent.act, agent.prepare):
        with pytest.raises(UnfitEnvironmentError, match=HIDDEN):
            refused(env)


@over_planners
@pytest.mark.parametrize("make", [DealtFaceDown, Dice, lambda: Named("leduc_holdem_v4")])
def test_every_planner_goes_on_where_it_is_assumed_and_proves_nothing(name, make):
    env = played(make())
    agent = PLANNERS[name](assume=PERFECT_INFORMATION)
    seen = []
    if hasattr(agent, "on_slice"):
        agent.on_slice = lambda found: seen.append(found())
    while not is_over(env):
        env.step(agent.act(env))
        assert agent.statistics.assumed == PERFECT_INFORMATION
        assert agent.statistics.proven is None
        assert all(each.assumed and each.proven is None for each in seen)


@over_planners
def test_where_nothing_has_to_be_assumed_nothing_is_marked(name):
    env = played(Bets())
    agent = PLANNERS[name](assume=PERFECT_INFORMATION)
    agent.act(env)
    if name == "greedy":
        assert agent.statistics is None
        return
    assert agent.statistics.assumed is None
    unmarked = PLANNERS[name]()
    unmarked.act(env)
    assert agent.statistics.proven == unmarked.statistics.proven


def test_what_is_proven_where_all_is_seen_is_not_where_it_is_assumed():
    sure = UCT(200, seed=0)
    sure.act(played(Bets(), [1]))
    assert sure.statistics.proven == -1
    cheating = UCT(200, seed=0, assume=PERFECT_INFORMATION)
    cheating.act(played(DealtFaceDown(), [1]))
    assert cheating.statistics.proven is None
    assert cheating.statistics.simulations == 200  # nothing ends it before


def test_what_was_proven_where_all_is_seen_is_not_kept_as_proven_where_it_is_assumed():
    agent = UCT(200, seed=0, assume=PERFECT_INFORMATION)
    action = agent.act(played(Bets(), [1]))
    assert agent.statistics.proven is not None
    agent.act(played(DeclaresLess(), [1, action, 0]))  # the tree is kept
    assert agent.statistics.assumed == PERFECT_INFORMATION
    assert agent.statistics.proven is None


def test_exact_values_are_refused():
    env = played(DealtFaceDown())
    for ask in (exact.value, exact.best_actions, exact.scores):
        with pytest.raises(UnfitEnvironmentError, match=HIDDEN):
            ask(env)


def test_who_does_not_plan_may_play():
    env = played(DealtFaceDown())
    assert play_game(env, [RandomAgent(0), RandomAgent(1)]).assumed == (None, None)


# ---- the trial -----------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [Bets, Unhashable])
def test_a_trial_is_made_once_for_an_environment(made, monkeypatch):
    tried = []
    monkeypatch.setattr(
        "agents.planning.requirements.tried_faults", lambda env: tried.append(id(env)) or ()
    )
    env, other = played(made()), played(made())
    for agent in (UCT(10, seed=0), GreedyAgent(seed=0)):
        agent.prepare(env)
        agent.act(env)
    env.reset()
    UCT(10, seed=0).act(env)
    assert tried == [id(env)]
    UCT(10, seed=0).act(other)  # the same class need not hide the same
    assert tried == [id(env), id(other)]


def test_chance_that_cannot_be_seeded_is_named():
    with pytest.raises(UnfitEnvironmentError, match="by chance that cannot be seeded"):
        planner_view(played(DiceOfTheSystem()))


def test_what_is_shown_to_who_is_to_move_alone_is_refused():
    class ShowsOne(Bets):
        def observe(self, agent):
            return {self.agent_selection: super().observe(agent)}[agent]

    with pytest.raises(UnfitEnvironmentError, match=r"shows every agent.*KeyError"):
        planner_view(played(ShowsOne()))


@pytest.mark.parametrize(
    ("make", "generator"),
    [
        (DealtByItsClass, DealtByItsClass.dealer),
        (DiceOfItsClass, DiceOfItsClass.dice),
        (DiceOfItsModule, OF_THIS_MODULE),
    ],
)
def test_generators_of_classes_and_modules_stay_as_they_are(make, generator):
    env = played(make())
    before = generator.bit_generator.state
    check_planning(env, PERFECT_INFORMATION)
    assert generator.bit_generator.state == before


@pytest.mark.parametrize("make", [DealtFaceDown, DealtByTheModule, DealtBelow, Dice, DealtOpenly])
def test_a_trial_touches_neither_the_environment_nor_the_generators(make):
    env = played(make(), [1])

    def all_there_is():
        table = getattr(env, "table", None)
        below = None if table is None else table.dealers[0]["rng"].get_state()[1].tolist()
        numpy = np.random.get_state()  # noqa: NPY002
        own = env.rng.bit_generator.state
        return random.getstate(), numpy[1].tolist(), numpy[2], own, below, env.numbers, env.bets

    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    before = repr(all_there_is())
    requirements.tried_faults(env)
    check_planning(env, PERFECT_INFORMATION)
    assert repr(all_there_is()) == before


class SharesItsBets(Bets):
    """A step replaces what a reset writes on: such clones may be stepped, but not reset."""

    def reset(self, seed=None, options=None):
        shared = getattr(self, "bets", [])
        shared.clear()
        super().reset(seed, options)
        self.bets = shared

    def step(self, action):
        self.bets = list(self.bets)
        super().step(action)

    def clone(self):
        twin = object.__new__(type(self))
        for name, value in vars(self).items():
            shares = name == "bets" or not isinstance(value, (list, dict))
            twin.__dict__[name] = value if shares else value.copy()
        return twin


def test_clones_that_share_what_a_reset_writes_on_are_not_reset():
    env = played(SharesItsBets(), [1, 0])
    bets = env.bets
    UCT(20, seed=0).act(env)
    assert env.bets is bets
    assert bets == [1, 0]


def test_an_environment_within_an_environment_is_cloned():
    class Outer(Bets):
        def __init__(self):
            super().__init__()
            self.inner = Builds(7)

    class Builds(Bets):
        def __init__(self, number):
            super().__init__()
            self.number = number

        def __deepcopy__(self, memo):
            return Builds(0)  # as those of PettingZoo's, whose copies are new

    assert clone(played(Outer())).inner.number == 7


# ---- marks ---------------------------------------------------------------------------------------


def assuming():
    return [UCT(20, seed=0, assume=PERFECT_INFORMATION), RandomAgent(0)]


def test_results_and_records_are_marked(tmp_path):
    env, agents = DealtFaceDown(), assuming()
    recorder = Recorder("test_hidden_information:DealtFaceDown", (), ("uct", "random"), agents)
    results, records = [], []
    for result in play_match(env, agents, 2, on_move=recorder.on_move):
        results.append(result)
        records.append(recorder.record(result))
    assert [result.assumed for result in results] == [(PERFECT_INFORMATION, None)] * 2
    summary = summarise(results)
    assert summary.as_json()["assumed"] == (PERFECT_INFORMATION, None)
    marks = [(PERFECT_INFORMATION, None), (None, PERFECT_INFORMATION)]
    for record, assumed in zip(records, marks, strict=True):
        assert record.assumed == assumed  # in the order of the players
        assert all(search is None or search.proven is None for search in record.searches)
        save_record(record, tmp_path / "game.json")
        assert load_record(tmp_path / "game.json") == record


def test_records_without_a_mark_are_as_before(tmp_path):
    record = GameRecord.of("tictactoe", (), (0, 4))
    save_record(record, tmp_path / "game.json")
    text = (tmp_path / "game.json").read_text()
    assert "assumed" not in text
    assert load_record(tmp_path / "game.json") == record
    (tmp_path / "game.json").write_text(text.replace("{\n", '{\n"assumed": 3,\n', 1))
    with pytest.raises(ValueError, match=r"expected assumed .*got 3"):
        load_record(tmp_path / "game.json")


def test_tournaments_are_marked(tmp_path):
    entrants = [f"cheat=uct:simulations=20,assume={PERFECT_INFORMATION}", "random"]
    arguments = {"pairs": 1, "opening_plies": 0}
    tournament = Tournament(DealtFaceDown, entrants, **arguments)
    file, records = tmp_path / "games.jsonl", tmp_path / "records"
    run = TournamentRun(tournament, file, workers=0, records=records)
    assert [result.assumed for result in run] == [(PERFECT_INFORMATION, None)] * 2
    run.close()
    marks = {agent["agent"]: agent["assumed"] for agent in run.standings().as_json()["agents"]}
    assert marks == {"cheat": PERFECT_INFORMATION, "random": None}
    assert sum("assumed" in json.loads(line) for line in file.read_text().splitlines()) == 2
    found = [load_record(path).assumed for path in sorted(records.iterdir())]
    assert found == [(PERFECT_INFORMATION, None), (None, PERFECT_INFORMATION)]
    again = TournamentRun(tournament, file, workers=0, records=records)
    again.close()
    assert again.results == run.results
    text = file.read_text().replace(f'["{PERFECT_INFORMATION}", null]', "[1]")
    file.write_text(text)
    with pytest.raises(ValueError, match="expected assumed"):
        TournamentRun(tournament, file, workers=0)


@pytest.mark.parametrize("agent", ["uct:simulations=5", "greedy"])
def test_a_tournament_of_cheats_is_refused_before_it_begins(agent):
    tournament = Tournament(DealtFaceDown, [agent, "random"], opening_plies=0)
    with pytest.raises(UnfitEnvironmentError, match=HIDDEN):
        TournamentRun(tournament, workers=0)


def test_openings_are_not_drawn_over_hidden_information():
    with pytest.raises(UnfitEnvironmentError, match=HIDDEN):
        TournamentRun(Tournament(DealtFaceDown, ["random", "random"], opening_plies=1), workers=0)


# ---- the command line ----------------------------------------------------------------------------


def run(*arguments):
    return CliRunner().invoke(main, ["match", *arguments, "--games", "2"])


@pytest.mark.parametrize("agent", ["uct:simulations=5", "greedy", "random"])
@pytest.mark.parametrize(
    ("game", "word"),
    [
        (("gymnasium:make", "--option", "id=CartPole-v1"), "PettingZoo"),
        (("gymnasium:make", "--option", "id=FrozenLake-v1"), "PettingZoo"),
        (("test_hidden_information:NoMask",), "action_mask"),
    ],
    ids=["CartPole", "FrozenLake", "no mask"],
)
def test_a_match_is_refused_in_a_line(game, word, agent):
    found = run(game[0], agent, "random", *game[1:])
    assert found.exit_code == 2
    assert isinstance(found.exception, SystemExit)
    assert word in found.output.splitlines()[-1]


class NoMask(Bets):
    """Nothing is legal."""

    metadata = {"name": "nothing_v0"}  # noqa: RUF012

    def observe(self, agent):
        return super().observe(agent)["observation"]


class NoMaskByName(NoMask):
    """As rps_v2 is: known by its name, and without a mask."""

    metadata = {"name": "rps_v2"}  # noqa: RUF012


@pytest.mark.parametrize("agent", ["uct:simulations=5", "greedy", "nrpa", "alphabeta", "solver"])
def test_a_match_that_would_cheat_is_refused_in_a_line(agent):
    for game, word in (("DealtFaceDown", HIDDEN), ("NoMaskByName", AT_ONCE)):
        found = run(f"test_hidden_information:{game}", agent, "random")
        assert found.exit_code == 2
        assert isinstance(found.exception, SystemExit)
        assert word in found.output.splitlines()[-1]


def test_a_match_is_marked():
    agent = f"uct:simulations=5,assume={PERFECT_INFORMATION}"
    game = "test_hidden_information:DealtFaceDown"
    found = run(game, agent, "random", "--json")
    assert found.exit_code == 0
    assert json.loads(found.stdout)["assumed"] == [PERFECT_INFORMATION, None]
    assert f"A assumed {PERFECT_INFORMATION}" in run(game, agent, "random").output
