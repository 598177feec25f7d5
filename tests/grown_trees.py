"""What a search has left in its trees, as values that tests compare."""

import numpy as np

from agents.search.tree import ROOT, children, node_arrays
from hexenv.games import base


def nodes(tree):
    """All that is in use of a tree; of the root only what is its own: no rule keeps more of it."""
    count = int(tree.node_count[0])
    return {
        name: array[1 if name.startswith("extras") else 0 : count].copy()
        for name, array in node_arrays(tree).items()
    }


def tree_of(agent, worker=0):
    return agent.planner.workers[worker].tree


def below(tree, node):
    """The children of a node."""
    found = children(tree, node)
    return range(found.start, found.stop)


def positions_of(game, root, tree):
    """Every node with its position."""
    waiting = [(ROOT, base.clone(game, root))]
    while waiting:
        node, state = waiting.pop()
        yield node, state
        for child in below(tree, node):
            reached = base.clone(game, state)
            game.step(reached, int(tree.action[child]))
            waiting.append((child, reached))


def nodes_after(agent, env):
    """The nodes that a search leaves."""
    agent.act(env)
    return nodes(tree_of(agent))


def assert_same_nodes(one, other):
    assert list(one) == list(other)
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name, strict=True)


def with_options(spec, options):
    """A name of an agent, perhaps with parameters, with more of them."""
    return f"{spec}{',' if ':' in spec else ':'}{options}"
