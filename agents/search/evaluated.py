"""Search with an evaluator, such as a network, in place of playouts (Silver et al. 2017).

A network cannot be called from compiled code. So a simulation has two halves, and many leaves, of
many trees or of one, are evaluated between them in one batch (`agents.search.leaves`). Both halves
run interpreted as well: over foreign environments, and in a debugger.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from agents.search.leaves import (
    Cache,
    compiled_back_up_trees,
    compiled_descend_trees,
    compiled_judge_trees,
    compiled_stir_trees,
    new_cache,
    new_flights,
)
from agents.search.mcts import Variant
from agents.search.puct import Given
from agents.search.tree import Tree
from hexenv.compiled import CompiledFunction


class Evaluator(Protocol):
    """A judge of positions, asked for many at once."""

    def evaluate(self, game: Any, states: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Judge positions, of which none is terminal.

        Args:
            game: The game, or the adapter of a foreign environment.
            states: ``(n,)`` of its states, or a list of them; not to be changed.

        Returns:
            Priors ``(n, num_actions())``, at least 0, of which those of illegal actions are
            ignored and the others scaled to add up to 1; and values ``(n,)`` in [-1, 1] for the
            player to move.
        """
        ...


def given_by(variant: Variant, game: Any) -> Variant:
    """The variant with memory for the game, and an assessor that is told what to say."""
    given: Any = Given(np.zeros(game.num_actions() + 1))
    selection: Any = variant.selection
    return variant._replace(selection=selection._replace(assessor=given).with_memory(game))


class EvaluatedSearch:
    """Trees that are searched together, their leaves evaluated in one batch.

    Args:
        game: The game, or the adapter of a foreign environment.
        trees: T trees, side by side, each with room for a root and all its children.
        states: ``(T * width,)`` to work in: an array of records, or a list.
        variant: The composition; see `given_by`.
        evaluator: Judges the leaves.
        rng: The stream of the search.
        width: How many leaves of one tree are evaluated together. With 1, every simulation knows
            all those before it.
        cache: See `new_cache`.
        compiles: Whether to run as machine code.

    Attributes:
        evaluations: Positions that were evaluated so far.

    Raises:
        ValueError: If the trees have too little room.
    """

    def __init__(
        self,
        game: Any,
        trees: Tree,
        states: Any,
        variant: Variant,
        evaluator: Evaluator,
        rng: np.random.Generator,
        width: int = 1,
        cache: Cache | None = None,
        compiles: bool = True,
    ) -> None:
        most, num_actions = trees.action.shape[1], game.num_actions()
        if most <= num_actions:
            raise ValueError(f"expected trees of more than {num_actions} nodes, got {most}")
        self.game = game
        self.trees = trees
        self.states = states
        self.variant = variant
        self.evaluator = evaluator
        self.rng = rng
        self.width = width
        self.cache = new_cache(game, 0) if cache is None else cache
        self.evaluations = 0
        self._flights = new_flights(game, len(trees.node_count), width)
        self._compiles = compiles
        self._code: dict[CompiledFunction, Callable[..., Any]] = {}

    def _prepared(self, kernel: CompiledFunction, *arguments: Any) -> Callable[..., Any]:
        """A kernel, of which the machine code is looked up once."""
        if kernel not in self._code:
            code = kernel.specialise(*arguments) if self._compiles else kernel.function
            self._code[kernel] = code
        return self._code[kernel]

    def _call(self, kernel: CompiledFunction, *arguments: Any) -> Any:
        return self._prepared(kernel, *arguments)(*arguments)

    def _down(self, roots: Any) -> tuple[Any, ...]:
        """The arguments of `descend_trees`."""
        places = self.game, roots, self.states, self.trees
        return *places, self.variant, self._flights, self.cache, self.width, self.rng

    def _up(self, priors: NDArray[np.float32], values: NDArray[np.float32]) -> tuple[Any, ...]:
        """The arguments of `back_up_trees`."""
        places = self.game, self.states, self.trees
        return *places, self.variant, self._flights, self.cache, priors, values, self.rng

    def compile(self, roots: Any) -> None:
        """Have the machine code that `run` needs, so that its first call need not wait for it."""
        priors = np.zeros((1, self.game.num_actions()), np.float32)
        self._prepared(compiled_descend_trees, *self._down(roots))
        self._prepared(compiled_back_up_trees, *self._up(priors, priors[0]))

    def run(self, roots: Any, simulations: int | NDArray[np.int32]) -> int:
        """Search.

        Args:
            roots: ``(T,)`` positions, or a list of them; none is over.
            simulations: How many of each tree; 0 evaluates the roots that are not yet.

        Returns:
            How many were run; fewer where a root is proven.

        Raises:
            ValueError: If a game is over.
        """
        if any(self.game.is_terminal(root) for root in roots):
            raise ValueError("expected positions to search from, got one where the game is over")
        remaining = self._flights.remaining
        remaining[:] = simulations
        wanted = int(remaining.sum())
        while True:
            waiting = self._call(compiled_descend_trees, *self._down(roots))
            if waiting == 0:
                return wanted - int(remaining.sum())
            priors, values = self.evaluator.evaluate(self.game, self.states[:waiting])
            self.evaluations += waiting
            priors = np.ascontiguousarray(priors, np.float32)
            values = np.ascontiguousarray(values, np.float32)
            self._call(compiled_back_up_trees, *self._up(priors, values))

    def stir(self, noise: NDArray[np.float64]) -> None:
        """Give every root, which has children, its noise, ``(T, num_actions())``."""
        self._call(compiled_stir_trees, self.game, self.trees, self.variant, noise)

    def judge(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int32]]:
        """What was found: policies, values and best actions; see `judge_trees`."""
        count = len(self.trees.node_count)
        policies = np.zeros((count, self.game.num_actions()), np.float32)
        values, best = np.zeros(count, np.float32), np.zeros(count, np.int32)
        found = policies, values, best
        self._call(compiled_judge_trees, self.game, self.trees, self.variant, *found)
        return found
