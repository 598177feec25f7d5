import math
from typing import Any, NamedTuple
import numpy as np
from hexenv.compiled import CompiledFunction, compiled, kernel
from agents.search.tree import ROOT, Tree, expand, add_node

class Variant(NamedTuple):
    selection: Any
    playout: Any
    reward: Any

compiled(Variant)

@kernel
def select_child(tree, selection, node):
    first = tree.first_child[node]
    count = tree.child_count[node]
    tried = tree.visits[node] - 1
    if tried < count:
        return first + tried
    prepared = selection.prepare(tree, node)
    best = first
    best_score = -np.inf
    for child in range(first, first + count):
        score = selection.score(tree, child, prepared)
        if score > best_score:
            best_score = score
            best = child
    return best

@kernel
def descend(game, state, tree, selection, path, players, buffer, rng):
    node = ROOT
    depth = 0
    while True:
        if tree.child_count[node] == 0:
            if tree.visits[node] == 0 or game.is_terminal(state):
                return depth
            expand(game, state, tree, node, buffer, rng)
            if tree.child_count[node] == 0:
                return depth
        node = select_child(tree, selection, node)
        players[depth] = game.to_play(state)
        path[depth] = node
        depth += 1
        game.step(state, int(tree.action[node]))

@kernel
def back_up(tree, path, players, depth, reward0, reward1):
    tree.visits[ROOT] += 1
    for i in range(depth):
        node = path[i]
        tree.visits[node] += 1
        share = 1.0 / tree.visits[node]
        reward = reward0 if players[i] == 0 else reward1
        tree.value[node] += (reward - tree.value[node]) * share
        tree.spread[node] = math.sqrt(share)

@kernel
def search(game, root, state, tree, variant, simulations, rng):
    buffer = np.empty(game.num_actions() + 1, np.int32)
    path = np.empty(game.max_plies() + 1, np.int32)
    players = np.empty(game.max_plies() + 1, np.int8)
    for _ in range(simulations):
        game.copy(root, state)
        depth = descend(game, state, tree, variant.selection, path, players, buffer, rng)
        variant.playout.simulate(game, state, rng, buffer)
        reward0 = variant.reward.shape(game, state, 0)
        reward1 = variant.reward.shape(game, state, 1)
        back_up(tree, path, players, depth, reward0, reward1)

compiled_search = CompiledFunction(search)
