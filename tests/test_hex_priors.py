"""Priors of moves of Hex: what they see is the same from both sides, and the search uses them."""

import numpy as np
import pytest
from hex_oracles import after

from agents import RAVE, UCT
from agents.core.reading import load_arrays
from agents.knowledge.hex.learn_priors import learn, moves_of
from agents.knowledge.hex.priors import (
    FAR,
    PLACES,
    WEIGHTS,
    HexPriors,
    Weights,
    factors_of,
    learnt_factors,
    load_weights,
    new_surroundings,
    same_neighbourhoods,
    same_replies,
)
from agents.learning.data import Data, make_data
from agents.search.bias import ProgressiveBias
from agents.search.children import add_children
from agents.search.knowledge import NoKnowledge
from agents.search.mcts import search
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.search.tree import ROOT, add_node, children, new_tree
from agents.search.variant import Variant, simulation_for, tree_for, with_memory
from hexenv import hex_v0
from hexenv.games import base, hex

DRAWN = Weights(
    np.random.default_rng(1).normal(size=3**12).astype(np.float32)[same_neighbourhoods()],
    np.random.default_rng(2).normal(size=19 * 3**6).astype(np.float32)[same_replies()],
    np.random.default_rng(3).normal(size=2 * PLACES).astype(np.float32),
)
ANY = HexPriors(factors_of(DRAWN))


def priors_of(game, state):
    """The prior of each action."""
    return written(ANY.with_memory(game), game, state)


def written(memory, game, state):
    """What priors with their memory write."""
    tree, rng = new_tree(game.num_actions() + 1), np.random.default_rng(0)
    add_node(tree, -1, 1)
    add_children(
        game, state, tree, ROOT, NoKnowledge(), np.zeros(game.num_actions(), np.int32), rng
    )
    out = np.zeros(len(tree.action))
    memory.write(game, state, tree, ROOT, out)
    assert (memory.steps == FAR).all()
    found = np.zeros(game.num_actions())
    below = children(tree, ROOT)
    found[tree.action[below]] = out[below]
    return found


@pytest.mark.parametrize("plies", range(9))
def test_priors_are_probabilities_and_turn_with_the_board(plies):
    game = hex.Hex(5, 7)
    moves = np.random.default_rng(plies).permutation(35)[:plies]
    found = priors_of(game, after(game, moves))
    assert found.sum() == pytest.approx(1.0)
    assert (found[moves] == 0.0).all()
    np.testing.assert_allclose(priors_of(game, after(game, 34 - moves))[::-1], found, rtol=1e-6)


def test_both_players_see_the_same():
    """With the board mirrored and the colours exchanged."""
    game, mirrored = hex.Hex(5, 6), hex.Hex(6, 5)
    state, image = after(game, []), after(mirrored, [])
    for black, white in ((7, 8), (20, 3), (13, 25)):
        for cell, player in ((black, 0), (white, 1)):
            game.place(state, cell, player)
            mirrored.place(image, cell % 6 * 5 + cell // 6, 1 - player)
    state.ply, state.last_action = 10, 25
    image.ply, image.last_action = 11, 25 % 6 * 5 + 25 // 6
    found, seen = priors_of(game, state), priors_of(mirrored, image)
    np.testing.assert_allclose(seen.reshape(6, 5).T, found.reshape(5, 6), rtol=1e-6)


def test_what_was_seen_before_changes_nothing():
    """The memory of one position after the other, and a new one for each."""
    game, rng = hex.Hex(5, 6), np.random.default_rng(4)
    memory = ANY.with_memory(game)
    for _ in range(20):
        state = after(game, rng.permutation(30)[: rng.integers(12)])
        np.testing.assert_array_equal(written(memory, game, state), priors_of(game, state))


def test_the_prior_of_a_move_is_the_softmax_of_its_weights():
    """By numbers that are found anew, from the board alone."""
    game, moves = hex.Hex(5, 7), [17, 24, 8, 30, 3]
    found = priors_of(game, after(game, moves))
    near, places = new_surroundings(5, 7)
    owners = np.append(np.full(35, -1, np.int8), np.int8([0, 1]))
    owners[moves] = [0, 1, 0, 1, 0]
    weights = {}
    for cell in set(range(35)) - set(moves):
        digits = [0 if owners[i] < 0 else 1 + int(owners[i] ^ 1) for i in near[1, cell, :12]]
        number = sum(digit * 3**i for i, digit in enumerate(digits))
        steps = np.flatnonzero(near[1, moves[-1]] == cell)
        reply = (steps[0] if len(steps) else FAR) * 3**6 + number % 3**6
        weights[cell] = (
            DRAWN.neighbourhoods[number] + DRAWN.replies[reply] + DRAWN.distances[places[1, cell]]
        )
    powers = np.exp(list(weights.values()))
    np.testing.assert_allclose(found[list(weights)], powers / powers.sum(), rtol=1e-5)


def test_a_bias_of_no_weight_changes_nothing():
    game = hex.Hex(4, 4)
    rule = UCB1(fpu=0.5)
    biased = ProgressiveBias(rule, ANY, weight=0.0, fpu=0.5)
    counts = [root_visits(game, selection) for selection in (rule, biased)]
    np.testing.assert_array_equal(*counts)


def test_priors_come_first():
    """A bias of much weight decides where simulations go."""
    game = hex.Hex(5, 5)
    biased = ProgressiveBias(UCB1(), ANY, weight=1e6, fpu=0.5)
    visits = root_visits(game, biased, simulations=30)
    priors = priors_of(game, after(game, []))
    assert priors[visits.argmax()] == pytest.approx(priors.max())


def root_visits(game, selection, simulations=200):
    """The visits of each action from an empty board."""
    variant = with_memory(Variant(selection, Uniform(), WinLoss()), game)
    tree, state = tree_for(variant, 5000), after(game, [])
    rng, work = np.random.default_rng(5), base.new_state(game)
    simulation = simulation_for(variant, game)
    search(game, state, work, tree, variant, simulation, simulations, rng)
    found = np.zeros(game.num_actions(), np.int64)
    below = children(tree, ROOT)
    found[tree.action[below]] = tree.visits[below]
    return found


@pytest.mark.parametrize("make", [UCT, RAVE])
def test_machine_code_finds_the_same(make):
    env = hex_v0.env(board_size=5)
    env.reset()
    found = []
    for route in ("interpreted", "compiled"):
        agent = make(simulations=300, seed=1, knowledge="priors", solver="hard", route=route)
        agent.act(env)
        found.append(agent.statistics.visits)
    np.testing.assert_array_equal(*found)


def test_learning_needs_no_weights(tmp_path, monkeypatch):
    """The file that is to be written may be missing, or of another version."""
    monkeypatch.setattr("agents.knowledge.hex.priors.WEIGHTS", tmp_path / "missing")
    learnt_factors.cache_clear()
    make_data(
        tmp_path / "g", "hex", ["uct:simulations=20"], games=12, options=["board_size=3"], seed=1
    )
    learn([tmp_path / "g"], tmp_path / "weights.npz")
    assert load_weights(tmp_path / "weights.npz").distances.any()


@pytest.mark.slow
def test_learning_finds_what_the_games_show(tmp_path):
    """In other games the move with the most weight has twice the share of a random one, or more."""
    folder, path = tmp_path / "games", tmp_path / "weights.npz"
    make_data(folder, "hex", ["uct:simulations=300"], games=40, options=["board_size=4"], seed=1)
    learn([folder], path)
    others = tmp_path / "others"
    make_data(others, "hex", ["uct:simulations=300"], games=20, options=["board_size=4"], seed=2)
    data, weights = Data(others), load_weights(path)
    moves = moves_of(data.positions(), data.game, HexPriors().with_memory(data.game))
    number, reply, place = moves.features.T
    merit = weights.neighbourhoods[number] + weights.replies[reply] + weights.distances[place]
    order = np.lexsort((merit, moves.position))
    best = order[np.append(np.diff(moves.position[order]) > 0, True)]
    by_chance = 1 / np.bincount(moves.position)[moves.position[best]]
    assert moves.shares[best].mean() > 2 * by_chance.mean()


def test_damaged_weights_are_refused(tmp_path):
    arrays = load_arrays(WEIGHTS, "weights")
    for name, value in (("about", np.zeros(2, np.uint8)), ("codes", arrays["codes"] + 3**12)):
        np.savez(tmp_path / "w.npz", **{**arrays, name: value})
        with pytest.raises(ValueError, match="expected"):
            load_weights(tmp_path / "w.npz")
