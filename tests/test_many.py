"""Many games at once: position by position what an agent for each of them does."""

import copy
import pickle

import numpy as np
import pytest
from environments import make
from grown_trees import assert_same_nodes, nodes, tree_of

from agents import UCT
from agents.registry import make_agent
from agents.search.many import keep_nodes_below
from agents.search.roots import FINAL_MOVES, best_action, root_actions, root_value
from agents.search.tree import ROOT, UNPROVEN, children, keep_subtree, number_arrays
from hexenv.compiled import CompiledFunction, kernel
from hexenv.compiled.packing import Packed, unpacked
from hexenv.games.table import new_table

PLAINLY = [
    "uct:simulations=40",
    "uct:simulations=40,final_move=lcb,solver=hard",
    "uct:simulations=40,final_move=value,reuse=False",
    "uct:simulations=40,max_nodes=60",
    "rave:simulations=40",
    "mast:simulations=40",
]
SLOW = pytest.mark.slow
COMPILED = ["uct:simulations=40", pytest.param("mast:simulations=40", marks=SLOW)]
LED = [
    "puct:policy=competitors.Even,simulations=16",
    "puct:policy=competitors.Even,simulations=16,noise=0.3,temperature=1.0,batch=3",
    "gumbel:policy=competitors.Even,simulations=16,noise=1.0",
]


class Table:
    """Games of an agent, each in an environment of its own."""

    def __init__(self, board, text, count):
        self.envs = [make(board) for _ in range(count)]
        self.alone = [make_agent(text) for _ in range(count)]
        for number, env in enumerate(self.envs):
            env.reset()
            self.alone[number].reset(number)
        self.many = make_agent(text).play_many(self.envs[0], count)
        for number in range(count):
            self.many.reset(number, number)

    def in_play(self):
        return [number for number, env in enumerate(self.envs) if env.agents and not is_over(env)]

    def act(self, which):
        return act(self.many, self.envs, which)


def act(many, envs, which):
    """The actions in some of the games."""
    game = many.game
    table = new_table(game, len(envs))
    for number in which:
        raw = envs[number].unwrapped
        game.copy(raw.state, table.states[number])
        table.actions[number, : len(raw.actions)] = raw.actions
        table.lengths[number] = len(raw.actions)
    return many.act(table, np.array(which)).tolist()


def is_over(env):
    return any(env.terminations.values())


def play(table, plies, seed=0):
    """The agent against random replies; every action and every tree are compared."""
    rng = np.random.default_rng(seed)
    for _ in range(plies):
        which = [number for number in table.in_play() if rng.random() < 0.8]
        if not which:
            continue
        chosen = table.act(which)
        assert chosen == [table.alone[number].act(table.envs[number]) for number in which]
        for number, action in zip(which, chosen, strict=True):
            yield number
            env = table.envs[number]
            env.step(action)
            if not is_over(env):
                env.step(int(rng.choice(np.flatnonzero(env.last()[0]["action_mask"]))))


@pytest.mark.parametrize("text", PLAINLY)
def test_many_searches_are_those_of_an_agent_each(text):
    compare_trees(text)


@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("text", COMPILED)
def test_many_compiled_searches_are_those_of_an_agent_each(text):
    compare_trees(text)


def test_trees_with_children_to_come_are_used_again():
    compare_trees("uct:simulations=300", "hex-5", plies=3)


def compare_trees(text, board="tictactoe", plies=6):
    table = Table(board, text, 3)
    for number in play(table, plies):
        found = nodes(table.many.workers[number].tree)
        assert_same_nodes(found, nodes(tree_of(table.alone[number])))
        visits = table.many.statistics(number).visits
        assert visits.tolist() == table.alone[number].statistics.visits.tolist()


@pytest.mark.parametrize(
    "text",
    [*LED, pytest.param(LED[1], marks=[pytest.mark.compiled(only=True), SLOW], id="compiled")],
)
def test_many_evaluated_searches_are_those_of_an_agent_each(text):
    table = Table("tictactoe", text, 3)
    for number in play(table, 6):
        visits = table.many.statistics(number).visits
        assert visits.tolist() == table.alone[number].statistics.visits.tolist()


@pytest.mark.parametrize(
    "text",
    ["uct:seconds=0.01", "uct:workers=2", "uct:transpositions=True", "uct:threats=True", "quality"],
)
def test_what_keeps_more_than_a_tree_plays_one_by_one(text):
    assert make_agent(text).play_many(make("tictactoe"), 2) is None


@pytest.mark.parametrize("text", [PLAINLY[0], LED[0]])
@pytest.mark.compiled
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_go_on_alike(text, copied):
    table = Table("tictactoe", text, 2)
    for _ in play(table, 2):
        pass
    which = table.in_play()
    other = copied(table.many)
    assert act(other, table.envs, which) == table.act(which)


@pytest.mark.parametrize("text", [PLAINLY[0], LED[0]])
def test_to_prepare_changes_nothing(text):
    one, other = (Table("tictactoe", text, 2) for _ in range(2))
    other.many.prepare()
    assert one.act([0, 1]) == other.many.act_in(other.envs).tolist()


@pytest.mark.compiled
def test_threads_change_nothing():
    found = []
    for threads in (1, 2):
        table = Table("tictactoe", "uct:simulations=50", 5)
        table.many.threads = threads
        table.many._seconds_each = 1.0  # as if each search took long
        found.append([table.act([0, 1, 2, 3, 4]), table.act([4, 2, 0])])
    assert found[0] == found[1]


def test_trees_are_cut_as_in_plain_python():
    boards = ("hex-3", "uct"), ("hex-3", "rave"), ("hex-5", "uct")
    for board, name in boards:
        env = make(board)
        env.reset()
        agent = make_agent(f"{name}:simulations={200 if board == 'hex-3' else 2_000}")
        agent.reset(3)
        agent.act(env)
        tree = tree_of(agent)
        below = children(tree, ROOT)
        node = below.start + int(np.argmax(tree.visits[below]))
        mine, other = copy.deepcopy(tree), copy.deepcopy(tree)
        keep_nodes_below(mine, number_arrays(mine), node, np.zeros(len(mine.action), np.int32))
        keep_subtree(other, node)
        other.proof[ROOT] = UNPROVEN
        assert_same_nodes(nodes(mine), nodes(other))


def test_the_best_action_is_the_agent_s():
    rng = np.random.default_rng(5)
    env = make("tictactoe")
    env.reset()
    for final_move in ("visits", "value", "lcb"):
        agent = make_agent(f"uct:simulations=30,final_move={final_move}")
        agent.act(env)
        tree = tree_of(agent)
        below = children(tree, ROOT)
        for _ in range(200):  # few values: many ties
            tree.visits[below] = rng.integers(0, 3, len(tree.visits[below]))
            tree.value[below] = rng.integers(0, 3, len(tree.visits[below])) / 2
            tree.proof[below] = rng.choice([-1, 0, 1, UNPROVEN], len(tree.visits[below]))
            found = best_action(tree, FINAL_MOVES.index(final_move))
            assert found == agent.choose_action(None, [tree], rng, lambda: None)
            root = root_actions([tree])
            assert found == root.best(final_move)
            assert root.outcome() in (None, root_value(tree, found))


@kernel
def add_up_row(rows, number):
    flag, small, (short, number_of_64, number_of_32), words, whole, doubles = unpacked(rows, number)
    total = whole + short + number_of_64 + number_of_32 + (100.0 if flag else 0.0)
    for row in range(2):
        for column in range(3):
            total += small[row, column] + 10 * words[row, column] + 100 * doubles[row, column]
    return total


@pytest.mark.compiled
def test_rows_of_all_kinds_are_packed_as_numba_lays_them_out():
    arrays = [np.arange(6, dtype=dtype).reshape(2, 3) for dtype in (np.int8, np.int32, np.float64)]
    rows = [
        (True, arrays[0] + k, (np.int16(k), 2.5, np.float32(0.5)), arrays[1] + k, k, arrays[2])
        for k in range(3)
    ]
    packed = Packed(rows)
    packed[1] = (False, *rows[1][1:])
    run = CompiledFunction(add_up_row)
    for number in range(3):
        assert run(packed, number) == pytest.approx(add_up_row(packed, number))


@pytest.mark.sample
@pytest.mark.compiled(only=True)
def test_rows_are_of_one_type_and_are_not_copied():
    packed = Packed([(np.zeros(2, np.int32), 1)])
    for row in [(np.zeros(2), 1), (np.zeros(4, np.int32)[::2], 1), (np.zeros(2, np.int32),)]:
        with pytest.raises(TypeError, match="expected a row of"):
            packed[0] = row
    with pytest.raises(TypeError, match="pack the rows of the copy"):
        copy.deepcopy(packed)


@pytest.mark.sample
@pytest.mark.compiled(only=True)
@pytest.mark.parametrize("row", [("text",), (None,), (np.zeros(1, "i4,i4")[0],)])
def test_what_cannot_be_packed_is_refused(row):
    with pytest.raises(TypeError, match="expected arrays and numbers"):
        Packed([row])


# ---- what is refused -----------------------------------------------------------------------------


def new_env(board):
    env = make(board)
    env.reset()
    return env


def test_a_tree_without_room_for_the_actions_is_refused():
    with pytest.raises(ValueError, match="expected max_nodes above the 9 actions"):
        UCT(simulations=10, max_nodes=5).play_many(new_env("tictactoe"), 2)


def test_environments_that_are_not_in_play_or_of_another_game_are_refused():
    many = UCT(simulations=5).play_many(new_env("tictactoe"), 2)
    over, other = new_env("tictactoe"), new_env("connect4-4x5")
    for action in (0, 3, 1, 4, 2):
        over.step(action)
    for envs in ([over], [other], [make("tictactoe")], [other] * 3):
        with pytest.raises(ValueError, match="expected"):
            many.act_in(envs)


class Stubborn(UCT):
    """Plays as its own `act` says."""

    def act(self, env):
        return int(np.flatnonzero(env.last()[0]["action_mask"])[0])


class Named(UCT):
    """A class of a user that says that it changes nothing."""

    plays_many = True


class NamedAndStubborn(Stubborn, Named):
    """One that says nothing of itself."""


def test_a_class_from_outside_plays_many_games_if_it_says_so():
    for kind, many in ((Stubborn, False), (Named, True), (NamedAndStubborn, False)):
        assert (kind(simulations=5).play_many(make("tictactoe"), 2) is not None) is many


def test_a_copy_has_room_for_trees_that_have_grown():
    table = Table("tictactoe", LED[0], 2)
    table.many._make_trees(4 * table.many._room)
    for _ in play(table, 1):
        pass
    size = 3 * table.many._room
    for worker in table.many.workers:
        worker.tree.node_count[0] = size
    other = pickle.loads(pickle.dumps(table.many))
    assert [worker.tree.node_count[0] for worker in other.workers] == [size, size]
