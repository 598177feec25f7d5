"""Parts of a search that a user writes: what they return is checked, or else bounded."""

import ast
import importlib
import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from environments import make

from agents import TreeSearchAgent
from agents.search.backups import MaxBackup, MixedBackup, PowerMeanBackup, ScoreBoundedBackup
from agents.search.playout import Uniform, take
from agents.search.proofs import SOLVERS
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.search.simulation import new_simulation, part
from agents.search.tree import ROOT, UNPROVEN, child_by_action, children
from agents.search.variant import Variant, with_memory
from hexenv.compiled import compiled, interpreted_only
from hexenv.games import base, connect4
from hexenv.games.tictactoe import TicTacToe
from hexenv.testing import (
    check_backup,
    check_playout,
    check_reward,
    check_selection,
    grow_tree,
)

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "parts"
sys.path.append(str(EXAMPLES))  # where one imports another
UCBV = importlib.import_module("ucb_v").UCBV
KLUCB = importlib.import_module("kl_ucb").KLUCB
Thompson = importlib.import_module("thompson").Thompson
BestChild = importlib.import_module("max_backup").BestChild
Coins = importlib.import_module("coins").Coins
BOUNDED = importlib.import_module("score_bounded").BOUNDED

GAME = connect4.new(4, 5)

needs_compiler = pytest.mark.compiled(only=True)


def grown(variant, game=GAME, simulations=60, **options):
    """The tree of a search, interpreted."""
    return grow_tree(variant, game, simulations=simulations, interpreted=True, **options)


def columns(tree):
    """The parts of a tree that two searches must agree on, bit for bit."""
    count = int(tree.node_count[0])
    return [getattr(tree, name)[:count].tolist() for name in ("action", "visits", "value")]


def positions(tree, game):
    """Every node of a tree from the start of a game, with its position and who chose it."""
    waiting = [(ROOT, base.new_state(game), None)]
    while waiting:
        node, state, chooser = waiting.pop()
        yield node, state, chooser
        below = children(tree, node)
        for child in range(below.start, below.stop):
            after = base.clone(game, state)
            game.step(after, int(tree.action[child]))
            waiting.append((child, after, game.to_play(state)))


# ---- playouts ------------------------------------------------------------------------------------


@part
class Chooser(NamedTuple):
    """Plays the last of the legal actions, by itself or by its place; or something illegal."""

    illegal: int = -1
    share: float = 0.0
    by_place: bool = False

    def choose(self, game, state, rng, actions, count, simulation):
        if rng.random() < self.share:
            return self.illegal
        if self.by_place:
            return take(actions, count - 1, simulation)
        return int(actions[count - 1])


def test_a_playout_chooses_an_action_and_not_its_place():
    found = [grown(Variant(UCB1(), Chooser(by_place=way), WinLoss())) for way in (False, True)]
    assert columns(found[0]) == columns(found[1])
    state, simulation = base.new_state(GAME), new_simulation(GAME, True)
    Chooser().simulate(GAME, state, np.random.default_rng(0), simulation.actions, simulation)
    cells = simulation.cells[: simulation.length[0]]
    assert cells[:4].tolist() == [19, 14, 9, 4]  # the last column, from the bottom up


@pytest.mark.parametrize("illegal", [-1, 5, 99, 2**31 - 1])
def test_an_illegal_choice_is_named(illegal):
    variant = Variant(UCB1(), Chooser(illegal, 0.5), WinLoss())
    expected = rf"expected a legal action, got {illegal} of \[.*\], in Chooser.choose"
    with pytest.raises(ValueError, match=expected):
        grown(variant)


@needs_compiler
@pytest.mark.parametrize("illegal", [-1, 99, 2**31 - 1])
def test_an_illegal_choice_is_harmless_in_machine_code(illegal):
    variant = Variant(UCB1(), Chooser(illegal, 0.5), WinLoss())
    tree = grow_tree(variant, GAME, simulations=60)
    assert columns(tree) == columns(grow_tree(variant, GAME, simulations=60))
    assert tree.visits[1:6].sum() == 60


# ---- selection -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule", [UCBV(), KLUCB(), Thompson()], ids=lambda rule: type(rule).__name__
)
def test_a_rule_of_the_examples_is_sound_and_finds_the_win(rule):
    check_selection(rule, GAME, simulations=20)
    line = (0, 1, 0, 1, 0, 1)  # the first column wins
    for seed in (1, 2):
        tree = grown(Variant(rule, Uniform(fast=False), WinLoss()), actions=line, seed=seed)
        below = children(tree, ROOT)
        assert tree.action[below][np.argmax(tree.visits[below])] == 0


def test_ucb_v_and_kl_ucb_by_hand():
    tree = grown(Variant(UCBV(), Uniform(), WinLoss()))
    squares, node = tree.extras.squares, 1
    mean, visits = tree.value[node], tree.visits[node]
    share = 0.5 * math.log(tree.visits[ROOT]) / visits
    bound = mean + math.sqrt(2 * (squares[node] - mean**2) * share) + 0.9 * share
    assert UCBV().score(tree, node, UCBV().prepare(tree, ROOT, None)) == pytest.approx(bound)
    high = KLUCB().score(tree, node, KLUCB().prepare(tree, ROOT, None))
    divergence = mean * math.log(mean / high) + (1 - mean) * math.log((1 - mean) / (1 - high))
    assert mean < high
    assert visits * divergence == pytest.approx(share * visits, abs=1e-3)


def test_thompson_sampling_comes_from_the_seed():
    variant = Variant(Thompson(), Uniform(fast=False), WinLoss())
    one, again, other = (columns(grown(variant, seed=seed)) for seed in (1, 1, 2))
    assert one == again
    assert one != other


@needs_compiler
def test_thompson_sampling_draws_the_same_in_machine_code():
    variant = Variant(Thompson(), Uniform(fast=False), WinLoss())
    fast = grow_tree(variant, GAME, simulations=60, seed=3)
    assert columns(fast) == columns(grown(variant, seed=3))


# ---- backups -------------------------------------------------------------------------------------

BACKUPS = (MaxBackup(), BestChild(), MixedBackup(0.3), PowerMeanBackup(2.0))


def backed_up(tree, node, same, backup):
    """What a backup makes of a node with children, from the tree alone."""
    below = children(tree, node)
    visits, values = tree.visits[below], tree.value[below]
    values = values[visits > 0]
    found = values.max()
    if isinstance(backup, PowerMeanBackup):
        shares = visits[visits > 0] / visits.sum()
        found = (shares @ values**backup.power) ** (1 / backup.power)
    found = found if same else 1 - found
    if isinstance(backup, MixedBackup):
        found = (1 - backup.share) * tree.backed_up.mean[node] + backup.share * found
    return found


@pytest.mark.parametrize("backup", BACKUPS, ids=lambda backup: type(backup).__name__)
@pytest.mark.parametrize("game", [GAME, Coins(6)], ids=["connect4", "coins"])
def test_values_are_what_a_backup_makes_of_those_below(backup, game):
    tree = grown(Variant(UCB1(), Uniform(fast=False), WinLoss(), backup=backup), game, 150)
    seen = 0
    for node, state, chooser in positions(tree, game):
        below = children(tree, node)
        if node != ROOT and tree.visits[below].sum() > 0:
            same = game.to_play(state) == chooser
            assert tree.value[node] == pytest.approx(backed_up(tree, node, same, backup)), node
            seen += 1
    assert seen > 10


@pytest.mark.parametrize("backup", [*BACKUPS, ScoreBoundedBackup()], ids=lambda b: type(b).__name__)
def test_a_backup_passes_its_check(backup):
    check_backup(backup, Coins(5), simulations=30)


def test_statistics_and_the_final_move_see_what_is_backed_up():
    variant = Variant(UCB1(), Uniform(), WinLoss(), backup=MaxBackup())
    agent = TreeSearchAgent(variant, 200, final_move="value", solver="off", seed=1)
    env = make("tictactoe")
    env.reset()
    chosen = agent.act(env)
    tree = agent.planner.workers[0].tree
    below = children(tree, ROOT)
    values = agent.statistics.values
    assert values[tree.action[below]].tolist() == (2 * tree.value[below] - 1).tolist()
    assert values[chosen] == values.max()
    env.step(chosen)
    assert agent.act(env) in range(9)  # over what was kept of the tree


def test_a_graph_and_evaluated_leaves_refuse_backups_that_they_cannot_use():
    variant = Variant(UCB1(), Uniform(), WinLoss(), backup=MaxBackup())
    with pytest.raises(ValueError, match="expected a backup of means with transpositions"):
        TreeSearchAgent(variant, 10, transpositions=True)


# ---- scores --------------------------------------------------------------------------------------


def best_lead(game, state):
    """The lead of player 0 at the end, with perfect play."""
    if game.is_terminal(state):
        return int(state.lead)
    leads = []
    for action in base.legal_actions(game, state):
        after = base.clone(game, state)
        game.step(after, action)
        leads.append(best_lead(game, after))
    return max(leads) if game.to_play(state) == 0 else min(leads)


@pytest.mark.parametrize("length", [5, 6])
def test_bounds_on_scores_are_sound_and_become_exact(length):
    game = Coins(length)
    for simulations in (20, 60, 600):
        tree = grown(BOUNDED, game, simulations)
        kept = tree.backed_up
        for node, state, chooser in positions(tree, game):
            if node == ROOT:
                continue
            lead = best_lead(game, state) / (7 * length)
            worth = 0.5 + 0.5 * (lead if chooser == 0 else -lead)
            assert kept.lower[node] - 1e-9 <= worth <= kept.upper[node] + 1e-9
            if tree.visits[node]:
                assert kept.lower[node] <= tree.value[node] <= kept.upper[node]
    best = max(range(1, 3), key=lambda child: tree.value[child])
    exact = 0.5 + 0.5 * best_lead(game, base.new_state(game)) / (7 * length)
    assert tree.value[best] == pytest.approx(exact)
    assert kept.lower[best] == kept.upper[best]
    assert best == max(range(1, 3), key=lambda child: tree.visits[child])


def test_bounds_on_wins_are_proofs():
    game = TicTacToe()
    line = (0, 3, 1, 4)  # player 0 wins with 2
    tree = grown(BOUNDED, game, 100, actions=line)
    child = child_by_action(tree, ROOT, 2)
    assert tree.backed_up.lower[child] == tree.value[child] == 1.0
    assert tree.visits[child] > 80  # the others cannot be better


def test_a_game_of_scores_is_searched_for_the_score_and_proves_nothing():
    game = Coins(6)
    variant = Variant(UCB1(), Uniform(), WinLoss(), SOLVERS["soft"])
    tree = grown(variant, game, 400)
    assert set(tree.proof[: int(tree.node_count[0])].tolist()) == {UNPROVEN}
    leaves = [node for node, state, _ in positions(tree, game) if game.is_terminal(state)]
    values = {round(float(tree.value[node]), 6) for node in leaves if tree.visits[node]}
    assert len(values) > 3  # more than won, drawn, lost
    assert with_memory(variant, GAME).solver == SOLVERS["soft"]


@needs_compiler
def test_scores_and_bounds_are_the_same_in_machine_code():
    fast = grow_tree(BOUNDED, Coins(6), simulations=200, seed=3)
    slow = grown(BOUNDED, Coins(6), 200, seed=3)
    assert columns(fast) == columns(slow)
    count = int(fast.node_count[0])
    for one, other in zip(fast.backed_up, slow.backed_up, strict=True):
        assert np.array_equal(one[1:count], other[1:count], equal_nan=True)


# ---- the checks ----------------------------------------------------------------------------------


def method(cls, **methods):
    """A class like another one, with other methods."""
    made = NamedTuple("Mine", cls.__annotations__.items())
    made.__new__.__defaults__ = tuple(cls._field_defaults.values())
    for name, value in vars(cls).items():
        if callable(value) and not name.startswith("_"):
            setattr(made, name, value)
    for name, value in methods.items():
        setattr(made, name, value)
    return compiled(made)()


def draw_scores(self, tree, child, prepared):
    return prepared.random()


def hand_on(self, tree, node, rng):
    return rng


def change_values(self, tree, child, prepared):
    tree.value[child] = 0.5
    return 0.0


def forget_last(self, tree, simulation, exact):
    for ply in range(simulation.depth[0]):
        tree.value[simulation.path[ply - 1]] = 0.5


def change_sibling(self, tree, simulation, exact):
    tree.value[tree.node_count[0] - 1] = 0.25


def play_first(self, game, state, rng, actions, count, simulation):
    game.step(state, int(actions[0]))
    return int(actions[0])


WRONG = {
    "expected a legal action, got 77 of .*, in Chooser.choose": (
        check_playout, lambda: Chooser(77, 0.2)),
    "expected the position as it was, got another one, in Mine.choose": (
        check_playout, lambda: method(Chooser, choose=play_first)),
    r"expected an index of actions from 0 to 4, got 9, in Mine.choose": (
        check_playout, lambda: method(Chooser, choose=lambda self, game, state, rng, actions,
                                      count, simulation: int(actions[9]))),
    "expected a number, got nan, in Mine.score": (
        check_selection, lambda: method(UCB1, score=lambda self, tree, child, prepared: math.nan)),
    "expected an index of tree.value from 0 to .*, got -1, in Mine.score": (
        check_selection,
        lambda: method(UCB1, score=lambda self, tree, child, prepared: tree.value[child - 2])),
    "expected tree.value as it is, got a change of it, in Mine.score": (
        check_selection, lambda: method(UCB1, score=change_values)),
    "expected tries_all_first False of a rule that draws, got True, in Mine.score": (
        check_selection, lambda: method(UCB1, prepare=hand_on, score=draw_scores)),
    r"expected prepare\(self, tree, node, rng\), got prepare\(self, node\), in Mine": (
        check_selection, lambda: OldPrepare()),
    r"expected a method shape\(self, outcome, .*\), got none, in Uniform": (
        check_reward, lambda: Uniform()),
    "expected a reward from 0 to 1 for .*, got 3.0, in Mine.shape": (
        check_reward,
        lambda: method(WinLoss, shape=lambda self, outcome, player, plies, length: 3.0)),
    "expected an index of simulation.path from 0 to .*, got -1, in Mine.revise": (
        check_backup, lambda: method(MaxBackup, revise=forget_last)),
    "expected changes on the path .* alone, got one at .*, in Mine.revise": (
        check_backup, lambda: method(MaxBackup, revise=change_sibling)),
}  # fmt: skip


class OldPrepare:
    """Of a time when selection had no random stream; not compiled."""

    def prepare(self, node):
        return 0.0

    def score(self, tree, child, prepared):
        return 0.0


OldPrepare.__name__ = "Mine"


@pytest.mark.parametrize("message", WRONG)
def test_what_is_wrong_with_a_part_is_said_in_words(message):
    check, make = WRONG[message]
    with pytest.raises(AssertionError, match=message):
        check(make(), GAME, simulations=20)


def test_parts_that_are_right_pass():
    check_playout(Chooser(), GAME, simulations=20)
    check_reward(WinLoss(), GAME, simulations=20)
    check_selection(UCB1(fpu=0.5), Coins(5), simulations=20)


@interpreted_only
def disturb(memory):
    memory[0] = 0.25


@part
class Told(NamedTuple):
    """A reward that is another one where it runs interpreted."""

    memory: np.ndarray = np.full(1, 0.5)

    def with_memory(self, game):
        return self._replace(memory=np.full(1, 0.5))

    def shape(self, outcome, player, plies, length):
        disturb(self.memory)
        return self.memory[0]


@needs_compiler
def test_a_check_compares_with_machine_code():
    with pytest.raises(AssertionError, match="Told as machine code"):
        check_reward(Told(), GAME, simulations=20)


# ---- the examples --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_short(path):
    text = path.read_text("utf-8")
    docs = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Module, ast.ClassDef))]
    lines = {number for number, line in enumerate(text.splitlines(), 1) if line.strip()}
    for node in docs:
        if ast.get_docstring(node):
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    assert len(lines) <= 25 or path.stem == "coins"


# ---- what a part leaves out ----------------------------------------------------------------------


class Bare(NamedTuple):
    """A rule of two methods."""

    c: float = 0.5

    def prepare(self, tree, node, rng):
        return self.c

    def score(self, tree, child, prepared):
        return tree.value[child] + prepared / (1 + tree.visits[child])


def test_a_part_gets_the_methods_that_it_leaves_out():
    rule = part(Bare)
    assert rule is Bare
    check_selection(Bare(), TicTacToe(), simulations=30)

    @part
    class Last(NamedTuple):
        unused: int = 0

        def choose(self, game, state, rng, actions, count, simulation):
            return int(actions[count - 1])

        def needs_moves(self):
            return True

    check_playout(Last(), TicTacToe(), simulations=30)
    assert Last().needs_moves()


def test_a_part_that_is_not_compiled_is_named_where_machine_code_is_asked_for():
    class Plain(UCB1):
        pass

    variant = Variant(Plain(), Uniform(), WinLoss())
    env = make("tictactoe")
    env.reset()
    with pytest.raises(ValueError, match=r"got Plain$"):
        TreeSearchAgent(variant, 10, route="compiled").act(env)


def test_what_is_no_part_is_refused():
    class Nothing(NamedTuple):
        unused: int = 0

    with pytest.raises(TypeError, match=r"Nothing: expected a part .*score, choose.*got none"):
        part(Nothing)
