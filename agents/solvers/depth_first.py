"""The loop under every alpha-beta of the project: depth first, over a stack of open nodes.

What a node is, and what a score of it, says the value under `@compiled` that the loop is given.
The loop is no recursion, so that it can stop at any node for a look at the clock and go on later.
"""

from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import CompiledFunction, kernel
from hexenv.games.base import Actions

UNKNOWN: Final = -(2**20)
"""No score yet."""
DEPTH: Final = 0
NODES: Final = 1
"""Where a search's `control` has the depth it is at, and the nodes it has opened."""


class OpenNodes(Protocol):
    """The nodes from the root to where a search is, and all that it needs to go on."""

    @property
    def control(self) -> NDArray[np.int64]:
        """``(2,)``: see `DEPTH` and `NODES`."""
        ...

    def open_node(self, depth: int) -> Any:
        """Count a new node; its score, or `UNKNOWN` where its moves have to be tried."""
        ...

    def open_child(self, depth: int) -> None:
        """Write the position after the next move of a node into the row below it."""
        ...

    def close_child(self, depth: int, score: Any) -> Any:
        """Take the score of the child of a node; its own score, or `UNKNOWN` to go on with it."""
        ...


@kernel
def search(nodes: Any, budget: int) -> Any:
    """Go on with a search until it is over, or has opened `budget` nodes more.

    The score of the root, or `UNKNOWN` if there is more to do.
    """
    control = nodes.control
    depth = int(control[DEPTH])
    end = int(control[NODES]) + budget
    while control[NODES] < end:
        score = nodes.open_node(depth)
        while score != UNKNOWN:
            if depth == 0:
                control[DEPTH] = 0
                return score
            depth -= 1
            score = nodes.close_child(depth, score)
        nodes.open_child(depth)
        depth += 1
    control[DEPTH] = depth
    return UNKNOWN


@kernel
def put_best_last(actions: Actions, count: int, scores: NDArray[Any]) -> None:
    """Order actions by their scores, ascending; among equal ones nothing changes."""
    for i in range(1, count):
        action = actions[i]
        spot = i
        while spot > 0 and scores[actions[spot - 1]] > scores[action]:
            actions[spot] = actions[spot - 1]
            spot -= 1
        actions[spot] = action


compiled_search: Final = CompiledFunction(search, "solver")
