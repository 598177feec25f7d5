"""One agent in many games at once: a tree and a stream of random numbers for each of them."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import Statistics
from agents.mcts.planner import expect_room
from agents.mcts.worker import TreeWorker
from agents.planning.environment import View, check_in_play, is_transparent
from agents.search.children import nodes_for
from agents.search.many import (
    NOT_READY,
    Positions,
    TreeUse,
    compiled_act_in_many,
    compiled_read_roots,
)
from agents.search.roots import FINAL_MOVES
from agents.search.simulation import no_memory
from agents.search.tree import Tree, number_arrays
from agents.search.variant import simulation_for, with_memory
from hexenv.compiled import CompiledFunction, announced, is_compiled
from hexenv.compiled.cpus import Threads, usable_cpus
from hexenv.compiled.packing import PackingError, packed, stream_rows
from hexenv.games.base import new_states
from hexenv.games.table import GameTable, Which, new_table

if TYPE_CHECKING:
    from agents.mcts.tree_search import TreeSearchAgent

THREAD_SECONDS: Final = 0.002
"""The time of a search for which a thread is worth its start."""


def many_searches(
    agent: "TreeSearchAgent", env: Any, count: int, threads: int | None
) -> "ManySearches | None":
    """A search with playouts in many games; None if it can play them only one by one."""
    has_own_memory = cast("Any", type(agent.variant.reward)).with_memory is not no_memory
    if has_own_memory or not plays_alike(agent, env):
        return None
    if agent.route != "interpreted" and not is_compiled(agent.variant):
        return None
    try:
        return ManySearches(agent, env, count, threads)
    except PackingError:
        return None


def plays_alike(agent: "TreeSearchAgent", env: Any) -> bool:
    """Whether an agent runs a number of simulations in one tree, and nothing else.

    A class from outside this package may do anything: it is asked game by game, unless it says
    ``plays_many = True`` itself.
    """
    kind, settings = type(agent), agent.settings
    is_ours = kind.__module__.startswith("agents.")
    return (
        (is_ours or "plays_many" in vars(kind))
        and agent.plays_many
        and agent.planner.kind.can_play_many
        and is_transparent(env)
        and agent.simulations is not None
        and agent.seconds is None
        and settings.workers == 1
        and not (settings.early_stop or agent.advisers.are_asked)
        and agent.on_slice is None
        and not agent.planner.has_saved_trees
        and settings.route != "environment"
    )


class ManyGames:
    """A search in many games at once; in each it plays as an agent of its own would.

    Args:
        agent: The search: a number of simulations in one tree.
        env: One of hexenv, of the game and with the options of the environments.
        count: How many games there are, N.
        threads: The most threads that search; None: one for each processor.
    """

    def __init__(
        self, agent: "TreeSearchAgent", env: Any, count: int, threads: int | None = None
    ) -> None:
        self.agent = agent
        self.name = getattr(agent, "name", type(agent).__name__)
        self.game: Any = env.unwrapped.game
        self.threads = usable_cpus() if threads is None else threads
        self.workers = [TreeWorker(None) for _ in range(count)]
        self._compiles = is_compiled(self.game) and agent.route != "interpreted"
        self._simulations = cast("int", agent.simulations)
        num_actions = self.game.num_actions()
        expect_room(agent.planner.max_nodes, num_actions)
        self._room = min(nodes_for(self._simulations, num_actions), agent.planner.max_nodes)
        self._needs_memory = with_memory(agent.variant, self.game) is not agent.variant
        self._states, self._searched = new_states(self.game, count), new_table(self.game, count)
        self._searched.lengths[:] = -1
        self._ready = np.zeros(count, np.bool_)
        self._trees: Any = None  # a row for each: its tree and `number_arrays`
        self._prepare()

    def _prepare(self) -> None:
        """Make what cannot be copied to another process."""
        self._most_nodes = 0  # that a tree has room for
        self._code: dict[CompiledFunction, Callable[..., Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_code": None}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self._prepare()

    def reset(self, number: int, seed: int | None = None) -> None:
        """Begin a new game in one place, as `Agent.reset` does."""
        self._searched.lengths[number] = -1
        self._ready[number] = False
        if seed is not None:
            self.workers[number].rng = np.random.default_rng(seed)

    def act(self, table: GameTable, which: Which) -> NDArray[np.int64]:
        """The agent's actions, ``(n,)``, in those of N games in play whose numbers are `which`."""
        raise NotImplementedError

    def act_in(self, envs: Sequence[Any]) -> NDArray[np.int64]:
        """The agent's actions in environments, one for each of the first games.

        Where a new game has begun, `reset` comes first.

        Raises:
            ValueError: If there are more of them than games, or one is not in play or of another
                game.
        """
        if len(envs) > len(self.workers):
            raise ValueError(f"expected {len(self.workers)} environments at most, got {len(envs)}")
        for env in envs:
            check_in_play(env)
            game = getattr(env.unwrapped, "game", None)
            if type(game) is not type(self.game) or game != self.game:
                raise ValueError(f"expected environments of {self.game}, got one of {game}")
        table = new_table(self.game, len(self.workers))
        for number, env in enumerate(envs):
            raw = env.unwrapped
            self.game.copy(raw.state, table.states[number])
            table.lengths[number] = len(raw.actions)
            table.actions[number, : len(raw.actions)] = raw.actions
        return self.act(table, np.arange(len(envs)))

    def found(
        self, which: Which, chosen: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """What the last searches in some of the games have found.

        Args:
            which: ``(n,)``: the numbers of the games.
            chosen: ``(n,)``: the actions that `act` gave.

        Returns:
            ``(n, num_actions())``: the visits of each action; and ``(n,)``: the value of the
            position for the player to move, -1 to 1: that of the chosen action, or the outcome of
            the position, if that is proven. `statistics` says the same.
        """
        visits = np.zeros((len(which), self.game.num_actions()), np.int32)
        values = np.zeros(len(which), np.float32)
        self._run(compiled_read_roots, which, self._trees, chosen, visits, values)
        return visits, values

    def prepare(self) -> None:
        """Compile now what `act` needs."""
        self.act(self._searched, np.zeros(0, np.int64))

    def statistics(self, number: int) -> Statistics:
        """Of the last search in one of the games."""
        worker, view = self.workers[number], self._view(number)
        trees = [cast("Tree", worker.tree)]
        return self.agent.statistics_of(trees, worker.line(), view, self._simulations, 0.0)

    def _view(self, number: int) -> View:
        return View(self.game, self._searched.states[number], self._compiles, ())

    def _positions(self, table: GameTable, which: Which) -> Positions:
        return Positions(table, self._searched, self._states, which, self._ready)

    def _use(self) -> TreeUse:
        places = np.empty(self._most_nodes, np.int32)  # of each thread
        return TreeUse(places, self._room, self.agent.settings.reuse, self._needs_memory)

    def _run(self, kernel: CompiledFunction, *arguments: Any) -> Any:
        if kernel not in self._code:
            compiles = self._compiles
            self._code[kernel] = kernel.specialise(*arguments) if compiles else kernel.function
        return self._code[kernel](*arguments)


class ManySearches(ManyGames):
    """Searches with playouts: one call of compiled code runs them all, on all cores."""

    def _prepare(self) -> None:
        super()._prepare()
        self._threads = Threads(self.threads)
        self._seconds_each = 0.0  # of one position, when last searched
        self._streams = stream_rows([worker.rng for worker in self.workers], self._compiles)
        self._simulation = [simulation_for(self.agent.variant, self.game) for _ in self.workers]
        for number in range(len(self.workers)):
            self._refresh(number)
        rows = list(map(self._row, range(len(self.workers))))
        self._trees = packed([trees for trees, _ in rows], self._compiles)
        self._searches = packed([search for _, search in rows], self._compiles)

    def __getstate__(self) -> dict[str, Any]:
        not_kept = dict.fromkeys(("_streams", "_simulation", "_trees", "_searches"))
        return {**super().__getstate__(), **not_kept}

    def reset(self, number: int, seed: int | None = None) -> None:
        super().reset(number, seed)
        self._streams[number] = stream_rows([self.workers[number].rng], self._compiles)[0]

    def _refresh(self, number: int) -> None:
        """Give a tree room, and an empty one fresh memory."""
        worker = self.workers[number]
        if worker.tree is None or worker.tree.node_count[0] == 0:
            worker.variant = with_memory(self.agent.variant, self.game)
        worker.make_room(2 * self._room, self.agent.planner.max_nodes)
        self._most_nodes = max(self._most_nodes, len(cast("Tree", worker.tree).action))

    def _row(self, number: int) -> tuple[Any, Any]:
        worker = self.workers[number]
        tree = cast("Tree", worker.tree)
        return (tree, number_arrays(tree)), (worker.variant, self._simulation[number])

    @announced
    def act(self, table: GameTable, which: Which) -> NDArray[np.int64]:
        self._ready[:] = False  # as an error may have left it otherwise
        chosen = np.empty(len(which), np.int64)
        self._search(table, which, chosen)
        waiting = np.flatnonzero(chosen == NOT_READY)
        if len(waiting):
            for number in which[waiting].tolist():
                self._refresh(number)
                self._trees[number], self._searches[number] = self._row(number)
                self._ready[number] = True
            rest = np.empty(len(waiting), np.int64)
            self._search(table, which[waiting], rest)
            chosen[waiting] = rest
        if (chosen < 0).any():
            raise ValueError("expected positions in play, got one without a legal action")
        return chosen

    def _search(self, table: GameTable, which: Which, chosen: NDArray[np.int64]) -> None:
        """Search some positions, in threads if that is worth it."""
        useful = int(len(which) * self._seconds_each / THREAD_SECONDS)
        parts = max(1, min(self.threads if self._compiles else 1, len(which), useful))
        is_new = not self._code  # then it is compiled first
        started = time.perf_counter()
        if parts == 1:
            self._search_part(table, which, chosen)
        else:
            shares = zip(np.array_split(which, parts), np.array_split(chosen, parts), strict=True)
            jobs = [self._threads.submit(self._search_part, table, *share) for share in shares]
            wait(jobs)  # after an error, too, no thread may write once this returns
            for job in jobs:
                job.result()
        if len(which) > 0 and not is_new:
            self._seconds_each = (time.perf_counter() - started) * parts / len(which)

    def _search_part(self, table: GameTable, which: Which, chosen: NDArray[np.int64]) -> None:
        positions, final_move = self._positions(table, which), self.agent.settings.final_move
        self._run(
            compiled_act_in_many, self.game, positions, self._trees, self._searches, self._streams,
            self._use(), self._simulations, FINAL_MOVES.index(final_move), chosen,
        )  # fmt: skip
