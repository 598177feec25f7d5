"""The trees of an agent: what they prove, between moves, as graphs, in files, on threads."""

import importlib
import json
import os
import re
import zipfile

import numpy as np
import pytest
from environments import JIT, make, random_action

from agents import RAVE, UCT, FlatMonteCarlo, PUCTAgent, TranspositionMCTS
from agents.mcts.saved_trees import VERSION
from agents.mcts.tree_search import is_decided
from agents.policies.policy import PolicyAgent
from agents.registry import make_agent
from agents.search.mcts import proof_by_children
from agents.search.tree import (
    ROOT,
    UNPROVEN,
    child_by_action,
    children,
    copy_nodes,
    keep_subtree,
    new_tree,
    node_arrays,
)
from agents.solvers import solver
from hexenv import connect4_v0, hex_v0, tictactoe_v0
from hexenv.games import base


def simulations():
    return 2_000 if JIT else 200


def in_play(board, moves=0, seed=0, kind="raw_env"):
    """An environment after some random moves that do not end the game."""
    rng = np.random.default_rng(seed)
    while True:
        env = make(board, kind)
        env.reset()
        for _ in range(moves):
            if not any(env.terminations.values()):
                env.step(random_action(env, rng))
        if not any(env.terminations.values()):
            return env


def tree_of(agent, worker=0):
    return agent._workers[worker].tree


def nodes(tree):
    """All that is in use of a tree; of the root only what is its own."""
    count = int(tree.node_count[0])
    return {
        name: array[1 if name.startswith("extras") else 0 : count].copy()
        for name, array in node_arrays(tree).items()
    }


def assert_same_nodes(one, other):
    assert list(one) == list(other)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name, strict=True)


def assert_same_trees(one, other):
    assert_same_nodes(nodes(one), nodes(other))


# ---- proofs --------------------------------------------------------------------------------------

PROVABLE = [
    ("tictactoe", 2),
    ("connect4-4x5", 6),
    ("hex-3", 3),
    ("hex-3-swap", 3),
    pytest.param("gomoku-4", 6, marks=pytest.mark.slow),
]


def positions_of(game, root, tree):
    """Every visited node of a tree with its position, and who chose it."""
    waiting = [(ROOT, base.clone(game, root), 1 - game.to_play(root))]
    while waiting:
        node, state, chooser = waiting.pop()
        yield node, state, chooser
        for child in range(*children(tree, node).indices(len(tree.action))):
            if tree.visits[child] > 0:
                below = base.clone(game, state)
                game.step(below, int(tree.action[child]))
                waiting.append((child, below, game.to_play(state)))


@pytest.mark.compiled
@pytest.mark.parametrize(
    "options",
    [
        "uct",
        pytest.param("uct:solver=hard", marks=pytest.mark.slow),
        pytest.param("rave:solver=hard", marks=pytest.mark.slow),
        "uct:fpu=0.5",
    ],
)
@pytest.mark.parametrize(("board", "moves"), PROVABLE)
def test_what_a_tree_proves_is_so(board, moves, options):
    separator = "," if ":" in options else ":"
    known = {}
    for seed in range(3):
        env = in_play(board, moves, seed)
        agent = make_agent(f"{options}{separator}simulations={simulations()}", seed=seed)
        agent.act(env)
        tree, game = tree_of(agent), env.game
        proven = 0
        for node, state, chooser in positions_of(game, env.state, tree):
            if tree.proof[node] == UNPROVEN or game.is_terminal(state):
                continue
            key = game.position_hash(state)
            if key not in known:
                at = make(board)
                at.reset(options={"state": base.clone(game, state)})
                known[key] = solver.value(at) * (1 if game.to_play(state) == 0 else -1)
            assert tree.proof[node] == known[key] * (1 if chooser == 0 else -1)
            proven += 1
            if proven == 200:
                break
        assert proven > 0


@pytest.mark.parametrize("options", ["", ",solver=hard", ",workers=2", ",transpositions=on"])
def test_a_proven_root_ends_the_search_and_is_told(options):
    agent = make_agent(f"uct:simulations=100000{options}", seed=0)
    env = tictactoe_v0.raw_env()
    for moves, outcome in (("1 4 2 5", 1), ("1 2", 1), ("1 5 9", 0), ("1 9 3 2", 1), ("1 2 4", -1)):
        env.reset(options={"moves": moves})
        agent.reset()
        action = agent.act(env)
        assert agent.statistics.proven == outcome
        assert agent.statistics.simulations < 100_000
        assert agent.statistics.values[action] == outcome
        assert action in solver.best_actions(env)


def test_without_the_solver_nothing_is_proven():
    env = tictactoe_v0.raw_env()
    env.reset(options={"moves": "1 4 2 5"})
    agent = UCT(simulations=500, solver="off", seed=0)
    agent.act(env)
    assert agent.statistics.proven is None
    assert agent.statistics.simulations == 500
    assert (nodes(tree_of(agent))["proof"] == UNPROVEN).all()


def test_the_solvers_differ_in_what_they_select():
    env = connect4_v0.raw_env()
    env.reset(options={"moves": "4 4 5 5"})  # a threat of three at both ends
    lost = {}
    for kind in ("soft", "hard"):
        agent = UCT(simulations=1_500, solver=kind, seed=1)
        agent.act(env)
        tree = tree_of(agent)
        count = int(tree.node_count[0])
        parents = np.repeat(np.arange(count), tree.child_count[:count])
        assert len(parents) == count - 1
        lost[kind] = int(tree.visits[:count][tree.proof[:count] == -1].sum())
    assert 0 < lost["hard"] < lost["soft"]


@pytest.mark.parametrize(
    ("proofs", "outcome"),
    [
        ((UNPROVEN, UNPROVEN), UNPROVEN),
        ((UNPROVEN, 1), 1),
        ((-1, UNPROVEN), UNPROVEN),
        ((0, UNPROVEN), UNPROVEN),
        ((-1, -1), -1),
        ((-1, 0), 0),
        ((), UNPROVEN),
    ],
)
def test_a_node_is_as_good_as_its_best_child(proofs, outcome):
    tree = new_tree(3)
    tree.node_count[0] = 1 + len(proofs)
    tree.first_child[ROOT], tree.child_count[ROOT] = 1, len(proofs)
    tree.proof[1 : 1 + len(proofs)] = proofs
    assert proof_by_children(tree, UCT().variant, ROOT) == outcome


# ---- between moves -------------------------------------------------------------------------------

REUSING = ("uct", "rave", "grave", "ucb1-tuned", "history", "lgr", "mast", "uct:transpositions=on")


def by_paths(tree, node, depth=6):
    """What a tree knows below a node, by the actions that lead there."""
    arrays = {n: a for n, a in node_arrays(tree).items() if n != "first_child"}
    arrays = {n: a for n, a in arrays.items() if not n.endswith("parents")}
    found, waiting = {}, [((), node)]
    while waiting:
        path, at = waiting.pop()
        skip = () if path else ("action", "proof", *(n for n in arrays if n.startswith("extras")))
        found[path] = {n: array[at].tolist() for n, array in arrays.items() if n not in skip}
        if len(path) < depth:
            for child in range(*children(tree, at).indices(len(tree.action))):
                waiting.append(((*path, int(tree.action[child])), child))
    return found


@pytest.mark.parametrize("spec", [spec for spec in REUSING if "transpositions" not in spec])
@pytest.mark.parametrize("board", ["connect4", "hex-3-swap"])
def test_the_next_move_goes_on_with_the_subtree_that_was_played(spec, board, monkeypatch):
    env = in_play(board)
    separator = "," if ":" in spec else ":"
    agent = make_agent(f"{spec}{separator}simulations=400", seed=0)
    action = agent.act(env)
    tree = tree_of(agent)
    node = child_by_action(tree, ROOT, action)
    below = children(tree, node)
    reply = int(tree.action[below][np.argmax(tree.visits[below])])
    node = child_by_action(tree, node, reply)
    old = by_paths(tree, node)
    assert len(old) > 5
    env.step(action)
    env.step(reply)
    monkeypatch.setattr(agent, "_search", lambda runs, started, in_threads: 0)  # only look
    agent.act(env)
    assert by_paths(tree_of(agent), ROOT) == old
    monkeypatch.undo()
    agent.act(env)
    assert tree_of(agent).visits[ROOT] == old[()]["visits"] + agent.statistics.simulations


@pytest.mark.parametrize("spec", REUSING)
def test_without_reuse_or_after_a_reset_the_tree_is_new(spec):
    separator = "," if ":" in spec else ":"
    env = in_play("connect4")
    for options, again in ((",reuse=off", False), ("", True)):
        agent = make_agent(f"{spec}{separator}simulations=200{options}", seed=0)
        agent.act(env)
        if again:
            agent.act(env)
            assert tree_of(agent).visits[ROOT] == 401  # the same position: more of it
            agent.reset()
        agent.act(env)
        assert tree_of(agent).visits[ROOT] == 201


def test_after_a_reset_with_a_seed_an_agent_is_as_new():
    env = in_play("connect4")
    agent = UCT(simulations=300, seed=5)
    agent.act(env)
    first = nodes(tree_of(agent))
    agent.act(env)
    agent.reset(seed=5)
    agent.act(env)
    assert_same_nodes(nodes(tree_of(agent)), first)


def test_a_tree_of_another_game_or_line_is_not_reused():
    agent = UCT(simulations=200, seed=0)
    first, other = in_play("connect4"), in_play("connect4", 3, 1)
    agent.act(first)
    agent.act(other)
    assert tree_of(agent).visits[ROOT] == 201
    agent.act(first)  # a line that begins before the root
    assert tree_of(agent).visits[ROOT] == 201
    agent.act(in_play("connect4-4x5"))
    assert tree_of(agent).visits[ROOT] == 201


def test_the_subtree_is_all_that_is_kept():
    env = in_play("hex-3")
    agent = RAVE(simulations=500, seed=0)
    agent.act(env)
    source = tree_of(agent)
    tree = new_tree(len(source.action), agent.variant.selection.new_extras(len(source.action)))
    copy_nodes(source, tree)
    assert_same_trees(tree, source)
    node = int(np.argmax(tree.visits[children(tree, ROOT)])) + tree.first_child[ROOT]
    keep_subtree(tree, node)
    assert by_paths(tree, ROOT, 9) == by_paths(source, node, 9)
    assert tree.node_count[0] == len(by_paths(source, node, 9))
    count = int(tree.node_count[0])
    assert tree.child_count[:count].sum() == count - 1


def theirs(name):
    pytest.importorskip("pygame")
    env = importlib.import_module(f"pettingzoo.classic.{name}.{name}").env()
    env.reset()
    return env


def test_over_a_foreign_environment_the_tree_of_our_own_is_reused():
    agent = UCT(simulations=60, seed=0, playout="generic")
    ours, foreign = tictactoe_v0.raw_env(), theirs("tictactoe")
    ours.reset()
    grown = []
    for env in (ours, foreign):
        agent.reset(seed=3)
        action = agent.act(env)
        tree = tree_of(agent)
        below = children(tree, child_by_action(tree, ROOT, action))
        reply = int(tree.action[below][np.argmax(tree.visits[below])])
        kept = int(tree.visits[below].max())
        for played in (action, reply):
            env.step(played)
        agent.act(env)
        assert tree_of(agent).visits[ROOT] == kept + agent.statistics.simulations
        grown.append(nodes(tree_of(agent)))
    assert_same_nodes(*grown)


# ---- graphs --------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("spec", ["transposition:solver=off", "uct:transpositions=on,solver=off"])
@pytest.mark.parametrize(
    "board",
    [
        "tictactoe",
        *(pytest.param(b, marks=pytest.mark.slow) for b in ("hex-3", "connect4-4x5", "gomoku-4")),
    ],
)
def test_the_visits_and_means_of_a_graph_add_up(board, spec):
    env = in_play(board)
    agent = make_agent(f"{spec},simulations={simulations()}", seed=0)
    agent.act(env)
    tree, graph = agent._workers[0].tree, agent._workers[0].graph
    game, count = env.game, int(tree.node_count[0])
    met = {}
    waiting = [(ROOT, base.clone(game, env.state))]
    into = np.zeros(count, np.int64)
    while waiting:
        position, state = waiting.pop()
        if position in met:
            assert met[position] == game.position_hash(state)
            continue
        met[position] = game.position_hash(state)
        assert graph.mover[position] == game.to_play(state) or game.is_terminal(state)
        below = children(tree, position)
        ended = tree.visits[position] - tree.visits[below].sum()
        assert ended >= 1
        if game.is_terminal(state):
            assert tree.child_count[position] == 0
        elif position != ROOT and tree.child_count[position] > 0:
            assert ended == 1  # the playout with which it was first reached
        total = graph.own[position].copy()
        for edge in range(below.start, below.stop):
            if tree.visits[edge] > 0:
                target = int(graph.target[edge])
                into[target] += tree.visits[edge]
                total += tree.visits[edge] * graph.mean[target]
                after = base.clone(game, state)
                game.step(after, int(tree.action[edge]))
                waiting.append((target, after))
        if position == ROOT:  # it was brought up to date last
            assert graph.mean[position] * tree.visits[position] == pytest.approx(total)
    assert len(set(met.values())) == len(met)  # one node for each position
    into[ROOT] = tree.visits[ROOT]
    for position in met:
        assert into[position] == tree.visits[position]
    kinds = count - len(met)
    assert kinds == sum(int(tree.child_count[position]) for position in met)


@pytest.mark.compiled
def test_all_of_tictactoe_has_at_most_its_5478_positions():
    env = in_play("tictactoe")
    agent = UCT(
        simulations=20_000 if JIT else 500, transpositions=True, solver="off", c=2.0, seed=0
    )
    agent.act(env)
    tree = tree_of(agent)
    positions = int((tree.action[: tree.node_count[0]] == -1).sum())
    assert positions <= 5_478
    if JIT:
        assert positions > 3_000
        assert int(tree.node_count[0]) < 25_000


def test_a_graph_goes_on_after_a_move():
    env = in_play("connect4")
    agent = TranspositionMCTS(simulations=300, seed=0)
    action = agent.act(env)
    tree, graph = agent._workers[0].tree, agent._workers[0].graph
    node = graph.target[child_by_action(tree, ROOT, action)]
    before = int(tree.visits[node])
    env.step(action)
    below = children(tree, node)
    best = below.start + int(np.argmax(tree.visits[below]))
    reply, visits = int(tree.action[best]), int(tree.visits[graph.target[best]])
    env.step(reply)
    assert before > visits > 0
    agent.act(env)
    assert tree_of(agent).visits[ROOT] == visits + agent.statistics.simulations


@pytest.mark.parametrize(
    ("specs", "reason"),
    [
        (("quality", "quality:quality=discount", "distance"), "reward that counts no plies"),
        (("rave", "grave", "history"), "selection rule that keeps nothing"),
        (("uct:implicit_minimax=0.5",), "no implicit_minimax"),
    ],
)
def test_what_has_no_graph(specs, reason):
    for spec in specs:
        with pytest.raises(ValueError, match=reason):
            make_agent(f"{spec}{',' if ':' in spec else ':'}transpositions=on")


# ---- files ---------------------------------------------------------------------------------------

SAVED = ("uct", "rave", "grave", "history", "mast", "quality", "distance")


@pytest.mark.parametrize("spec", SAVED)
def test_a_tree_comes_back_from_its_file(spec, tmp_path):
    env = in_play("connect4", 2)
    path = tmp_path / "tree.npz"
    agent = make_agent(f"{spec}:simulations=300", seed=0)
    first = agent.act(env)
    agent.save(path)
    saved = tree_of(agent)
    assert os.listdir(tmp_path) == ["tree.npz"]
    other = make_agent(f"{spec}:simulations=1", seed=1)
    other.load(path)
    other._search = lambda runs, started, in_threads: 0  # only look
    chosen = other.act(env)
    assert_same_trees(tree_of(other), saved)
    del other._search
    other.reset()
    other.act(env)
    assert tree_of(other).visits[ROOT] == saved.visits[ROOT] + 1
    assert chosen == first


def test_a_loaded_tree_serves_in_the_positions_it_knows(tmp_path):
    path = tmp_path / "tree"
    agent = UCT(simulations=500, seed=0)
    env = in_play("connect4")
    action = agent.act(env)
    agent.save(path)
    visits = int(tree_of(agent).visits[child_by_action(tree_of(agent), ROOT, action)])

    other = UCT(simulations=10, seed=0)
    other.load(path)
    env.step(action)
    for _ in range(2):  # in every game
        other.act(env)
        assert tree_of(other).visits[ROOT] == visits + 10
        other.reset()
    deep = in_play("connect4", 12)
    other.act(deep)
    assert tree_of(other).visits[ROOT] == 11
    with pytest.raises(ValueError, match=r"tree: expected a tree of Connect4.*, got one"):
        other.act(in_play("connect4-4x5"))


def test_a_tree_of_two_workers_needs_two(tmp_path):
    path, env = tmp_path / "tree.npz", in_play("tictactoe")
    agent = UCT(simulations=100, workers=2, solver="off", seed=0)
    agent.act(env)
    agent.save(path)
    with pytest.raises(ValueError, match=r"tree.npz: expected the number of workers 1, got 2"):
        UCT(simulations=100, solver="off").load(path)
    other = UCT(simulations=100, workers=2, solver="off", seed=1)
    other.load(path)
    other._search = lambda runs, started, in_threads: 0
    other.act(env)
    for worker in range(2):
        assert_same_trees(tree_of(other, worker), tree_of(agent, worker))


def test_there_has_to_be_a_tree_that_can_be_saved(tmp_path):
    path, env = tmp_path / "tree.npz", in_play("tictactoe")
    with pytest.raises(ValueError, match="expected a tree to save, got an agent that has not"):
        UCT(simulations=10).save(path)
    agent = TranspositionMCTS(simulations=10)
    agent.act(env)
    with pytest.raises(ValueError, match="without transpositions"):
        agent.save(path)
    agent = UCT(simulations=10)
    agent.act(env)
    agent.save(path)
    agent.act(theirs("tictactoe"))
    with pytest.raises(ValueError, match="expected a tree of a search over a game of hexenv"):
        agent.save(path)


@pytest.fixture(scope="module")
def saved_tree(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "tree.npz"
    agent = UCT(simulations=50, seed=0)
    agent.act(in_play("tictactoe"))
    agent.save(path)
    return path


OTHERS = {
    "uct:c=0.5": "variant.selection.c 0.5, got 1.0",
    "uct:fpu=1.0": "variant.selection.fpu 1.0, got inf",
    "uct:solver=hard": "variant.solver.part HardSolver, got SoftSolver",
    "uct:playout=generic": "variant.playout.fast False, got True",
    "rave": "variant.selection.part Rave, got UCB1",
    "distance": "variant.selection.part DistanceUCB, got UCB1",
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_tree_of_another_search_is_refused(saved_tree, other):
    with pytest.raises(ValueError, match=rf"tree\.npz: expected the {re.escape(OTHERS[other])}"):
        make_agent(other).load(saved_tree)


def rewritten(path, into, **changed):
    """A copy of an archive with some arrays changed; without those that are None."""
    with np.load(path) as archive:
        arrays = {name: archive[name].copy() for name in archive.files} | changed
    np.savez(into, **{name: array for name, array in arrays.items() if array is not None})
    return into


def about(path, **changed):
    with np.load(path) as archive:
        words = json.loads(archive["about"].tobytes()) | changed
    return np.frombuffer(json.dumps(words).encode(), np.uint8)


def damage(path, array, index, value):
    with np.load(path) as archive:
        changed = archive[array].copy()
    changed[index] = value
    return {array: changed}


DAMAGE = {
    "no visits": lambda path: {"0.visits": None},
    "no words": lambda path: {"about": None},
    "words that are none": lambda path: {"about": np.zeros(3, np.uint8)},
    "fewer visits": lambda path: {"0.visits": np.zeros(1, np.int32)},
    "other numbers": lambda path: damage(path, "0.value", slice(None), np.nan),
    "a child before its parent": lambda path: damage(path, "0.first_child", 0, 0),
    "a child too many": lambda path: damage(path, "0.child_count", 0, 10_000),
    "children below none": lambda path: damage(path, "0.child_count", 1, -1),
    "a child twice": lambda path: damage(path, "0.first_child", 0, 2),
    "a negative count": lambda path: damage(path, "0.visits", 3, -1),
    "no such proof": lambda path: damage(path, "0.proof", 3, 7),
    "more trees than there are": lambda path: {"about": about(path, trees=2)},
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_tree_is_named(saved_tree, tmp_path, kind):
    path = rewritten(saved_tree, tmp_path / "bad.npz", **DAMAGE[kind](saved_tree))
    with pytest.raises(ValueError, match=r"bad\.npz"):
        UCT().load(path)


UNPLAYABLE = {
    "no action of the game": lambda path: damage(path, "0.action", 3, 1_000),
    "an action twice": lambda path: damage(path, "0.action", slice(2, 4), 4),
    "no position": lambda path: {"position": np.zeros(7, np.uint8)},
    "a child too few": lambda path: without_last_child(path),
}


def without_last_child(path):
    """The archive's last node is gone, and its parent knows."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files if name.startswith("0.")}
    counts = arrays["0.child_count"].copy()
    counts[np.argmax(arrays["0.first_child"] * (counts > 0))] -= 1
    return {name: array[:-1] for name, array in (arrays | {"0.child_count": counts}).items()}


@pytest.mark.parametrize("kind", UNPLAYABLE)
def test_a_tree_that_breaks_the_rules_is_named_before_it_is_used(saved_tree, tmp_path, kind):
    path = rewritten(saved_tree, tmp_path / "bad.npz", **UNPLAYABLE[kind](saved_tree))
    agent, env = UCT(simulations=50), in_play("tictactoe")
    agent.load(path)
    with pytest.raises(ValueError, match=r"bad\.npz: expected"):
        agent.act(env)
    assert UCT(simulations=50).act(env) in range(9)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"version": VERSION + 1}, f"expected the version {VERSION}, got {VERSION + 1}"),
        ({"format": "something"}, "expected the format hexenv-tree, got something"),
    ],
)
def test_another_version_is_named(saved_tree, tmp_path, changed, said):
    path = rewritten(saved_tree, tmp_path / "bad.npz", about=about(saved_tree, **changed))
    with pytest.raises(ValueError, match=said):
        UCT().load(path)


def test_what_is_no_tree_at_all_is_named(saved_tree, tmp_path):
    whole = saved_tree.read_bytes()
    path = tmp_path / "bad.npz"
    for content in (
        b"",
        b"hello",
        whole[: len(whole) // 2],
        whole[:-30],
        whole[:100] + whole[110:],
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"bad\.npz"):
            UCT().load(path)
    np.savez(path, about=np.array([{}], object))
    with pytest.raises(ValueError, match=r"bad\.npz"):
        UCT().load(path)
    with pytest.raises(FileNotFoundError):
        UCT().load(tmp_path / "none.npz")
    assert zipfile.is_zipfile(saved_tree)


def test_a_tree_whose_writing_fails_leaves_the_old_one(saved_tree, tmp_path, monkeypatch):
    path = tmp_path / "tree.npz"
    path.write_bytes(saved_tree.read_bytes())
    agent = UCT(simulations=50, seed=1)
    agent.act(in_play("tictactoe"))

    def no_space(file, **arrays):
        file.write(b"x")
        raise OSError(28, "no space left on device")

    monkeypatch.setattr(np, "savez_compressed", no_space)
    with pytest.raises(OSError, match="no space left"):
        agent.save(path)
    assert path.read_bytes() == saved_tree.read_bytes()
    assert os.listdir(tmp_path) == ["tree.npz"]
    with pytest.raises(OSError, match="none"):
        agent.save(tmp_path / "none" / "tree.npz")


# ---- workers, early stops ------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["uct", "rave", "mast", "transposition"])
def test_workers_give_one_result_for_one_seed(spec):
    env = in_play("connect4")
    seen = []
    for _ in range(2):
        agent = make_agent(f"{spec}:simulations=301,workers=3", seed=4)
        action = agent.act(env)
        roots = [int(tree_of(agent, worker).visits[ROOT]) - 1 for worker in range(3)]
        assert roots == [100, 100, 101]
        visits = agent.statistics.visits
        assert visits.sum() == 301
        assert action == visits.argmax()
        for worker in range(3):
            tree = tree_of(agent, worker)
            below = children(tree, ROOT)
            visits = visits - np.bincount(tree.action[below], tree.visits[below], len(visits))
        assert not visits.any()
        seen.append((action, [nodes(tree_of(agent, worker)) for worker in range(3)]))
    assert seen[0][0] == seen[1][0]
    for one, other in zip(seen[0][1], seen[1][1], strict=True):
        assert_same_nodes(one, other)
    assert any((seen[0][1][0][n][:50] != seen[0][1][1][n][:50]).any() for n in ("action", "visits"))


@pytest.mark.compiled
def test_workers_in_turn_are_workers_on_threads():
    trees = []
    for route in ("compiled", "interpreted") if JIT else ("interpreted",) * 2:
        agent = UCT(simulations=90, workers=2, route=route, seed=0)
        agent.act(in_play("connect4"))
        trees.append([nodes(tree_of(agent, worker)) for worker in range(2)])
    for one, other in zip(*trees, strict=True):
        assert_same_nodes(one, other)


@pytest.mark.parametrize(
    ("visits", "left", "decided"),
    [((10, 4), 5, True), ((10, 4), 6, False), ((3, 3), 0, False), ((1,), 100, True)],
)
def test_a_choice_is_decided_when_nothing_can_overtake_it(visits, left, decided):
    tree = new_tree(4)
    tree.first_child[ROOT], tree.child_count[ROOT] = 1, len(visits)
    tree.visits[1 : 1 + len(visits)] = visits
    assert is_decided(tree, left) is decided


def test_a_proven_loss_decides_nothing():
    tree = new_tree(5)
    tree.first_child[ROOT], tree.child_count[ROOT] = 1, 4
    tree.visits[1:5] = (500, 101, 100, 99)
    tree.proof[1:5] = (-1, UNPROVEN, UNPROVEN, UNPROVEN)
    assert not is_decided(tree, 300)
    assert is_decided(tree, 0)
    tree.proof[1:5] = -1
    assert is_decided(tree, 300)


@pytest.mark.parametrize(
    "options", [{"workers": 2}, {"final_move": "value"}, {"final_move": "lcb"}]
)
def test_an_early_stop_is_for_the_visits_of_one_tree(options):
    with pytest.raises(ValueError, match="expected early_stop with one worker and final_move"):
        UCT(early_stop=True, **options)


@pytest.mark.compiled
@pytest.mark.parametrize("moves", [0, 4, 7, 10])
def test_an_early_stop_saves_simulations_and_changes_nothing(moves):
    env = in_play("connect4", moves, seed=2)
    choices, ran = [], []
    for early_stop in (False, True):
        agent = UCT(simulations=3_200 if JIT else 320, early_stop=early_stop, c=0.2, seed=0)
        choices.append(agent.act(env))
        ran.append(agent.statistics.simulations)
    assert choices[0] == choices[1]
    assert ran[1] <= ran[0]


def test_an_early_stop_ends_what_is_decided():
    env = connect4_v0.raw_env()
    env.reset(options={"moves": "4 1 4 1 4"})  # all but one reply lose at once
    agent = UCT(simulations=3_200, early_stop=True, solver="off", c=0.2, seed=0)
    assert agent.act(env) == 3
    assert 1_000 < agent.statistics.simulations < 3_200


def test_with_one_move_there_is_nothing_to_search_for():
    env = tictactoe_v0.raw_env()
    env.reset(options={"moves": "1 5 9 4 6 3 7 8"})
    agent = UCT(simulations=500, early_stop=True, solver="off", seed=0)
    agent.act(env)
    assert agent.statistics.simulations == 1


def test_flat_search_shares_its_simulations_evenly():
    env = hex_v0.raw_env(board_size=3)
    env.reset()
    agent = FlatMonteCarlo(simulations=9 * 40, seed=0)
    agent.act(env)
    assert (agent.statistics.visits == 40).all()
    assert tree_of(agent).node_count[0] == 10


# ---- watched -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        "uct:simulations=2000",
        "transposition:simulations=2000",
        "uct:simulations=2000,workers=2",
        pytest.param("nrpa:simulations=2000", marks=pytest.mark.slow),
    ],
)
def test_watching_a_search_changes_nothing(spec):
    env = in_play("hex-5")
    plain, watched = make_agent(spec, 3), make_agent(spec, 3)
    seen = []
    watched.on_slice = lambda found: seen.append(found())
    assert watched.act(env) == plain.act(env)
    assert (watched.statistics.visits == plain.statistics.visits).all()
    counts = [found.simulations for found in seen]
    assert counts == sorted(set(counts))
    assert seen[-1].principal_variation
    if "workers" not in spec:
        assert counts[-1] == 2000
        assert (seen[-1].visits == plain.statistics.visits).all()


def led_by_a_network():
    return make_agent("alphazero:net=tictactoe,simulations=200", 3)


def led_by_a_function():
    even = PolicyAgent(lambda planes, masks: (np.zeros(masks.shape), None))
    return PUCTAgent(even, 200, seed=3)


@pytest.mark.parametrize("make", [led_by_a_network, led_by_a_function])
def test_watching_a_search_by_a_policy_changes_nothing(make):
    if make is led_by_a_network:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    env = in_play("tictactoe")
    plain, watched = make(), make()
    seen = []
    watched.on_slice = lambda found: seen.append(found().simulations)
    for _ in range(3):
        action = plain.act(env)
        assert watched.act(env) == action
        assert (watched.statistics.visits == plain.statistics.visits).all()
        assert (watched.statistics.values == plain.statistics.values).all()
        env.step(action)
    assert len(seen) > 6  # in several slices each


@pytest.mark.compiled
def test_a_watcher_may_end_the_search():
    class EnoughError(Exception):
        pass

    def stop(found):
        raise EnoughError

    env = in_play("hex-5")
    agent = make_agent("uct:simulations=100000", 3)
    agent.on_slice = stop
    with pytest.raises(EnoughError):
        agent.act(env)
    agent.on_slice = None
    agent.reset(3)
    fresh = make_agent("uct:simulations=100000", 3)
    assert agent.act(env) == fresh.act(env)
    assert (agent.statistics.visits == fresh.statistics.visits).all()
