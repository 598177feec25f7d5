"""The trees of an agent: what they prove, between moves, as graphs, in files, on threads."""

import os
import zipfile

import numpy as np
import pytest
from archives import about, rewritten
from environments import JIT, make, played, random_action, theirs
from grown_trees import (
    assert_same_nodes,
    nodes,
    nodes_after,
    positions_of,
    tree_of,
    with_options,
)

from agents import RAVE, UCT, FlatMonteCarlo, PUCTAgent, TranspositionMCTS
from agents.mcts.saved_trees import FORMAT
from agents.policies.policy import PolicyAgent
from agents.registry import make_agent
from agents.search.roots import is_decided
from agents.search.tree import (
    MORE_TO_COME,
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
from hexenv import connect4_v0, tictactoe_v0
from hexenv.games import base


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


# ---- proofs --------------------------------------------------------------------------------------

PROVABLE = [("tictactoe", 2), ("connect4-4x5", 6), ("hex-3", 3), ("hex-3-swap", 3)]


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
@pytest.mark.parametrize(
    ("board", "moves"),
    [
        pytest.param(
            *each, marks=[pytest.mark.slow] if each[0] not in ("tictactoe", "connect4-4x5") else []
        )
        for each in (*PROVABLE, ("gomoku-4", 6))
    ],
)
def test_what_a_tree_proves_is_so(board, moves, options):
    known = {}
    for seed in range(3):
        env = in_play(board, moves, seed)
        simulations = 2_000 if JIT else 200
        agent = make_agent(with_options(options, f"simulations={simulations}"), seed=seed)
        agent.act(env)
        tree, game = tree_of(agent), env.game
        proven = 0
        for node, state in positions_of(game, env.state, tree):
            if tree.proof[node] == UNPROVEN or game.is_terminal(state):
                continue
            key = game.position_hash(state)
            if key not in known:
                at = make(board)
                at.reset(options={"state": base.clone(game, state)})
                known[key] = solver.value(at) * (1 if game.to_play(state) == 0 else -1)
            assert tree.proof[node] == known[key] * (1 if game.to_play(state) == 1 else -1)
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


def test_the_solvers_differ_in_what_they_select():
    env = connect4_v0.raw_env()
    env.reset(options={"moves": "4 4 5 5"})  # a threat of three at both ends
    lost = {}
    for kind in ("off", "soft", "hard"):
        agent = UCT(simulations=1_500, solver=kind, seed=1)
        found = nodes_after(agent, env)
        lost[kind] = int(found["visits"][found["proof"] == -1].sum())
        if kind == "off":
            assert (agent.statistics.simulations, agent.statistics.proven) == (1_500, None)
            assert (found["proof"] == UNPROVEN).all()
    assert lost["off"] == 0 < lost["hard"] < lost["soft"]


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
@pytest.mark.parametrize("board", ["connect4", "hex-3-swap", "hex-5"])
def test_the_next_move_goes_on_with_the_subtree_that_was_played(spec, board, monkeypatch):
    env = in_play(board)
    agent = make_agent(f"{spec}:simulations={1_500 if board == 'hex-5' else 250}", seed=0)
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
    monkeypatch.setattr(agent, "_search", lambda runs, started: 0)  # only look
    agent.act(env)
    assert by_paths(tree_of(agent), ROOT) == old
    monkeypatch.undo()
    agent.act(env)
    assert tree_of(agent).visits[ROOT] == old[()]["visits"] + agent.statistics.simulations


@pytest.mark.parametrize("spec", REUSING)
def test_without_reuse_or_after_a_reset_the_tree_is_new(spec):
    env = in_play("connect4")
    for options, again in ((",reuse=off", False), ("", True)):
        agent = make_agent(with_options(spec, f"simulations=80{options}"), seed=0)
        first = nodes_after(agent, env)
        if again:
            agent.act(env)
            assert tree_of(agent).visits[ROOT] == 161  # the same position: more of it
            agent.reset(seed=0)
            assert_same_nodes(nodes_after(agent, env), first)
            agent.reset()
        agent.act(env)
        assert tree_of(agent).visits[ROOT] == 81


def test_a_tree_of_another_game_or_line_is_not_reused():
    agent = UCT(simulations=200, seed=0)
    first, other = in_play("connect4"), in_play("connect4", 3, 1)
    for env in (first, other, first, in_play("connect4-4x5")):  # the second begins before the root
        agent.act(env)
        assert tree_of(agent).visits[ROOT] == 201


def test_the_subtree_is_all_that_is_kept():
    env = in_play("hex-3")
    agent = RAVE(simulations=500, seed=0)
    agent.act(env)
    source = tree_of(agent)
    tree = new_tree(len(source.action), agent.variant.selection.new_extras(len(source.action)))
    copy_nodes(source, tree)
    assert_same_nodes(nodes(tree), nodes(source))
    node = int(np.argmax(tree.visits[children(tree, ROOT)])) + tree.first_child[ROOT]
    keep_subtree(tree, node)
    assert by_paths(tree, ROOT, 9) == by_paths(source, node, 9)
    assert tree.node_count[0] == len(by_paths(source, node, 9))
    count = int(tree.node_count[0])
    assert tree.child_count[:count].sum() == count - 1


def test_over_a_foreign_environment_the_tree_of_our_own_is_reused():
    agent = UCT(simulations=60, seed=0, playout="generic")
    ours, foreign = played(tictactoe_v0.raw_env()), played(theirs("tictactoe").env())
    grown = []
    for env in (ours, foreign):
        agent.reset(seed=3)
        action = agent.act(env)
        tree = tree_of(agent)
        below = children(tree, child_by_action(tree, ROOT, action))
        reply = int(tree.action[below][np.argmax(tree.visits[below])])
        kept = int(tree.visits[below].max())
        for ply in (action, reply):
            env.step(ply)
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
    agent = make_agent(f"{spec},simulations={2_000 if JIT else 200}", seed=0)
    agent.act(env)
    tree, graph = agent.planner.workers[0].tree, agent.planner.workers[0].graph
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


def test_a_graph_goes_on_after_a_move():
    env = in_play("connect4")
    agent = TranspositionMCTS(simulations=300, seed=0)
    action = agent.act(env)
    tree, graph = agent.planner.workers[0].tree, agent.planner.workers[0].graph
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
    ("spec", "reason"),
    [("quality", "reward"), ("quality:quality=discount", "reward"), ("distance", "reward"),
     ("rave", "selection rule"), ("grave", "selection rule"), ("history", "selection rule"),
     ("uct:implicit_minimax=0.5", "no implicit_minimax")],
)  # fmt: skip
def test_what_has_no_graph(spec, reason):
    with pytest.raises(ValueError, match=reason):
        make_agent(with_options(spec, "transpositions=on"))


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
    other._search = lambda runs, started: 0  # only look
    chosen = other.act(env)
    assert by_paths(tree_of(other), ROOT) == by_paths(saved, ROOT)
    del other._search
    other.reset()
    other.act(env)
    assert tree_of(other).visits[ROOT] == saved.visits[ROOT] + 1
    assert chosen == first


@pytest.mark.parametrize("spec", ["uct", "ucb1-tuned", "history"])
def test_a_tree_with_children_to_come_goes_on_from_its_file(spec, tmp_path):
    env, path = in_play("hex-5"), tmp_path / "tree.npz"
    agent = make_agent(f"{spec}:simulations=300", seed=0)
    agent.act(env)
    tree = tree_of(agent)
    assert (tree.first_child[: tree.node_count[0]] == MORE_TO_COME).any()
    agent.save(path)
    other = make_agent(f"{spec}:simulations=500", seed=1)
    other.load(path)
    other.act(env)
    assert tree_of(other).visits[ROOT] == 801
    to_come = np.flatnonzero(nodes(other.planner._saved.trees[0])["first_child"] == MORE_TO_COME)
    with pytest.raises(ValueError, match=r"bad\.npz"):
        UCT().load(rewritten(path, tmp_path / "bad.npz", **damage(path, "0.visits", to_come[0], 1)))


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
    with pytest.raises(ValueError, match=r"tree\.npz.*trees 1, got 2"):
        UCT(simulations=100, solver="off").load(path)
    other = UCT(simulations=100, workers=2, solver="off", seed=1)
    other.load(path)
    other._search = lambda runs, started: 0
    other.act(env)
    for worker in range(2):
        assert by_paths(tree_of(other, worker), ROOT) == by_paths(tree_of(agent, worker), ROOT)


def test_there_has_to_be_a_tree_that_can_be_saved(tmp_path):
    path, env = tmp_path / "tree.npz", in_play("tictactoe")
    agent, of_graphs = UCT(simulations=10), TranspositionMCTS(simulations=10)
    with pytest.raises(ValueError, match="has not searched"):
        agent.save(path)
    of_graphs.act(env)
    for use in (of_graphs.save, of_graphs.load):
        with pytest.raises(ValueError, match="transpositions"):
            use(path)
    agent.act(env)
    agent.save(path)
    agent.act(played(theirs("tictactoe").env()))
    with pytest.raises(ValueError, match="game of hexenv"):
        agent.save(path)


@pytest.fixture(scope="module")
def saved_tree(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "tree.npz"
    agent = UCT(simulations=50, seed=0)
    agent.act(in_play("tictactoe"))
    agent.save(path)
    return path


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        ("uct:c=0.5", "selection.c 0.5, got 1.0"), ("uct:fpu=1.0", "selection.fpu 1.0, got inf"),
        ("uct:solver=hard", "solver.part HardSolver, got SoftSolver"),
        ("uct:playout=generic", "playout.fast False, got True"),
        ("rave", "selection.part Rave, got UCB1"),
    ],
)  # fmt: skip
def test_a_tree_of_another_search_is_refused(saved_tree, other, differs):
    with pytest.raises(ValueError, match=rf"tree\.npz: expected the variant\.{differs}"):
        make_agent(other).load(saved_tree)


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
    "another version": lambda path: {"about": about(path, version=FORMAT.version + 1)},
    "another format": lambda path: {"about": about(path, format="something")},
    # What only the rules of the game tell:
    "no action of the game": lambda path: damage(path, "0.action", 3, 1_000),
    "an action twice": lambda path: damage(path, "0.action", slice(2, 4), 4),
    "no position": lambda path: {"position": np.zeros(7, np.uint8)},
    "a child too few": lambda path: without_last_child(path),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_tree_is_named(saved_tree, tmp_path, kind):
    path = rewritten(saved_tree, tmp_path / "bad.npz", **DAMAGE[kind](saved_tree))
    agent, env = UCT(simulations=50), in_play("tictactoe")

    def use():
        agent.load(path)
        agent.act(env)

    with pytest.raises(ValueError, match=r"bad\.npz"):
        use()
    assert agent.statistics is None


def without_last_child(path):
    """The archive's last node is gone, and its parent knows."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files if name.startswith("0.")}
    counts = arrays["0.child_count"].copy()
    counts[np.argmax(arrays["0.first_child"] * (counts > 0))] -= 1
    return {name: array[:-1] for name, array in (arrays | {"0.child_count": counts}).items()}


def test_what_is_no_tree_at_all_is_named(saved_tree, tmp_path):
    whole = saved_tree.read_bytes()
    path = tmp_path / "bad.npz"
    half = whole[: len(whole) // 2]
    for content in (b"", b"hello", half, whole[:-30], whole[:100] + whole[110:]):
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
    [((10, 4), 5, True), ((10, 4), 6, False), ((3, 3), 0, False), ((1,), 100, True),
     ((-500, 101, 100, 99), 300, False), ((-500, 101, 100, 99), 0, True), ((-9, -8), 300, True)],
)  # fmt: skip
def test_a_choice_is_decided_when_nothing_can_overtake_it(visits, left, decided):
    """Those of children that are proven losses are below 0 here."""
    tree = new_tree(5)
    tree.first_child[ROOT], tree.child_count[ROOT] = 1, len(visits)
    tree.visits[1 : 1 + len(visits)] = np.abs(visits)
    tree.proof[1 : 1 + len(visits)] = np.where(np.array(visits) < 0, -1, UNPROVEN)
    assert is_decided(tree, left) is decided


@pytest.mark.parametrize(
    "options", [{"workers": 2}, {"final_move": "value"}, {"final_move": "lcb"}]
)
def test_an_early_stop_is_for_the_visits_of_one_tree(options):
    with pytest.raises(ValueError, match="early_stop"):
        UCT(early_stop=True, **options)


@pytest.mark.parametrize(
    ("module", "moves", "least", "most"),
    [
        (connect4_v0, "4 1 4 1 4", 100, 900),  # all but one reply lose at once
        (tictactoe_v0, "1 5 9 4 6 3 7 8", 1, 1),  # one move is left
        (connect4_v0, "", 0, 1_000),
    ],
)
def test_an_early_stop_saves_simulations_and_changes_nothing(module, moves, least, most):
    env = module.raw_env()
    env.reset(options={"moves": moves})
    whole, stopped = (
        UCT(1_000, early_stop=early, solver="off", c=0.2, seed=0) for early in (False, True)
    )
    assert whole.act(env) == stopped.act(env)
    assert whole.statistics.simulations == 1_000
    assert least <= stopped.statistics.simulations <= most


def test_flat_search_shares_its_simulations_evenly():
    agent = FlatMonteCarlo(simulations=9 * 40, seed=0)
    assert nodes_after(agent, in_play("hex-3"))["visits"].tolist() == [361] + 9 * [40]


# ---- watched -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        "uct:simulations=200", "transposition:simulations=200", "uct:simulations=200,workers=2",
        "alphazero:net=tictactoe,simulations=200", "puct",
        pytest.param("nrpa:simulations=2000", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_watching_a_search_changes_nothing(spec):
    if "alphazero" in spec:
        pytest.importorskip("torch", reason="PyTorch is not installed")
    even = PolicyAgent(lambda planes, masks: (np.zeros(masks.shape), None))
    plain, watched = (
        PUCTAgent(even, 200, seed=3) if spec == "puct" else make_agent(spec, 3) for _ in range(2)
    )
    env = in_play("tictactoe" if "tictactoe" in spec else "hex-5")
    for _ in range(2):
        seen = []
        watched.on_slice = lambda found, seen=seen: seen.append(found())
        action = plain.act(env)
        assert watched.act(env) == action
        assert (watched.statistics.visits == plain.statistics.visits).all()
        assert (watched.statistics.values == plain.statistics.values).all()
        counts = [found.simulations for found in seen]
        assert counts == sorted(set(counts))
        assert len(counts) > 1
        assert seen[-1].principal_variation
        if "workers" not in spec:
            assert (seen[-1].visits == plain.statistics.visits).all()
        env.step(action)


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
