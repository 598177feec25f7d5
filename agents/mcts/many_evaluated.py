"""A search that a policy leads, in many games at once: one batch has the leaves of all trees."""

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from agents.mcts.many_games import ManyGames
from agents.search.evaluated import EvaluatedSearch, new_cache, new_trees, tree_of
from agents.search.many import compiled_make_many_ready
from agents.search.tree import Tree, copy_nodes, number_arrays
from agents.search.variant import with_memory
from hexenv.compiled import announced
from hexenv.compiled.packing import packed
from hexenv.games.base import new_states
from hexenv.games.table import GameTable, Which

if TYPE_CHECKING:
    from agents.mcts.evaluated_search import EvaluatedSearchAgent


class ManyEvaluatedSearches(ManyGames):
    """Searches with an evaluator.

    It sees other batches than it does for one agent, so that its numbers may differ in their last
    digits; all else is the same.
    """

    def __init__(
        self, agent: "EvaluatedSearchAgent", env: Any, count: int, threads: int | None = None
    ) -> None:
        self._led, self._env = agent, env
        super().__init__(agent, env, count, threads)
        self._needs_memory = False  # the rule's is rewritten for every leaf

    def _prepare(self) -> None:
        super()._prepare()
        used = [worker.tree.node_count[0] for worker in self.workers if worker.tree is not None]
        self._make_trees(self._room + max(self._room, *used, 0))

    def _make_trees(self, size: int) -> None:
        """Give all games trees of a size, with the nodes that they have."""
        agent, game, count = self._led, self.game, len(self.workers)
        variant = with_memory(agent.variant, game)
        self._most_nodes = min(size, agent.planner.max_nodes)
        trees = new_trees(count, self._most_nodes)
        for number, worker in enumerate(self.workers):
            tree = tree_of(trees, number)
            if worker.tree is not None:
                copy_nodes(worker.tree, tree)
            worker.tree, worker.variant = tree, variant
        rngs = [worker.rng for worker in self.workers]
        states = new_states(game, count * agent.batch)
        options = agent.batch, self._new_cache(), self._compiles
        self._search = EvaluatedSearch(
            game, trees, states, variant, agent.evaluator, rngs, *options
        )
        rows = [cast("Tree", worker.tree) for worker in self.workers]
        self._trees = packed([(tree, number_arrays(tree)) for tree in rows], self._compiles)

    def _new_cache(self) -> Any:
        return new_cache(self.game, self._led.cache_size())

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_search": None, "_trees": None}

    def reset(self, number: int, seed: int | None = None) -> None:
        super().reset(number, seed)
        self._search.set_stream(number, self.workers[number].rng)

    @announced
    def act(self, table: GameTable, which: Which) -> NDArray[np.int64]:
        self._led.see_as(self._env)
        roots, positions = table.states, self._positions(table, which)
        make_ready = partial(self._run, compiled_make_many_ready, self.game, positions)
        make_ready(self._trees, self._use())
        if not self._ready[which].all():
            self._make_trees(2 * self._most_nodes)
        self._ready[:] = False
        self._search.cache = self._new_cache()  # the policy may have learnt since the last move
        try:
            self._search.run(roots, self._only(which, 0))
            self._add_noise(which)
            self._search.run(roots, self._only(which, self._simulations))
        except BaseException:
            self._searched.lengths[which] = -1  # simulations are under way there: begin anew
            raise
        return np.array(list(map(self._choose, which.tolist())), np.int64)

    def prepare(self) -> None:
        super().prepare()
        self._search.compile(self._states)

    def _only(self, which: Which, simulations: int) -> NDArray[np.int32]:
        """Simulations for some of the trees; the others rest."""
        wanted = np.full(len(self.workers), -1, np.int32)
        wanted[which] = simulations
        return wanted

    def _add_noise(self, which: Which) -> None:
        rule: Any = self._search.variant.selection
        for worker in map(self.workers.__getitem__, which):
            noise = self._led.draw_noise(worker.rng, self.game.num_actions())
            if noise is not None:
                rule.add_root_noise(worker.tree, noise)

    def _choose(self, number: int) -> int:
        worker, view = self.workers[number], self._view(number)
        found = partial(self.statistics, number)
        return self._led.choose_action(view, [cast("Tree", worker.tree)], worker.rng, found)
