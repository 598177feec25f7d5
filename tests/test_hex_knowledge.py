"""What a tree search knows of Hex: nothing false is proven in its tree, and no win is left out."""

import zlib
from typing import Any, NamedTuple

import numpy as np
import pytest
from grown_trees import assert_same_nodes, below, nodes_after
from grown_trees import tree_of as grown
from hex_oracles import after, as_bits, brute_force, exact_winner, random_position

from agents import (
    RAVE,
    RHMCTS,
    UCT,
    ANETRolloutMCTS,
    GumbelAgent,
    Hexpert,
    PolicyAgent,
    PUCTAgent,
    RandomAgent,
)
from agents.core.knowledge import knowledge_of
from agents.knowledge.hex.h_search import connect, empty_cells, new_grid
from agents.knowledge.hex.known import HexParts, with_knowledge
from agents.knowledge.hex.shortest import stones_needed
from agents.mcts.gumbel import Gumbel
from agents.mcts.puct import PUCT
from agents.planning.view import planner_view
from agents.registry import make_agent
from agents.search.children import add_children
from agents.search.evaluated import EvaluatedSearch, new_trees, tree_of
from agents.search.knowledge import all_covered, list_legal
from agents.search.playout import Uniform
from agents.search.proofs import SOLVERS
from agents.search.reward import WinLoss
from agents.search.tree import (
    ROOT,
    UNPROVEN,
    add_node,
    child_by_action,
    children,
    new_tree,
)
from agents.search.variant import Variant, with_memory
from agents.solvers import solver
from hexenv import hex_v0, tictactoe_v0
from hexenv.games import base, hex, notation
from hexenv.games.base import EMPTY

needs_compiler = pytest.mark.compiled(only=True)
BOTH = "inferior+connections"


def test_positions_seen_before_change_nothing():
    """One memory for many positions of a board, and a new one for each."""
    rng, game = np.random.default_rng(6), hex.Hex(5, 7)
    kept = HexParts(True, True, 1).with_memory(game)
    for _ in range(20):
        state = after(game, rng.permutation(35)[: rng.integers(14)])
        found = []
        for parts in (kept, HexParts(True, True, 1).with_memory(game)):
            out = np.zeros(35, np.int32)
            count = parts.list_actions(game, state, rng, out)
            found.append([*out[:count], -1, *parts.owners, -1, *parts.numbers])
        assert found[0] == found[1]


def children_of(game, state, actions, winner):
    """Each of some actions, with the position after it and who wins that."""
    for action in actions:
        child = base.clone(game, state)
        game.step(child, int(action))
        over = int(child.winner)
        yield child, over if over >= 0 else winner(*as_bits(game, child), 1 - game.to_play(state))


def check_tree(agent, env, winner):
    """Every proof is true, and a won node has a winning child; returns the numbers of both."""
    tree, game = grown(agent), env.unwrapped.game
    proofs, wins = 0, 0
    waiting = [(ROOT, env.unwrapped.state)]
    while waiting:
        node, state = waiting.pop()
        own = below(tree, node)
        if not own:
            continue
        mover = game.to_play(state)
        best = winner(*as_bits(game, state), mover)
        has_win = False
        actions = tree.action[children(tree, node)]
        found = children_of(game, state, actions, winner)
        for child, (reached, won_by) in zip(own, found, strict=True):
            has_win |= won_by == mover
            if tree.proof[child] != UNPROVEN:
                assert tree.proof[child] == (1 if won_by == mover else -1)
                proofs += 1
            if reached.winner < 0:
                waiting.append((child, reached))
        is_partial = tree.first_child[own[-1]] == -1
        if best == mover and not is_partial:
            assert has_win
            wins += 1
    return proofs, wins


@pytest.mark.parametrize(
    ("size", "stones", "spec", "count"),
    [
        (3, 1, "hexpert:simulations=60,knowledge_at=2", 2),
        (3, 2, "uct:simulations=60,knowledge_at=4,knowledge=connections", 2),
        (4, 8, "hexpert:simulations=60,knowledge_at=3,solver=soft", 3),
        pytest.param(5, 6, "hexpert:simulations=1000,knowledge_at=8", 8, marks=needs_compiler),
        *(
            pytest.param(*each, marks=[needs_compiler, pytest.mark.slow])
            for each in [
                (5, 5, "hexpert:simulations=1000,knowledge_at=1", 10),
                (6, 12, "hexpert:simulations=1000,knowledge_at=8,knowledge=all", 10),
                (6, 12, "hexpert:simulations=1000,knowledge_at=16", 10),
                (5, 4, "uct:simulations=1000,knowledge_at=6,knowledge=inferior+connections", 8),
                (6, 12, "uct:simulations=1000,knowledge=connections,knowledge_at=5", 8),
                (5, 4, "rave:simulations=1000,solver=hard,knowledge=inferior", 8),
            ]
        ),
    ],
)
def test_all_that_is_proven_in_the_tree_is_true(size, stones, spec, count):
    check_trees(size, stones, lambda seed: make_agent(spec, seed=seed), count, 1)


def check_trees(size, stones, new_agent, count, seed):
    """`check_tree` of agents in random positions."""
    rng, found = np.random.default_rng(seed), np.zeros(2, int)
    winner = brute_force(size, size) if size < 5 else exact_winner(size)
    for seed in range(count):
        env, agent = random_position(size, stones, rng), new_agent(seed)
        agent.act(env)
        found += check_tree(agent, env, winner)
        tree = grown(agent)
        pending = getattr(tree.extras, "pending", np.zeros(1))
        assert not pending[: tree.node_count[0]].any()
    assert found.min() > 0


def test_plays_a_connection_at_once():
    """The H-search knows the winner of the centre of 4x4, and of the reply."""
    env = hex_v0.env(board_size=4)
    env.reset(options={"moves": "b3 a1"})
    agent = Hexpert(simulations=50, seed=1)
    agent.act(env)
    assert agent.statistics.proven == 1
    assert agent.statistics.simulations == 0
    lost = hex_v0.env(board_size=4)
    lost.reset(options={"moves": "b3"})
    Hexpert(simulations=20, seed=1).act(lost)  # it goes on, as well as it can
    agent = Hexpert(simulations=20, seed=1, knowledge=None)
    agent.act(env)
    assert agent.statistics.simulations == 20


@pytest.mark.compiled
def test_goes_on_with_its_tree_from_move_to_move():
    env, agent = hex_v0.env(board_size=5), Hexpert(simulations=300, knowledge_at=8, seed=2)
    env.reset()
    rng = np.random.default_rng(3)
    while not any(env.terminations.values()):
        action = agent.act(env)
        assert env.observe(env.agent_selection)["action_mask"][action] == 1
        env.step(action)
        if not any(env.terminations.values()):
            mask = env.observe(env.agent_selection)["action_mask"]
            env.step(int(rng.choice(np.flatnonzero(mask))))
    assert env.rewards["player_0"] == 1  # whoever begins wins, and it beats a random player


@pytest.mark.parametrize("moves", ["", "a2"])
def test_knows_nothing_while_the_first_stone_may_be_taken_over(moves):
    env = hex_v0.env(board_size=3, swap=True)
    env.reset(options={"moves": moves})
    trees = []
    for knowledge in (None, BOTH):
        agent = RAVE(simulations=2, knowledge=knowledge, seed=4)
        agent.act(env)
        tree = grown(agent)
        trees.append(tree.action[children(tree, ROOT)].tolist())
        assert (tree.proof[children(tree, ROOT)] == UNPROVEN).all()
        assert agent.statistics.simulations == 2
    assert trees[0] == trees[1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RAVE(knowledge="inferior", solver="off"), 'solver "off"'),
        (lambda: UCT(knowledge="inferior", transpositions=True), "another search"),
        (lambda: led(PUCTAgent, knowledge="inferior", solver="off"), 'solver "off"'),
        (lambda: led(Curious, knowledge="inferior"), "another search"),
        (lambda: RHMCTS(knowledge="inferior"), "has its own"),
        (lambda: RAVE(knowledge_at=0), "knowledge_at"),
    ],
)
def test_refuses_what_does_not_go_together(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_refuses_other_games_boards_and_parts():
    env = tictactoe_v0.env()
    env.reset()
    with pytest.raises(ValueError, match="expected a game of hex, for knowledge"):
        Hexpert(simulations=2).act(env)
    env = hex_v0.env(board_size=14)
    env.reset()
    with pytest.raises(ValueError, match="169 cells"):
        Hexpert(simulations=2).act(env)
    env = hex_v0.env(board_size=3)
    env.reset()
    with pytest.raises(ValueError, match=r"inferior, connections, priors.*mean connections\?"):
        RAVE(simulations=2, knowledge="inferior+conections").act(env)
    with pytest.raises(ValueError, match=r"an evaluator gives the priors, got 'inferior\+priors'"):
        led(PUCTAgent, 2, knowledge="inferior+priors").act(env)


# ---- searches with an evaluator ------------------------------------------------------------------


def judged(planes, masks):
    """Judges what it sees at random, but always alike."""
    logits, values = np.zeros(masks.shape), np.zeros(len(masks))
    for row, seen in enumerate(planes):
        rng = np.random.default_rng(zlib.crc32(np.ascontiguousarray(seen, np.int8).tobytes()))
        logits[row], values[row] = rng.normal(size=masks.shape[1]), rng.uniform(-0.8, 0.8)
    return logits, values


def led(kind, *arguments, **options):
    """A search that is led by such a policy."""
    return kind(PolicyAgent(judged), *arguments, **options)


class Curious(PUCTAgent):
    """Its search is its own."""

    def worker_class(self):
        return type("Own", (super().worker_class(),), {"asks_knowledge": False})


@pytest.mark.parametrize(
    ("size", "stones", "kind", "options", "count"),
    [
        (4, 7, PUCTAgent, {"knowledge_at": 1}, 3),
        (4, 6, PUCTAgent, {"knowledge_at": 2, "batch": 6, "solver": "hard"}, 3),
        (4, 7, GumbelAgent, {"knowledge_at": 2, "solver": "hard"}, 2),
        (4, 8, ANETRolloutMCTS, {"knowledge_at": 2, "solver": "hard"}, 2),
        *(
            pytest.param(*each, marks=[needs_compiler, pytest.mark.slow])
            for each in [
                (5, 4, PUCTAgent, {"knowledge_at": 1, "simulations": 400}, 10),
                (5, 4, PUCTAgent, {"knowledge_at": 8, "simulations": 400, "batch": 16}, 10),
                (6, 10, PUCTAgent, {"solver": "hard", "simulations": 400, "knowledge_at": 4}, 10),
                (5, 4, GumbelAgent, {"knowledge_at": 2, "simulations": 200, "batch": 4}, 10),
            ]
        ),
    ],
)
def test_all_that_is_proven_beside_an_evaluator_is_true(size, stones, kind, options, count):
    options = {"simulations": 40, "knowledge": BOTH, **options}
    check_trees(size, stones, lambda seed: led(kind, seed=seed, **options), count, 7)


class Judge:
    """The evaluator of a search: by the hash of a position."""

    def evaluate(self, game, states):
        rngs = [np.random.default_rng(int(game.position_hash(state)) % 2**64) for state in states]
        priors = [rng.uniform(0.02, 1.0, game.num_actions()) for rng in rngs]
        return np.array(priors), np.array([rng.uniform(-0.8, 0.8) for rng in rngs])


def searched_together(variant, roots, simulations, width=1):
    """A search of trees side by side, from positions of one game; its roots are looked at."""
    game = roots[0].unwrapped.game
    states = base.new_states(game, len(roots))
    for env, state in zip(roots, states, strict=True):
        game.copy(env.unwrapped.state, state)
    nodes = 1 + (simulations + 1) * game.num_actions()
    search = EvaluatedSearch(
        game,
        new_trees(len(roots), nodes),
        base.new_states(game, len(roots) * width),
        with_memory(variant, game),
        Judge(),
        np.random.default_rng(1),
        width,
        compiles=False,
    )
    search.run(states, 0)
    at_first = [tree_of(search.trees, row).proof[1:5].copy() for row in range(len(roots))]
    search.run(states, simulations)
    return search, at_first


def by_path(tree, node=ROOT, path=()):
    """The visits and proofs of all nodes, by the actions that lead to them."""
    found = {}
    for child in below(tree, node):
        line = (*path, int(tree.action[child]))
        found[line] = int(tree.visits[child]), int(tree.proof[child])
        found |= by_path(tree, child, line)
    return found


@pytest.mark.parametrize("rule", [PUCT(), Gumbel(considered=4, simulations=30)])
def test_trees_side_by_side_know_what_they_know_alone(rule):
    rng, winner = np.random.default_rng(11), brute_force(4, 4)
    roots = [random_position(4, stones, rng) for stones in (4, 5, 6, 6)]
    variant = with_knowledge(Variant(rule, Uniform(), WinLoss(), SOLVERS["hard"]), BOTH, 2)
    together, at_first = searched_together(variant, roots, 30)
    policies, values, best = together.results()
    assert any((proofs != UNPROVEN).any() for proofs in at_first)  # before any simulation
    for row, env in enumerate(roots):
        alone, _ = searched_together(variant, [env], 30)
        tree = tree_of(together.trees, row)
        assert by_path(tree) == by_path(tree_of(alone.trees, 0))
        game, state = env.unwrapped.game, env.unwrapped.state
        mover, stones = game.to_play(state), as_bits(game, state)
        assert policies[row].sum() == pytest.approx(1)
        if abs(values[row]) == 1.0:
            assert (winner(*stones, mover) == mover) == (values[row] > 0)
        for action in np.flatnonzero(policies[row]):
            proof = tree.proof[child_by_action(tree, ROOT, int(action))]
            assert values[row] == -1.0 or proof == (1 if values[row] == 1.0 else UNPROVEN)
        assert policies[row, best[row]] > 0.0
    assert (np.abs(values) == 1.0).any()


class Noting(NamedTuple):
    """Knowledge that notes which nodes it looks at, and proves nothing."""

    nodes: Any
    visits: int

    list_actions = list_legal
    covers = all_covered

    def decides(self, game, state):
        return False

    def with_memory(self, game):
        return self

    def is_due(self, visits):
        return visits == self.visits

    def examine(self, game, state, tree, node):
        assert node == ROOT or tree.child_count[node] > 0
        self.nodes.append(int(node))


@pytest.mark.parametrize("width", [1, 3, 16])
@pytest.mark.parametrize("visits", [1, 4])
def test_no_node_is_left_out_because_its_simulations_wait(width, visits):
    env = hex_v0.env(board_size=4)
    env.reset(options={"moves": "b2 c3"})
    noted = Noting([], visits)
    variant = Variant(PUCT(c=0.3), Uniform(), WinLoss(), knowledge=noted)
    search, _ = searched_together(variant, [env], 150, width)
    tree = tree_of(search.trees, 0)
    count = int(tree.node_count[0])
    due = [
        node for node in range(1, count) if tree.visits[node] > visits and tree.child_count[node]
    ]
    assert len(due) > 5
    assert noted.nodes[0] == ROOT
    assert set(noted.nodes[1:]) == set(due)
    if width == 1:
        assert len(noted.nodes) == 1 + len(due)


def test_moves_that_are_proven_to_lose_are_not_drawn():
    env = hex_v0.env(board_size=4)
    env.reset(options={"moves": "a3"})
    options = {"temperature": 5.0, "knowledge": BOTH, "knowledge_at": 4, "reuse": False}
    for seed in range(10):
        agent = led(PUCTAgent, 30, seed=seed, solver="soft", **options)
        action = agent.act(env)
        tree = grown(agent)
        own = children(tree, ROOT)
        assert not (tree.proof[own] == 1).any()  # or the win would be played without a draw
        assert tree.visits[own][tree.proof[own] == -1].sum() > 20
        assert tree.proof[child_by_action(tree, ROOT, action)] != -1


def wins_of_mover(env, winner):
    """The moves with which the player to move keeps the win; none where there is no win."""
    game, state = env.unwrapped.game, env.unwrapped.state
    actions, mover = base.legal_actions(game, state), game.to_play(state)
    found = zip(actions, children_of(game, state, actions, winner), strict=True)
    return [action for action, (_, won_by) in found if won_by == mover]


@pytest.mark.parametrize(
    "new_agent",
    [
        lambda **options: Hexpert(**options),
        lambda **options: led(PUCTAgent, knowledge=BOTH, **options),
    ],
    ids=["hexpert", "puct"],
)
def test_all_that_is_proven_in_a_tree_that_is_used_again_is_true(new_agent):
    """The agent is lost, and not told so: a won root is proven at once, and searched no more."""
    rng, winner = np.random.default_rng(17), brute_force(4, 4)
    kept = proofs = games = 0
    while games < 6:
        env = random_position(4, 7, rng)
        if wins_of_mover(env, winner):
            continue
        games += 1
        agent = new_agent(simulations=40, knowledge_at=20, reuse=True, seed=games)
        while not any(env.terminations.values()):
            action = agent.act(env)
            found, _ = check_tree(agent, env, winner)
            tree = grown(agent)
            if tree.visits[children(tree, ROOT)].sum() > agent.statistics.simulations:
                kept, proofs = kept + 1, proofs + found
            env.step(action)
            if not any(env.terminations.values()):
                env.step(int(rng.choice(wins_of_mover(env, winner))))
    assert kept > 2
    assert proofs > 40


class Uncounted(NamedTuple):
    """A rule with an evaluator that does not count pending simulations."""

    evaluation: Any = None

    def with_memory(self, game):
        return self


def test_a_rule_that_does_not_count_pending_simulations_is_refused():
    env = hex_v0.env(board_size=4)
    env.reset()
    with pytest.raises(ValueError, match=r"pending simulations .* got Uncounted without"):
        searched_together(Variant(Uncounted(), Uniform(), WinLoss()), [env], 4)


def winning_cells(env):
    """Where the player to move ends the game at once."""
    return wins_of_mover(env, lambda *_: None)


@pytest.mark.parametrize("spec", ["hexpert:simulations=2", "hex-alphabeta", "solver"])
def test_who_can_join_the_sides_does_it(spec):
    """Also where that fills in a cell which seems inferior, as the win is sure without it."""
    rng, seen = np.random.default_rng(5), 0
    while seen < 12:
        env = random_position(4, int(rng.integers(5, 10)), rng)
        if cells := winning_cells(env):
            seen += 1
            assert make_agent(spec, seen).act(env) in cells


def test_a_lost_position_is_held_as_long_as_it_goes():
    """At a lost root, what lets the winner join the sides sooner is proven to lose at once."""
    rng, seen = np.random.default_rng(2), 0
    while seen == 0:
        env = random_position(5, 5, rng)
        game, state = env.unwrapped.game, env.unwrapped.state
        parts, out = HexParts(True, True, 1).with_memory(game), np.zeros(25, np.int32)
        tree = new_tree(30)
        add_node(tree, -1, 1)
        add_children(game, state, tree, ROOT, parts, out, rng)
        owners = parts.owners[:25].copy()
        if connect(parts.grid, owners, 1 - game.to_play(state), False, 1000, parts.links):
            parts.examine(game, state, tree, ROOT)
            own = children(tree, ROOT)
            lost = tree.proof[own] == -1
            left = tree.plies_left[own]
            assert (left[~lost] == left.max()).all()
            assert (left[lost] < left.max()).all()
            seen += lost.any()


def test_a_proven_win_is_soon_over():
    """Against an opponent who plays anywhere, it takes hardly more stones than the fewest."""
    for seed in range(6):
        env = hex_v0.env(board_size=5)
        env.reset(options={"moves": "c3 " + "abcde"[seed % 5] + "1"})
        game, owners = env.unwrapped.game, np.zeros(25, np.int8)
        game.owners(env.unwrapped.state, owners)
        needed, stones = stones_needed(new_grid(5, 5), owners, 0, empty_cells(owners)), 0
        agents = [Hexpert(simulations=2, seed=seed), RandomAgent(seed=seed)]
        while not any(env.terminations.values()):
            action = agents[env.unwrapped.state.ply % 2].act(env)
            mover = env.agent_selection
            env.step(action)
            if mover == "player_0":
                assert agents[0].statistics.proven == 1
                stones += 1
        assert env.rewards["player_0"] == 1  # what is proven is won
        assert stones <= needed + 1


BESIDE = {"knowledge": "all", "knowledge_at": 2, "solver": "hard"}


@needs_compiler
@pytest.mark.parametrize(
    "new_agent",
    [
        lambda **options: Hexpert(knowledge_at=4, **options),
        lambda **options: led(PUCTAgent, batch=5, **BESIDE, **options),
        *(
            pytest.param(new_agent, marks=pytest.mark.slow)
            for new_agent in [
                lambda **options: UCT(knowledge=BOTH, knowledge_at=8, **options),
                lambda **options: led(PUCTAgent, **BESIDE, **options),
                lambda **options: led(GumbelAgent, batch=3, **BESIDE, **options),
            ]
        ),
    ],
    ids=["hexpert", "puct-5", "uct", "puct", "gumbel-3"],
)
def test_machine_code_and_plain_python_grow_the_same_tree(new_agent):
    env = hex_v0.env(board_size=4)
    env.reset(options={"moves": "a1"})
    found = [
        nodes_after(new_agent(simulations=40, seed=5, route=route), env)
        for route in ("compiled", "interpreted")
    ]
    assert_same_nodes(*found)
    assert set(found[0]["proof"].tolist()) > {UNPROVEN}


def test_a_win_that_is_seen_is_one():
    """Its winner is the exact one, also where every cell outside the connection is the loser's."""
    rng, seen = np.random.default_rng(8), 0
    for _ in range(60):
        env = hex_v0.env(board_size=4)
        env.reset()
        for action in rng.permutation(16)[: rng.integers(2, 9)]:
            env.step(int(action))
        view = planner_view(env, "auto")
        if (
            env.unwrapped.state.winner >= 0
            or (win := knowledge_of(view.game).sure_win(view)) is None
        ):
            continue
        seen += 1
        mover = view.game.to_play(view.root)
        assert solver.value(env) == (1 if win.player == mover else -1)
        owners = base.cell_owners(view.game, view.root)
        outside = (owners.ravel() == EMPTY) & ~np.isin(np.arange(16), win.cells)
        owners.ravel()[outside] = 1 - win.player
        filled = notation.from_cells(view.game, owners, mover, details=notation.OUT_OF_TURN)
        other = hex_v0.env(board_size=4)
        other.reset(options={"state": filled})
        assert solver.value(other) == (1 if win.player == mover else -1)
    assert seen > 20
