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
from agents.learning.data.lockstep import Lockstep, ManyPlayer, Moves
from agents.learning.evaluator import NetworkEvaluator, device_of
from agents.learning.files import load_weights
from agents.learning.networks import new_network
from agents.learning.replay import Games
from agents.learning.saved import environment_of
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
from hexenv.compiled import announced, is_compiled
from hexenv.games import base
from hexenv.games.base import Game
from hexenv.games.table import GameTable, Which, compiled_begin_game, compiled_replay_game


class Unfinished(NamedTuple):
    """The games of one worker that go on, T of them."""

    lengths: NDArray[np.int32]
    """``(T,)``: plies so far; -1 where a game has to begin."""
    actions: NDArray[np.int32]
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
            np.zeros((count, plies), np.int32),
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
        player = self._new_player(len(unfinished.lengths), rng, task.epsilon)
        games = GamesInPlay(self.configuration, self.game, player, unfinished, rng)
        for _ in range(self.configuration.self_play.plies):
            games.play_ply()
        found = Games.joined([Games.none(self.game.num_actions()), *games.finished])
        figures = {**games.figures, **player.figures}
        return TaskResult(found, unfinished, rng.bit_generator.state, figures)

    def _new_player(
        self, count: int, rng: np.random.Generator, epsilon: float
    ) -> "PlayoutPlayer | NetworkPlayer":
        """Who plays this many games, with empty trees."""
        options, game = self.configuration.search, self.game
        if options.method in PLAYOUTS:
            many = playing_agent(self.configuration).play_many(self.env, count, threads=1)
            return PlayoutPlayer(many, rng, options.simulations)
        evaluator: Any = self.evaluator
        if options.method == "rollouts":
            evaluator = RolloutEvaluator(evaluator, epsilon, rng)
        nodes = 1 + (options.simulations + 1) * game.num_actions()
        search = EvaluatedSearch(
            game,
            new_trees(count, nodes * (2 if self.reuses else 1)),
            base.new_states(game, count),
            variant_of(self.configuration, game),
            evaluator,
            rng,
            cache=new_cache(game, self._cache),
            compiles=is_compiled(game),
        )
        return NetworkPlayer(options, search, rng, self.reuses)


FIGURES: Final = ("simulations", "evaluations", "positions", "agreement", "entropy")


# ---- who plays -----------------------------------------------------------------------------------


class PlayoutPlayer(ManyPlayer):
    """Searches that play out, without the network; each goes on with its tree by itself.

    Attributes:
        figures: The sums of simulations and evaluations so far.
        priors: The policies of the last positions.
    """

    def __init__(self, many: ManyGames, rng: np.random.Generator, simulations: int) -> None:
        super().__init__(many)
        self.figures = {"simulations": 0.0, "evaluations": 0.0}
        self._rng, self._simulations = rng, simulations

    def begin(self, number: int, seed: int | None = None) -> None:
        super().begin(number, int(self._rng.random() * 2**31))

    def act(self, table: GameTable, which: Which) -> Moves:
        found = super().act(table, which)
        self.figures["simulations"] += float(self._simulations * len(which))
        visits = found.shares
        self.priors = (visits / visits.sum(axis=1, keepdims=True)).astype(np.float32)
        return found._replace(shares=self.priors)


class NetworkPlayer:
    """Searches that the network leads, of all games at once.

    Args:
        options: Of the search.
        search: With a tree for each game.
        rng: Of the noise.
        reuses: Whether the subtree of a move is kept.

    Attributes:
        figures: The sums of simulations and evaluations so far.
        priors: The network's policies of the last positions, ``(T, num_actions)``.
    """

    def __init__(
        self, options: Any, search: EvaluatedSearch, rng: np.random.Generator, reuses: bool
    ) -> None:
        self.figures = {"simulations": 0.0, "evaluations": 0.0}
        self._options, self._search, self._rng, self._reuses = options, search, rng, reuses
        self._searched = np.zeros(len(search.trees.node_count), np.int32)
        """Plies before the roots of the trees."""

    def begin(self, number: int, seed: int | None = None) -> None:
        self._search.trees.node_count[number] = 0

    def act(self, table: GameTable, which: Which) -> Moves:
        """Search every position: all games are always in play."""
        search = self._search
        self._keep_trees(table)
        search.run(table.states, 0)
        self.priors = self._read_priors()
        search.add_root_noise(self._noise())
        self.figures["simulations"] += search.run(table.states, self._options.simulations)
        self.figures["evaluations"] = float(search.evaluations)
        policies, values, best = search.results()
        return Moves(best.astype(np.int64), policies, values)

    def _keep_trees(self, table: GameTable) -> None:
        """Keep the subtrees of what was played since the last search."""
        trees = self._search.trees
        room = trees.action.shape[1] // 2
        for number in np.flatnonzero(trees.node_count).tolist():
            tree = tree_of(trees, number)
            played = table.actions[number, self._searched[number] : table.lengths[number]]
            is_kept = self._reuses and go_down(tree, played.tolist())
            if not is_kept or tree.node_count[0] > room:
                tree.node_count[0] = 0
        self._searched[:] = table.lengths

    def _noise(self) -> NDArray[np.float64]:
        options, num_actions = self._options, self._search.game.num_actions()
        shape = len(self._searched), num_actions
        if options.method == "gumbel":
            return options.noise * self._rng.gumbel(size=shape)
        return self._rng.gamma(options.noise_total / num_actions, size=shape)

    def _read_priors(self) -> NDArray[np.float32]:
        trees = self._search.trees
        found = np.zeros((len(self._searched), self._search.game.num_actions()))
        for number in range(len(found)):
            first = int(trees.first_child[number, ROOT])
            below = slice(first, first + int(trees.child_count[number, ROOT]))
            found[number, trees.action[number, below]] = trees.extras.prior[number, below]
        return found.astype(np.float32)


# ---- games ---------------------------------------------------------------------------------------


class GamesInPlay(Lockstep):
    """The games of a task: where one ends, another begins.

    Attributes:
        finished: Those that ended.
        figures: The sums of `TaskResult` that the player does not have.
    """

    def __init__(
        self,
        configuration: Configuration,
        game: Game,
        player: PlayoutPlayer | NetworkPlayer,
        unfinished: Unfinished,
        rng: np.random.Generator,
    ) -> None:
        count = len(unfinished.lengths)
        table = GameTable(base.new_states(game, count), unfinished.actions, unfinished.lengths)
        super().__init__(game, table, [player])
        self.configuration, self.unfinished, self.rng = configuration, unfinished, rng
        self.finished: list[Games] = []
        self.figures = dict.fromkeys(("positions", "agreement", "entropy"), 0.0)
        self._player = player
        for number, length in enumerate(unfinished.lengths.tolist()):
            if length < 0:
                self._begin(number)
            else:
                self.call(compiled_replay_game, table, number)
                player.begin(number)

    def _begin(self, number: int) -> None:
        most = self.configuration.self_play.opening_plies
        plies = min(int(self.rng.random() * (most + 1)), self.game.max_plies())
        self.unfinished.policies[number], self.unfinished.values[number] = 0.0, 0.0
        self.call(compiled_begin_game, self.table, number, plies, self.rng)
        self._player.begin(number)

    def choose(self, player: int, which: Which) -> NDArray[Any]:
        """Note the policies and values, for learning, and draw moves."""
        found = self._player.act(self.table, which)
        lengths = self.table.lengths[which]
        self.unfinished.policies[which, lengths] = found.shares
        self.unfinished.values[which, lengths] = found.values
        self._count(self._player.priors, found.shares)
        if self.configuration.search.method == "gumbel":
            return found.actions
        return self._drawn(found)

    def _count(self, priors: NDArray[np.float32], policies: NDArray[np.float32]) -> None:
        agree = priors.argmax(axis=1) == policies.argmax(axis=1)
        entropy = -(policies * np.log(policies + 1e-12)).sum()
        self.figures["positions"] += len(policies)
        self.figures["agreement"] += float(agree.sum())
        self.figures["entropy"] += float(entropy)

    def _drawn(self, found: Moves) -> NDArray[Any]:
        """Actions by temperature in the first plies, the best ones after them."""
        options = self.configuration.search
        draws = self.rng.random(len(found.actions))
        if options.temperature == 0.0:
            return found.actions
        drawn = draw_actions(found.shares, options.temperature, draws)
        return np.where(self.table.lengths < options.temperature_plies, drawn, found.actions)

    def end(self, number: int, outcome: int) -> None:
        """Collect a game, and begin another in its place."""
        unfinished, played = self.unfinished, slice(self.table.lengths[number])
        self.finished.append(
            Games(
                np.array([played.stop], np.int32),
                np.array([outcome], np.int8),
                unfinished.actions[number, played].astype(np.int16),
                unfinished.policies[number, played].copy(),
                unfinished.values[number, played].copy(),
            )
        )
        self._begin(number)


class NoSelfPlay(Worker):
    """In place of self-play, where a run learns from data: it plays nothing."""

    def __init__(self, num_actions: int) -> None:
        self._num_actions = num_actions

    def share(self, value: Any) -> None:
        pass

    def do(self, task: Task, start_clock: Callable[[], None] = lambda: None) -> TaskResult:
        figures: dict[str, float] = dict.fromkeys(FIGURES, 0.0)
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
