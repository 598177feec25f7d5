"""What a tree search knows of Hex: nothing false is proven in its tree, and no win is left out."""

import numpy as np
import pytest
from hex_oracles import brute_force, exact_winner

from agents import RAVE, RHMCTS, UCT, Hexpert, PolicyAgent, PUCTAgent
from agents.registry import make_agent
from agents.search.tree import ROOT, UNPROVEN, children
from hexenv import hex_v0, tictactoe_v0
from hexenv.games import base

needs_compiler = pytest.mark.compiled(only=True)
BOTH = "inferior+connections"


def random_position(size, stones, rng):
    """An environment after random moves, in which the game is not over."""
    env = hex_v0.env(board_size=size)
    while True:
        env.reset()
        for cell in rng.permutation(size * size)[:stones]:
            env.step(int(cell))
            if any(env.terminations.values()):
                break
        else:
            return env


def as_bits(game, state):
    owners = base.cell_owners(game, state).ravel().tolist()
    return tuple(
        sum(1 << cell for cell, owner in enumerate(owners) if owner == player) for player in (0, 1)
    )


def check_tree(agent, env, winner):
    """Every proof is true, and a won node has a winning child; returns the numbers of both."""
    tree, game = agent._workers[0].tree, env.unwrapped.game
    proofs, wins = 0, 0
    waiting = [(ROOT, root_of(env))]
    while waiting:
        node, state = waiting.pop()
        below = range(*children(tree, node).indices(len(tree.action)))
        if not below:
            continue
        mover = game.to_play(state)
        best = winner(*as_bits(game, state), mover)
        has_win = False
        for child in below:
            after = base.clone(game, state)
            game.step(after, int(tree.action[child]))
            won_by = int(after.winner)
            if won_by < 0:
                won_by = winner(*as_bits(game, after), 1 - mover)
            has_win |= won_by == mover
            if tree.proof[child] != UNPROVEN:
                assert tree.proof[child] == (1 if won_by == mover else -1)
                proofs += 1
            if after.winner < 0:
                waiting.append((child, after))
        is_partial = tree.first_child[below[-1]] == -1
        if best == mover and not is_partial:
            assert has_win
            wins += 1
    return proofs, wins


def root_of(env):
    """The position of an environment, as a state of its game."""
    game = env.unwrapped.game
    state = base.new_state(game)
    game.initial(state)
    for action in env.unwrapped.actions:
        game.step(state, action)
    return state


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
                (6, 12, "hexpert:simulations=1000,knowledge_at=16", 10),
                (5, 4, "uct:simulations=1000,knowledge_at=6,knowledge=inferior+connections", 8),
                (6, 12, "uct:simulations=1000,knowledge=connections,knowledge_at=5", 8),
                (5, 4, "rave:simulations=1000,solver=hard,knowledge=inferior", 8),
            ]
        ),
    ],
)
def test_all_that_is_proven_in_the_tree_is_true(size, stones, spec, count):
    rng, proofs, wins = np.random.default_rng(1), 0, 0
    winner = brute_force(size, size) if size < 5 else exact_winner(size)
    for seed in range(count):
        env = random_position(size, stones, rng)
        agent = make_agent(spec, seed=seed)
        agent.act(env)
        found = check_tree(agent, env, winner)
        proofs, wins = proofs + found[0], wins + found[1]
    assert proofs > 0
    assert wins > 0


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
        tree = agent._workers[0].tree
        trees.append(tree.action[children(tree, ROOT)].tolist())
        assert (tree.proof[children(tree, ROOT)] == UNPROVEN).all()
        assert agent.statistics.simulations == 2
    assert trees[0] == trees[1]


@needs_compiler
@pytest.mark.parametrize(
    "spec",
    [
        "hexpert:knowledge_at=4",
        pytest.param("uct:knowledge_at=8,knowledge=" + BOTH, marks=pytest.mark.slow),
    ],
)
def test_machine_code_and_plain_python_grow_the_same_tree(spec):
    env, found = hex_v0.env(board_size=4), []
    env.reset(options={"moves": "a1"})
    for route in ("compiled", "interpreted"):
        agent = make_agent(f"{spec},simulations=40,route={route}", seed=5)
        agent.act(env)
        tree = agent._workers[0].tree
        count = int(tree.node_count[0])
        found.append([array[:count].tolist() for array in (tree.action, tree.visits, tree.proof)])
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RAVE(knowledge="inferior", solver="off"), 'solver "off"'),
        (lambda: UCT(knowledge="inferior", transpositions=True), "another search"),
        (lambda: UCT(knowledge="inferior", workers=2, parallel="tree"), "another search"),
        (lambda: PUCTAgent(PolicyAgent(np.zeros), knowledge="inferior"), "another search"),
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
