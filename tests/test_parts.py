"""Parts of a search that a user writes: what they return is checked, or else bounded."""

from typing import NamedTuple

import numpy as np
import pytest

from agents.search.mcts import Variant, compiled_search, search, simulation_for, with_memory
from agents.search.playout import play_out, take
from agents.search.reward import WinLoss
from agents.search.selection import UCB1
from agents.search.simulation import no_memory, no_moves, no_update
from agents.search.tree import new_tree
from hexenv.compiled import compiled
from hexenv.games import base, connect4

GAME = connect4.new(4, 5)

needs_compiler = pytest.mark.compiled(only=True)


def run(variant, game=GAME, simulations=60, seed=0, run=search):
    """The tree of a search from the start."""
    variant = with_memory(variant, game)
    tree = new_tree(4_000, variant.selection.new_extras(4_000))
    states = [base.new_state(game) for _ in range(2)]
    rest = variant, simulation_for(variant, game), simulations, np.random.default_rng(seed)
    run(game, *states, tree, *rest)
    return tree


def columns(tree):
    """The parts of a tree that two searches must agree on, bit for bit."""
    count = int(tree.node_count[0])
    return [getattr(tree, name)[:count].tolist() for name in ("action", "visits", "value")]


# ---- playouts ------------------------------------------------------------------------------------


@compiled
class Chooser(NamedTuple):
    """Plays the last of the legal actions, by itself or by its place; or something illegal."""

    illegal: int = -1
    share: float = 0.0
    by_place: bool = False

    simulate = play_out
    update = no_update
    needs_moves = no_moves
    with_memory = no_memory

    def choose(self, game, state, rng, actions, count, simulation):
        if rng.random() < self.share:
            return self.illegal
        if self.by_place:
            return take(actions, count - 1, simulation)
        return int(actions[count - 1])


def test_a_playout_chooses_an_action_and_not_its_place():
    found = [run(Variant(UCB1(), Chooser(by_place=way), WinLoss())) for way in (False, True)]
    assert columns(found[0]) == columns(found[1])
    state, simulation = (
        base.new_state(GAME),
        simulation_for(Variant(UCB1(), Chooser(), WinLoss()), GAME),
    )
    Chooser().simulate(GAME, state, np.random.default_rng(0), simulation.actions, simulation)
    cells = simulation.cells[: simulation.length[0]]
    assert cells[:4].tolist() == [19, 14, 9, 4]  # the last column, from the bottom up


@pytest.mark.parametrize("illegal", [-1, 5, 99, 2**31 - 1])
def test_an_illegal_choice_is_named(illegal):
    variant = Variant(UCB1(), Chooser(illegal, 0.5), WinLoss())
    expected = rf"expected a legal action, got {illegal} of \[.*\], in Chooser.choose"
    with pytest.raises(ValueError, match=expected):
        run(variant)


@needs_compiler
@pytest.mark.parametrize("illegal", [-1, 99, 2**31 - 1])
def test_an_illegal_choice_is_harmless_in_machine_code(illegal):
    tree = run(Variant(UCB1(), Chooser(illegal, 0.5), WinLoss()), run=compiled_search)
    first = run(Variant(UCB1(), Chooser(illegal, 0.5), WinLoss()), run=compiled_search)
    assert columns(tree) == columns(first)
    assert tree.visits[1:6].sum() == 60
