"""Games of one's own: what their classes may leave out, and that all else plays them.

In two of them a player may move several times in a row; their values are those of a plain minimax.
"""

import functools
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from own_games import OWN_GAMES, Boxes, Subtraction

import agents
from agents.arena.match import play_game
from agents.records.recorder import Recorder
from agents.records.sgf import write_sgf
from hexenv import testing
from hexenv.compiled import SHARED_FIELDS, interpreted
from hexenv.envs.aec import BoardEnv
from hexenv.envs.standard_wrapper import with_standard_wrapper
from hexenv.games import base, notation
from hexenv.games.own import game
from hexenv.learners.single import SingleEnv
from hexenv.learners.vector import BoardVectorEnv
from hexenv.testing.compilable import check_source

by_name = pytest.mark.parametrize("rules", OWN_GAMES, ids=lambda rules: rules.name)
EXTRA_TURNS = (Subtraction(7), Boxes(1, 2), Boxes(1, 1))
extra_turns = pytest.mark.parametrize("rules", EXTRA_TURNS, ids=str)


def raw_env(rules, **view):
    return BoardEnv(rules, f"{rules.name}_v0", **view)


make_env = with_standard_wrapper(raw_env)


def env_after(rules, actions=()):
    env = make_env(rules)
    env.reset()
    for action in actions:
        env.step(action)
    return env


@functools.cache
def minimax(rules, actions=()):
    """The outcome for player 0 after some actions, by nothing but steps and outcomes."""
    state = notation.play(rules, list(actions))
    legal = base.legal_actions(rules, state)
    if not legal:
        return rules.outcome(state, 0)
    best = max if rules.to_play(state) == 0 else min
    return best(minimax(rules, (*actions, action)) for action in legal)


def value_after(rules, actions, player):
    """The same for a player."""
    return minimax(rules, tuple(actions)) * (1 if player == 0 else -1)


def lines(rules, count, seed=0):
    """Positions in play, at most five plies before the end, by the actions that lead there."""
    rng = np.random.default_rng(seed)
    found = [()] if rules.max_plies() <= 5 else []
    while len(found) < count:
        state, actions = base.new_state(rules), []
        for _ in range(rng.integers(max(0, rules.max_plies() - 5), rules.max_plies())):
            legal = base.legal_actions(rules, state)
            if not legal:
                break
            actions.append(int(rng.choice(legal)))
            rules.step(state, actions[-1])
        if not rules.is_terminal(state):
            found.append(tuple(actions))
    return found


# ---- the contract --------------------------------------------------------------------------------


@by_name
def test_games_of_all_kinds_fulfil_the_contract(rules):
    with interpreted():
        testing.check_game(rules, games=6)


@pytest.mark.compiled(only=True)
@by_name
def test_they_do_so_compiled(rules):
    testing.check_game(rules, games=4)


def test_a_player_moves_twice_in_a_row():
    for rules in EXTRA_TURNS[:2]:
        players = [agent for agent, _ in played(env_after(rules), seed=1)]
        assert any(first == second for first, second in pairwise(players))


def played(env, seed):
    """Who moves in a random game, and how."""
    rng = np.random.default_rng(seed)
    while env.agents and not env.terminations[env.agent_selection]:
        agent = env.agent_selection
        action = int(rng.choice(np.flatnonzero(env.infos[agent]["action_mask"])))
        env.step(action)
        yield agent, action


# ---- exact play ----------------------------------------------------------------------------------


@extra_turns
def test_the_solver_and_alpha_beta_know_their_values(rules):
    for actions in lines(rules, 6):
        env = env_after(rules, actions)
        player = env.unwrapped.game.to_play(env.unwrapped.state)
        expected = {
            action: value_after(rules, (*actions, action), player)
            for action in base.legal_actions(rules, env.unwrapped.state)
        }
        with interpreted():
            solver = agents.Solver(seed=1)
            assert expected[solver.act(env)] == max(expected.values())
            alphabeta = agents.AlphaBeta(depth=rules.max_plies(), seed=1)
            assert expected[alphabeta.act(env)] == max(expected.values())
        found = solver.statistics.values
        assert {action: found[action] for action in expected} == expected, actions
        assert (alphabeta.statistics.proven or 0) == max(expected.values())


SOLVING = {
    "uct": agents.UCT,
    "rave": agents.RAVE,
    "grave": agents.GRAVE,
    "mast": agents.MAST,
    "lgr": agents.LGR,
    "history": agents.HistoryMCTS,
    "quality": agents.QualityMCTS,
    "ucb1-tuned": agents.UCB1TunedMCTS,
    "transposition": agents.TranspositionMCTS,
}


@pytest.mark.parametrize("name", SOLVING)
def test_searches_prove_their_values(name):
    for rules in EXTRA_TURNS:
        for actions in lines(rules, 3):
            env = env_after(rules, actions)
            player = rules.to_play(env.unwrapped.state)
            agent = SOLVING[name](simulations=1_000, solver="hard", seed=1)
            with interpreted():
                action = agent.act(env)
            best = value_after(rules, actions, player)
            proofs = [best] if best else [None, 0]  # a draw is proven when all else is
            assert agent.statistics.proven in proofs, (rules, actions)
            assert value_after(rules, (*actions, action), player) == best


@pytest.mark.parametrize("options", [{}, {"playout": "decisive"}, {"playout": "mast"}], ids=str)
def test_values_are_those_of_who_moves(options):
    """Without proofs, a search's value of the best action tends to the outcome of perfect play."""
    for rules in EXTRA_TURNS:
        if options.get("playout") == "decisive" and not hasattr(rules, "winning_action"):
            continue
        for actions in lines(rules, 3, seed=1):
            env = env_after(rules, actions)
            player = rules.to_play(env.unwrapped.state)
            agent = agents.UCT(simulations=600, c=1.0, seed=1, **options)
            with interpreted():
                action = agent.act(env)
            best = value_after(rules, actions, player)
            assert value_after(rules, (*actions, action), player) == best
            assert abs(agent.statistics.values[action] - best) < 0.5


class Oracle:
    """An evaluator that knows the value of a position for the player to move, and no priors."""

    def evaluate(self, rules, states):
        values = [self.value(rules, state) for state in states]
        return np.full((len(states), rules.num_actions()), 1 / rules.num_actions()), np.array(
            values
        )

    def value(self, rules, state):
        def outcome(state):
            legal = base.legal_actions(rules, state)
            after = [base.clone(rules, state) for _ in legal]
            for action, child in zip(legal, after, strict=True):
                rules.step(child, action)
            best = max if rules.to_play(state) == 0 else min
            return best(map(outcome, after)) if legal else rules.outcome(state, 0)

        return float(outcome(state)) * (1 if rules.to_play(state) == 0 else -1)


@pytest.mark.parametrize("kind", [agents.PUCTAgent, agents.GumbelAgent])
def test_evaluations_are_for_the_player_to_move(kind):
    for rules in EXTRA_TURNS:
        for actions in lines(rules, 3, seed=2):
            env = env_after(rules, actions)
            player = rules.to_play(env.unwrapped.state)
            agent = kind(Oracle(), simulations=32, seed=1)
            with interpreted():
                action = agent.act(env)
            best = value_after(rules, actions, player)
            assert value_after(rules, (*actions, action), player) == best


# ---- environments, matches, records --------------------------------------------------------------


@extra_turns
def test_rewards_are_for_the_learner(rules):
    """Whatever sides and turns there are: 1 for a win, -1 for a loss."""
    env = SingleEnv(lambda **view: raw_env(rules, **view), opponent="random")
    rng = np.random.default_rng(1)
    for seed in range(8):
        _, info = env.reset(seed=seed)
        reward, over = 0, False
        while not over:
            _, reward, over, _, info = env.step(
                int(rng.choice(np.flatnonzero(info["action_mask"])))
            )
        assert reward == rules.outcome(env.unwrapped.state, env.unwrapped.side)


@extra_turns
@pytest.mark.parametrize("opponent", [None, "random", "greedy"])
def test_many_boards_are_as_one(rules, opponent):
    envs = BoardVectorEnv(lambda **view: raw_env(rules, **view), num_envs=3, opponent=opponent)
    envs.reset(seed=1)
    rewards = [envs.step(envs.action_masks().argmax(axis=1))[1] for _ in range(20)]
    assert set(np.unique(rewards)) <= {-1, 0, 1}
    assert np.abs(rewards).sum() > 0


@by_name
def test_agents_play_records_and_positions(rules):
    env = env_after(rules)
    names = ("mast", "random")
    players = [agents.MAST(simulations=8, seed=1), agents.RandomAgent(seed=2)]
    recorder = Recorder("own_games:env", (), names, players)
    with interpreted():
        record = recorder.record(play_game(env, players, on_move=recorder.on_move))
    assert record.moves == env.unwrapped.moves
    assert list(record.replay(env_after(rules)))[-1].unwrapped.moves == record.moves
    assert rules.outcome(record.states(rules)[-1], 0) == record.outcome
    with pytest.raises(ValueError, match="expected moves"):
        list(replace(record, moves="other").replay(env_after(rules)))
    with pytest.raises(ValueError, match="for SGF, got own_games:env"):
        write_sgf([record])


@by_name
def test_a_position_is_kept_as_bytes(rules):
    env = env_after(rules)
    for _ in played(env, seed=2):
        kept = env.unwrapped.to_bytes()
        other = env_after(rules)
        other.reset(options={"state": kept})
        assert other.unwrapped.state == env.unwrapped.state
    damaged = kept[:-1] + bytes([kept[-1] ^ 1])
    with pytest.raises(ValueError, match="damaged"):
        other.reset(options={"state": damaged})
    with pytest.raises(ValueError, match="expected a game whose stones stay"):
        other.reset(options={"board": "x"})


@by_name
@pytest.mark.parametrize("mode", ["ansi", "svg"])
def test_pictures_show_every_game(rules, mode):
    env = make_env(rules, render_mode=mode, planes=("side", "last_move"))
    env.reset()
    for _ in played(env, seed=3):
        assert env.render()
        planes = env.observe("player_0")["observation"].shape[-1]
        assert planes == len(rules.planes()) + 2


# ---- names ---------------------------------------------------------------------------------------


def searched(rules):
    found = agents.UCT(simulations=200, seed=1)
    return found.act(env_after(rules)), found.statistics.visits.tolist()


@pytest.mark.slow
@pytest.mark.compiled(only=True)
def test_games_with_helpers_of_one_name_are_searched_in_one_process():
    compiled = [searched(rules) for rules in OWN_GAMES]
    with interpreted():
        assert compiled == [searched(rules) for rules in OWN_GAMES]


# ---- what is refused, in plain words -------------------------------------------------------------


def variant(**members):
    """`Subtraction` with other members."""

    class Variant(NamedTuple):
        visits: int

    own = {name: value for name, value in vars(Subtraction).items() if name in OF_SUBTRACTION}
    for name, value in (own | members).items():
        if value is not None:
            setattr(Variant, name, value)
    return game(Variant)


OF_SUBTRACTION = """
    state_dtype MOST num_actions max_plies initial is_legal legal_actions to_play step
""".split()  # noqa: SIM905


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"step": None}, r"Variant: expected step\(self, state, action\), got none"),
        ({"state_dtype": None}, "Variant: expected state_dtype, got none"),
        ({"step": lambda self, state: 0}, r"step\(self, state, action\), got step\(self, state\)"),
        ({"rows": lambda self: 3}, "Variant.rows: expected a field, a constant or a property"),
        ({"initial": staticmethod(lambda state: 0)}, "expected a method .*, got a staticmethod"),
        ({"num_actions": 3}, r"num_actions: expected a method num_actions\(self\), got an int"),
        ({"to_play": property(lambda self: 0)}, "expected a method to_play.*, got a property"),
        ({"state_dtype": [("ply", np.int16)]}, "Variant.state_dtype: expected base.state_dtype"),
        ({"state_dtype": np.dtype([("ply", np.int16)])}, "which adds ply of int16, last_action"),
        ({"final_score": lambda self, state: 0}, r"expected final_score\(self, state, player\)"),
        ({"owner": lambda self, state, cell: 0}, "expected rows, columns of its board"),
    ],
)
def test_classes_that_are_no_game_are_refused(members, message):
    with pytest.raises(TypeError, match=message):
        variant(**members)


def test_a_field_in_place_of_a_method_is_refused():
    with pytest.raises(TypeError, match=r"Fields.copy: expected a method copy.*, got a field"):
        game(type("Fields", (Counted, NamedTuple("Fields", [("copy", int)])), {}))
    for wrong in (5, "abc", int):
        with pytest.raises(TypeError, match="expected a NamedTuple class"):
            game(wrong)


class Parameters(NamedTuple):
    visits: object


@pytest.mark.parametrize("value", [np.int64(4), (1, (2, np.float32(0.5))), "x", None, True])
def test_a_position_of_any_parameters_is_read_again(value):
    rules = AnyParameters(value)
    state = base.new_state(rules)
    assert notation.from_bytes(rules, notation.to_bytes(rules, state)).value == 4
    assert raw_env(rules).game == rules


class Counted:
    """`Subtraction` by a constant."""

    def max_plies(self):
        return 4

    def initial(self, state):
        base.begin(state)
        state.value = 4
        state.mover = 0


for _name in "state_dtype MOST num_actions is_legal legal_actions to_play step".split():  # noqa: SIM905
    setattr(Counted, _name, vars(Subtraction)[_name])


@game
class AnyParameters(Counted, Parameters):
    pass


def many_actions(self):
    return 32_768


NO_GAMES = [
    (lambda: Subtraction, "got the class Subtraction: make one with Subtraction"),
    (lambda: raw_env(Subtraction(4)), "expected a game, got <BoardEnv of Subtraction"),
    (lambda: None, "expected a game, got None"),
    (lambda: AnyParameters(np.arange(3)), "arrays are class constants"),
    (lambda: AnyParameters((1, [2])), "got .1, .2.. as visits"),
    (lambda: variant(num_actions=many_actions)(4), r"num_actions\(\) from 1 to 32767, got 32768"),
    (lambda: variant(max_plies=many_actions)(4), r"max_plies\(\) from 1 to 32767, got 32768"),
]


@pytest.mark.parametrize(("make", "message"), NO_GAMES)
def test_what_is_no_game_is_refused(make, message):
    value = make()
    for use in (testing.check_game, lambda value: BoardEnv(value, "x_v0")):
        with pytest.raises((TypeError, ValueError), match=message):
            use(value)


@pytest.mark.parametrize("options", [{"games": 0}, {"games": "x"}, {"games": 1, "seed": -1}])
def test_a_check_of_nothing_is_refused(options):
    with pytest.raises(ValueError, match=r"expected (a whole number of )?games|expected a seed"):
        testing.check_game(Subtraction(4), **options)


def test_a_game_may_have_another_as_its_base():
    class Shorter(Subtraction):
        def max_plies(self):
            return min(2, super().max_plies())

    shorter = game(Shorter)(2)
    assert (shorter.max_plies(), shorter.num_actions()) == (2, Subtraction(2).num_actions())
    with interpreted():
        testing.check_game(shorter, games=2)


def is_small(number):
    return number < 9


LARGEST = {1: 9}


def by_a_plain_function(self, state, action):
    return action < state.value and is_small(action)


def by_a_dictionary(self, state, action):
    return action < state.value and action < LARGEST[1]


def by_what_no_compiler_takes(self, state, action):
    return action < state.value and action not in frozenset((7, 8))


def test_the_score_at_the_end_is_looked_at_as_all_that_compiles():
    def final_score(self, state, player):
        return float(self.outcome(state, player)) / LARGEST[1]

    with pytest.raises(AssertionError, match="final_score, which uses LARGEST"):
        check_source(variant(final_score=final_score)(4))
    scores = testing.record_game(variant()(2), [0, 0]).scores
    assert scores.tolist() == [[0, 0], [0, 0], [1, -1]]


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize(
    ("is_legal", "message"),
    [
        (by_a_plain_function, "uses is_small: expected a function under hexenv.compiled.kernel"),
        (by_a_dictionary, "uses LARGEST: expected a tuple or an array, got a dict"),
        (by_what_no_compiler_takes, r"machine code, .* Untyped global name 'frozenset'.* line \d+"),
    ],
)
def test_what_does_not_compile_is_said_in_plain_words(is_legal, message):
    with pytest.raises(AssertionError, match=message):
        testing.check_game(variant(is_legal=is_legal)(4), games=1)


def by_itself(self, state, action):
    return self.is_legal(state, action - 1) if action else True


def by_a_list(self, state, action):
    return action < state.value and action < self.LENGTHS[0]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"is_legal": by_itself}, "is_legal: expected a loop, got a method that calls itself"),
        (
            {"is_legal": by_a_list, "LENGTHS": [9]},
            "is_legal, which uses LENGTHS: expected a tuple or an array, got a list",
        ),
    ],
)
def test_what_a_class_has_that_does_not_compile_is_said_in_plain_words(members, message):
    with pytest.raises(AssertionError, match=message):
        check_source(variant(**members)(4))


def test_a_name_counts_only_behind_self():
    def is_legal(self, state, action):
        return action < state.value and action < self._replace(visits=9).visits

    def value(self):
        return LARGEST

    check_source(variant(is_legal=is_legal, value=value)(4))


def test_a_field_that_initial_forgets_is_named():
    def initial(self, state):
        base.begin(state)
        state.value = self.visits

    with interpreted(), pytest.raises(AssertionError, match="to be written, got mover"):
        testing.check_game(variant(initial=initial)(4), games=1)


def test_shared_fields_are_those_of_every_state():
    assert tuple(name for name, _ in base.STATE_FIELDS) == SHARED_FIELDS


@game
class TwoHeaps(NamedTuple):
    """Take one from either heap; a state has a number, an array and a flag."""

    counters: int = 3

    state_dtype = base.state_dtype(("heaps", np.int16, (2,)), ("debt", np.int8))

    def num_actions(self):
        return 2

    def max_plies(self):
        return 2 * self.counters

    def initial(self, state):
        base.begin(state)
        state.heaps[0] = state.heaps[1] = self.counters
        state.debt = 0

    def legal_actions(self, state, out):
        count = 0
        for heap in range(2):
            if state.heaps[heap] > 0:
                out[count] = heap
                count += 1
        return count

    def step(self, state, action):
        state.heaps[action] -= 1
        state.debt -= 1
        state.ply += 1
        state.last_action = action
        if state.heaps[0] + state.heaps[1] == 0:
            state.winner = 1 - state.ply % 2


def field_bits(planes, names, field):
    """The numbers of a field, of 16 bits each, read from the planes."""
    bits = [int(planes[names.index(name)]) for name in names if name.startswith(f"{field}.")]
    return [sum(bit << n for n, bit in enumerate(bits[at : at + 16])) for at in (0, 16)]


def test_learners_see_the_fields_of_a_game_without_a_board():
    rules = TwoHeaps()
    names = rules.planes()
    assert names[:4] == ("own", "opponent", "player", "heaps.0")
    assert names[-1] == "debt.7"
    assert len(names) == 3 + 32 + 8
    env = SingleEnv(lambda **view: raw_env(rules, **view), opponent="random", side="second")
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    (planes,) = observation["observation"].reshape(-1, len(names))
    state = env.unwrapped.state
    assert field_bits(planes, names, "heaps") == state.heaps.tolist() != [3, 3]
    assert planes[names.index("player")] == 1
    assert all(planes[names.index(f"debt.{bit}")] for bit in range(8))  # -1
    testing.check_game(rules, games=3)
