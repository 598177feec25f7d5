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

from agents.core.knowledge import knowledge_of
from agents.core.ray_workers import RayPool
from agents.core.temperature import draw_actions
from agents.core.workers import ATTEMPTS, LocalPool, Pool, ProcessPool, Worker
from agents.learning.configuration import Configuration
from agents.learning.data.lockstep import GOES_ON, compiled_begin_game, compiled_play_actions
from agents.learning.evaluator import NetworkEvaluator, device_of
from agents.learning.files import environment_of, load_weights
from agents.learning.networks import new_network
from agents.learning.replay import Games
from agents.mcts.anet import EvaluatedUCB1
from agents.mcts.gumbel import Gumbel
from agents.mcts.many_games import ManyGames
from agents.mcts.puct import PUCT
from agents.mcts.rollouts import RolloutEvaluator
from agents.mcts.worker import go_down
from agents.registry import make_agent
from agents.search.evaluated import EvaluatedSearch, new_cache, new_trees, tree_of
from agents.search.playout import Uniform
from agents.search.proofs import HardSolver
from agents.search.reward import WinLoss
from agents.search.tree import ROOT
from agents.search.variant import Variant, with_memory
from hexenv.compiled import CompiledFunction, announced, is_compiled, kernel
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
def resume_game(
    game: Any, states: Any, number: int, length: int, actions: NDArray[np.int16]
) -> None:
    """Play one of the states to the point where its game was."""
    state = states[number]
    game.initial(state)
    for ply in range(length):
        game.step(state, int(actions[ply]))


compiled_resume_game: Final = CompiledFunction(resume_game, "self-play")


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


def variant_of(configuration: Configuration, game: Game) -> Variant:
    """The search of a run whose method asks the network; with knowledge, what it proves counts.

    Raises:
        ValueError: If there is no such knowledge of the game, or of such a board.
    """
    options = configuration.search
    variant = Variant(rule_of(configuration), Uniform(), WinLoss())
    if options.knowledge:
        variant = knowledge_of(game).add_knowledge(
            variant._replace(solver=HardSolver()), game, options.knowledge, options.knowledge_at
        )
    return with_memory(variant, game)


PLAYOUTS: Final = ("uct", "rave")
"""Methods that need no network to play."""


def playing_agent(configuration: Configuration) -> Any:
    """The agent of a run whose method is one of `PLAYOUTS`.

    Raises:
        ValueError: If it cannot play the game in many games at once.
    """
    options = configuration.search
    if options.knowledge:
        raise ValueError(
            f"expected no knowledge with method {options.method}, got {options.knowledge!r}"
        )
    parameters = {"simulations": options.simulations, "playout": options.playout}
    parameters |= {"reuse": options.reuse} | ({"c": options.c} if options.method == "uct" else {})
    texts = (f"{name}={value}" for name, value in parameters.items())
    agent: Any = make_agent(f"{options.method}:{','.join(texts)}")
    game = environment_of(configuration.game, configuration.options).game
    with_memory(agent.variant, game)  # refuses a playout that does not fit
    return agent


class SelfPlay(Worker):
    """Plays the tasks of a run, one after the other; the weights are what they share."""

    name = "self-play"

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.env = environment_of(configuration.game, configuration.options)
        self.game = self.env.game
        self.network = new_network(self.game, configuration.network, seed=0).eval()
        planes = tuple(configuration.network.planes)
        device = device_of(configuration.self_play.device, "self_play.device")
        self.evaluator = NetworkEvaluator(self.network, self.game, planes, device)
        options = configuration.search
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
        kind = PlayoutLockstep if isinstance(search, ManyGames) else Lockstep
        lockstep = kind(self, search, unfinished, rng)
        for _ in range(self.configuration.self_play.plies):
            lockstep.play_ply()
        found = Games.joined([Games.none(self.game.num_actions()), *lockstep.finished])
        figures = {**lockstep.figures, "evaluations": float(getattr(search, "evaluations", 0))}
        return TaskResult(found, unfinished, rng.bit_generator.state, figures)

    def _new_search(self, count: int, rng: np.random.Generator, epsilon: float) -> Any:
        """The search of this many games, with empty trees."""
        options, game = self.configuration.search, self.game
        if options.method in PLAYOUTS:
            return playing_agent(self.configuration).play_many(self.env, count, threads=1)
        evaluator: Any = self.evaluator
        if options.method == "rollouts":
            evaluator = RolloutEvaluator(evaluator, epsilon, rng)
        nodes = 1 + (options.simulations + 1) * game.num_actions()
        return EvaluatedSearch(
            game,
            new_trees(count, nodes * (2 if self.reuses else 1)),
            base.new_states(game, count),
            variant_of(self.configuration, game),
            evaluator,
            rng,
            cache=new_cache(game, self._cache),
            compiles=is_compiled(game),
        )


FIGURES: Final = ("simulations", "positions", "agreement", "entropy")


class Lockstep:
    """Games that all get their next move at the same time."""

    def __init__(
        self,
        worker: SelfPlay,
        search: Any,
        unfinished: Unfinished,
        rng: np.random.Generator,
    ) -> None:
        self.configuration = worker.configuration
        self.game = worker.game
        self.search = search
        self.unfinished = unfinished
        self.rng = rng
        self.finished: list[Games] = []
        self.figures = dict.fromkeys(FIGURES, 0.0)
        self._worker = worker
        self._roots = base.new_states(self.game, len(unfinished.lengths))
        for number, length in enumerate(unfinished.lengths.tolist()):
            if length < 0:
                self._begin(number)
            else:
                self._resume(number, length)

    def _call(self, function: CompiledFunction, *arguments: Any) -> Any:
        """Run a kernel: as machine code where the game compiles."""
        return function.fitting(self.game)(*arguments)

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

    def _resume(self, number: int, length: int) -> None:
        """Go on with a game of an earlier task."""
        actions = self.unfinished.actions[number]
        self._call(compiled_resume_game, self.game, self._roots, number, length, actions)

    def _find(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]:
        """Search every position; the policies, the values and the best actions."""
        options, search = self.configuration.search, self.search
        search.run(self._roots, 0)
        priors = self._priors()
        search.add_root_noise(self._noise())
        self.figures["simulations"] += search.run(self._roots, options.simulations)
        found = search.results()
        self._count(priors, found[0])
        return found

    def play_ply(self) -> None:
        """Search every position, and play a move in it."""
        options = self.configuration.search
        policies, values, best = self._find()
        lengths = self.unfinished.lengths
        games = np.arange(len(lengths))
        self.unfinished.policies[games, lengths] = policies
        self.unfinished.values[games, lengths] = values
        actions = best if options.method == "gumbel" else self._drawn(policies, best)
        self.unfinished.actions[games, lengths] = actions
        lengths += 1
        outcomes = np.zeros(len(lengths), np.int8)
        self._call(compiled_play_actions, self.game, self._roots, games, actions, outcomes)
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

    def _drawn(self, policies: NDArray[np.float32], best: NDArray[Any]) -> NDArray[Any]:
        """Actions by temperature in the first plies, the best ones after them."""
        options = self.configuration.search
        draws = self.rng.random(len(best))
        if options.temperature == 0.0:
            return best
        drawn = draw_actions(policies, options.temperature, draws)
        return np.where(self.unfinished.lengths < options.temperature_plies, drawn, best)

    def _go_on(self, actions: NDArray[Any], outcomes: NDArray[np.int8]) -> None:
        """Collect the games that ended, begin others, and keep the subtrees of the moves."""
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
        self._keep_trees(actions, is_over)

    def _keep_trees(self, actions: NDArray[Any], is_over: NDArray[np.bool_]) -> None:
        trees = self.search.trees
        if not self._worker.reuses:
            trees.node_count[:] = 0
            return
        room = trees.action.shape[1] // 2
        for number, action in enumerate(actions.tolist()):
            tree = tree_of(trees, number)
            is_kept = not is_over[number] and go_down(tree, [action])
            if not is_kept or tree.node_count[0] > room:
                tree.node_count[0] = 0


class PlayoutLockstep(Lockstep):
    """Games whose searches play out, without the network; each goes on with its tree by itself."""

    def _begin(self, number: int) -> None:
        super()._begin(number)
        self.search.reset(number, int(self.rng.random() * 2**31))

    def _resume(self, number: int, length: int) -> None:
        super()._resume(number, length)
        self.search.reset(number, int(self.rng.random() * 2**31))

    def _find(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[Any]]:
        unfinished, which = self.unfinished, np.arange(len(self._roots))
        actions = unfinished.actions.astype(np.int32)
        best = self.search.act(self._roots, actions, unfinished.lengths, which)
        visits, values = self.search.found(which, best)
        policies = (visits / visits.sum(axis=1, keepdims=True)).astype(np.float32)
        self.figures["simulations"] += float(self.configuration.search.simulations * len(which))
        self._count(policies, policies)
        return policies, values, best

    def _keep_trees(self, actions: NDArray[Any], is_over: NDArray[np.bool_]) -> None:
        """Do nothing: the searches find the positions in their trees."""


class NoSelfPlay(Worker):
    """In place of self-play, where a run learns from data: it plays nothing."""

    def __init__(self, num_actions: int) -> None:
        self._num_actions = num_actions

    def share(self, value: Any) -> None:
        pass

    def do(self, task: Task, start_clock: Callable[[], None] = lambda: None) -> TaskResult:
        figures: dict[str, float] = dict.fromkeys((*FIGURES, "evaluations"), 0.0)
        return TaskResult(Games.none(self._num_actions), task.unfinished, task.rng, figures)


# ---- where it runs -------------------------------------------------------------------------------


def new_worker(configuration: Configuration, kind: type[SelfPlay]) -> SelfPlay:
    """A worker of a process of its own, which uses one thread."""
    torch.set_num_threads(1)
    return kind(configuration)


def new_pool(configuration: Configuration, kind: type[SelfPlay] = SelfPlay) -> Pool:
    """The workers of a run, where its `engine` says; `kind` is the class of those that play."""
    if configuration.data:
        game = environment_of(configuration.game, configuration.options).game
        return LocalPool(functools.partial(NoSelfPlay, game.num_actions()))
    if configuration.engine == "local":
        return LocalPool(functools.partial(kind, configuration))
    make = functools.partial(new_worker, configuration, kind)
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
