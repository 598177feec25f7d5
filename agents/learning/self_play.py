"""Self-play: many games in lockstep, their searches evaluated in one batch.

Work comes in tasks that hold all that they need (but the weights, which all tasks share) and return
all that is left over. So a task can be done in this process, in another, or on another machine, and
again if its worker dies: it always gives the same games.
"""

import copy
import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.core.ray_workers import RayPool
from agents.core.workers import ATTEMPTS, LocalPool, Pool, ProcessPool, Worker
from agents.learning.configuration import Configuration
from agents.learning.evaluator import NetworkEvaluator, device_of
from agents.learning.files import game_of, load_weights
from agents.learning.networks import new_network
from agents.learning.replay import Games
from agents.mcts.anet import EvaluatedUCB1
from agents.mcts.gumbel import Gumbel
from agents.mcts.puct import PUCT, draw_actions
from agents.search.evaluated import EvaluatedSearch, new_cache, new_trees, tree_of
from agents.search.mcts import Variant, with_memory
from agents.search.playout import Uniform
from agents.search.reward import WinLoss
from agents.search.rollouts import RolloutEvaluator
from agents.search.tree import ROOT, child_by_action, keep_subtree
from hexenv.compiled import CompiledFunction, announced, is_compiled, kernel, scratch_array
from hexenv.games import base
from hexenv.games.base import Game


class Unfinished(NamedTuple):
    """The games of one worker that go on, T of them."""

    lengths: NDArray[np.int32]
    """``(T,)``: plies so far; -1 where a game has to begin."""
    actions: NDArray[np.int16]
    """``(T, max_plies)``."""
    policies: NDArray[np.float32]
    """``(T, max_plies, num_actions)``."""
    values: NDArray[np.float32]
    """``(T, max_plies)``."""

    @staticmethod
    def none(game: Game, count: int) -> "Unfinished":
        """Games that have to begin."""
        plies, num_actions = game.max_plies(), game.num_actions()
        return Unfinished(
            np.full(count, -1, np.int32),
            np.zeros((count, plies), np.int16),
            np.zeros((count, plies, num_actions), np.float32),
            np.zeros((count, plies), np.float32),
        )


class Task(NamedTuple):
    """Some plies of the games of one worker."""

    unfinished: Unfinished
    rng: dict[str, Any]
    """The state of the random generator."""
    epsilon: float
    """Share of random moves in rollouts."""


class TaskResult(NamedTuple):
    """The result of a task."""

    games: Games
    """Those that ended."""
    unfinished: Unfinished
    rng: dict[str, Any]
    figures: dict[str, float]
    """Sums: simulations, evaluations, positions; `agreement` of the network's favourite action
    with the search's, and the `entropy` of the search's policy, over all positions searched."""


@kernel
def begin_game(
    game: Any,
    states: Any,
    number: int,
    plies: int,
    rng: np.random.Generator,
    actions: NDArray[np.int16],
) -> int:
    """Start one of the games with random moves, and write these to `actions`.

    Returns:
        How many were played: none, if the game would have ended by them.
    """
    state = states[number]
    buffer = scratch_array(game.num_actions(), np.int32)
    game.initial(state)
    for ply in range(plies):
        count = game.legal_actions(state, buffer)
        actions[ply] = buffer[int(rng.random() * count)]
        game.step(state, int(actions[ply]))
        if game.is_terminal(state):
            game.initial(state)
            return 0
    return plies


@kernel
def resume_game(
    game: Any, states: Any, number: int, length: int, actions: NDArray[np.int16]
) -> None:
    """Play one of the states to the point where its game was."""
    state = states[number]
    game.initial(state)
    for ply in range(length):
        game.step(state, int(actions[ply]))


@kernel
def play_actions(
    game: Any, states: Any, actions: NDArray[np.int32], outcomes: NDArray[np.int8]
) -> None:
    """Play an action in every game; `outcomes` get 1, 0 or -1 for player 0, or `GOES_ON`."""
    for number in range(actions.size):
        state = states[number]
        game.step(state, int(actions[number]))
        is_over = game.is_terminal(state)
        outcomes[number] = game.outcome(state, 0) if is_over else GOES_ON


GOES_ON: Final = 2

compiled_begin_game: Final = CompiledFunction(begin_game, "self-play")
compiled_resume_game: Final = CompiledFunction(resume_game, "self-play")
compiled_play_actions: Final = CompiledFunction(play_actions, "self-play")


def rule_of(configuration: Configuration) -> Any:
    """The selection rule of a run's searches."""
    options = configuration.search
    if options.method == "gumbel":
        return Gumbel(
            c_visit=options.c_visit,
            c_scale=options.c_scale,
            considered=options.considered,
            simulations=options.simulations,
        )
    if options.method == "puct":
        return PUCT(c=options.c, fpu=options.fpu, noise_share=options.dirichlet)
    return EvaluatedUCB1(c=options.c)


class SelfPlay(Worker):
    """Plays the tasks of a run, one after the other; the weights are what they share."""

    name = "self-play"

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.game = game_of(configuration.game, configuration.options)
        self.network = new_network(self.game, configuration.network, seed=0).eval()
        planes = tuple(configuration.network.planes)
        device = device_of(configuration.self_play.device, "self_play.device")
        self.evaluator = NetworkEvaluator(self.network, self.game, planes, device)
        options = configuration.search
        self.compiles = is_compiled(self.game)
        self.reuses = options.reuse and options.method != "gumbel"
        """Whether the subtree of a move is kept."""
        by_network = options.method != "rollouts"
        self._cache = options.cache if by_network and "last_move" not in planes else 0
        """Evaluations that are kept, where equal positions look equal to the network."""

    def share(self, value: Mapping[str, Tensor]) -> None:
        """Play with these weights from now on."""
        load_weights(self.network, value)
        self.evaluator.update(self.network)

    @announced
    def do(self, task: Task, start_clock: Callable[[], None] = lambda: None) -> TaskResult:
        """Play a task: with the same weights the same task gives the same result."""
        rng = np.random.default_rng()
        rng.bit_generator.state = task.rng
        unfinished = copy.deepcopy(task.unfinished)
        search = self._new_search(len(unfinished.lengths), rng, task.epsilon)
        lockstep = Lockstep(self, search, unfinished, rng)
        for _ in range(self.configuration.self_play.plies):
            lockstep.play_ply()
        found = Games.joined([Games.none(self.game.num_actions()), *lockstep.finished])
        figures = {**lockstep.figures, "evaluations": float(search.evaluations)}
        return TaskResult(found, unfinished, rng.bit_generator.state, figures)

    def _new_search(self, count: int, rng: np.random.Generator, epsilon: float) -> EvaluatedSearch:
        """The search of this many games, with empty trees."""
        options, game = self.configuration.search, self.game
        evaluator: Any = self.evaluator
        if options.method == "rollouts":
            evaluator = RolloutEvaluator(evaluator, epsilon, rng)
        nodes = 1 + (options.simulations + 1) * game.num_actions()
        return EvaluatedSearch(
            game,
            new_trees(count, nodes * (2 if self.reuses else 1)),
            base.new_states(game, count),
            with_memory(Variant(rule_of(self.configuration), Uniform(), WinLoss()), game),
            evaluator,
            rng,
            cache=new_cache(game, self._cache),
            compiles=self.compiles,
        )


class Lockstep:
    """Games that all get their next move at the same time."""

    def __init__(
        self,
        worker: SelfPlay,
        search: EvaluatedSearch,
        unfinished: Unfinished,
        rng: np.random.Generator,
    ) -> None:
        self.configuration = worker.configuration
        self.game = worker.game
        self.search = search
        self.unfinished = unfinished
        self.rng = rng
        self.finished: list[Games] = []
        self.figures = dict.fromkeys(("simulations", "positions", "agreement", "entropy"), 0.0)
        self._worker = worker
        self._roots = base.new_states(self.game, len(unfinished.lengths))
        for number, length in enumerate(unfinished.lengths.tolist()):
            if length < 0:
                self._begin(number)
            else:
                actions = unfinished.actions[number]
                self._call(compiled_resume_game, self.game, self._roots, number, length, actions)

    def _call(self, function: CompiledFunction, *arguments: Any) -> Any:
        """Run a kernel: as machine code where the game compiles."""
        return (function if self._worker.compiles else function.function)(*arguments)

    def _begin(self, number: int) -> None:
        most = self.configuration.self_play.opening_plies
        plies = int(self.rng.random() * (most + 1))
        unfinished = self.unfinished
        unfinished.policies[number], unfinished.values[number] = 0.0, 0.0
        unfinished.lengths[number] = self._call(
            compiled_begin_game,
            *(self.game, self._roots, number, min(plies, self.game.max_plies())),
            *(self.rng, unfinished.actions[number]),
        )

    def play_ply(self) -> None:
        """Search every position, and play a move in it."""
        options, search = self.configuration.search, self.search
        search.run(self._roots, 0)
        priors = self._priors()
        search.add_root_noise(self._noise())
        self.figures["simulations"] += search.run(self._roots, options.simulations)
        policies, values, best = search.results()
        self._count(priors, policies)
        lengths = self.unfinished.lengths
        games = np.arange(len(lengths))
        self.unfinished.policies[games, lengths] = policies
        self.unfinished.values[games, lengths] = values
        actions = best if options.method == "gumbel" else self._drawn(policies, best)
        self.unfinished.actions[games, lengths] = actions
        lengths += 1
        outcomes = np.zeros(len(lengths), np.int8)
        self._call(compiled_play_actions, self.game, self._roots, actions, outcomes)
        self._go_on(actions, outcomes)

    def _noise(self) -> NDArray[np.float64]:
        options, num_actions = self.configuration.search, self.game.num_actions()
        shape = len(self._roots), num_actions
        if options.method == "gumbel":
            return options.noise * self.rng.gumbel(size=shape)
        return self.rng.gamma(options.noise_total / num_actions, size=shape)

    def _priors(self) -> NDArray[np.float32]:
        """The network's policies at the roots, ``(T, num_actions)``."""
        trees, found = self.search.trees, np.zeros((len(self._roots), self.game.num_actions()))
        for number in range(len(self._roots)):
            first = int(trees.first_child[number, ROOT])
            below = slice(first, first + int(trees.child_count[number, ROOT]))
            found[number, trees.action[number, below]] = trees.extras.prior[number, below]
        return found.astype(np.float32)

    def _count(self, priors: NDArray[np.float32], policies: NDArray[np.float32]) -> None:
        agree = priors.argmax(axis=1) == policies.argmax(axis=1)
        entropy = -(policies * np.log(policies + 1e-12)).sum()
        self.figures["positions"] += len(policies)
        self.figures["agreement"] += float(agree.sum())
        self.figures["entropy"] += float(entropy)

    def _drawn(self, policies: NDArray[np.float32], best: NDArray[np.int32]) -> NDArray[np.int32]:
        """Actions by temperature in the first plies, the best ones after them."""
        options = self.configuration.search
        draws = self.rng.random(len(best))
        if options.temperature == 0.0:
            return best
        drawn = draw_actions(policies, options.temperature, draws)
        return np.where(self.unfinished.lengths < options.temperature_plies, drawn, best)

    def _go_on(self, actions: NDArray[np.int32], outcomes: NDArray[np.int8]) -> None:
        """Collect the games that ended, begin others, and keep the subtrees of the moves."""
        trees = self.search.trees
        is_over = outcomes != GOES_ON
        for number in np.flatnonzero(is_over).tolist():
            length = int(self.unfinished.lengths[number])
            self.finished.append(
                Games(
                    np.array([length], np.int32),
                    outcomes[number : number + 1].copy(),
                    self.unfinished.actions[number, :length].copy(),
                    self.unfinished.policies[number, :length].copy(),
                    self.unfinished.values[number, :length].copy(),
                )
            )
            self._begin(number)
        if not self._worker.reuses:
            trees.node_count[:] = 0
            return
        room = trees.action.shape[1] // 2
        for number, action in enumerate(actions.tolist()):
            tree = tree_of(trees, number)
            node = None if is_over[number] else child_by_action(tree, ROOT, action)
            if node is not None and tree.visits[node]:
                keep_subtree(tree, node)
                if tree.node_count[0] <= room:
                    continue
            tree.node_count[0] = 0


# ---- where it runs -------------------------------------------------------------------------------


def new_worker(configuration: Configuration) -> SelfPlay:
    """A worker of a process of its own, which uses one thread."""
    torch.set_num_threads(1)
    return SelfPlay(configuration)


def new_pool(configuration: Configuration) -> Pool:
    """The workers of a run, where its `engine` says."""
    if configuration.engine == "local":
        return LocalPool(functools.partial(SelfPlay, configuration))
    make = functools.partial(new_worker, configuration)
    if configuration.engine == "processes":
        return ProcessPool(make, configuration.workers, start_attempts=ATTEMPTS)
    pool = RayPool(make, configuration.workers, gpus=configuration.self_play.gpus)
    try:
        check_claims(configuration, pool.resources)
    except ValueError:
        pool.close()
        raise
    return pool


def check_claims(configuration: Configuration, resources: Mapping[str, float]) -> None:
    """Check that Ray has room for all workers: some would wait for ever."""
    workers, gpus = configuration.workers, configuration.self_play.gpus
    processors = int(resources.get("CPU", 0))
    if workers > processors:
        raise ValueError(
            f"expected workers up to {processors}, the processors that Ray has, got {workers}"
        )
    if gpus and workers > int(resources.get("GPU", 0)) * int(1 / gpus):
        raise ValueError(
            f"expected self_play.gpus as a share that Ray's {resources.get('GPU', 0):g} GPUs can "
            f"give to {workers} workers, got {gpus}"
        )
