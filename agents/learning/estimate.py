"""What a training run will take on this machine, measured before it starts.

Workers play some plies and the learner takes some steps: each alone, and both at once, as they
share the processors in a run. The measured times are extrapolated to the whole run.
"""

# PyTorch's types are partly missing.
# pyright: reportUnknownMemberType=false

import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

import numpy as np
import torch
from msgspec.structs import replace

from agents.learning.configuration import Configuration
from agents.learning.duel import duel
from agents.learning.evaluator import NetworkEvaluator
from agents.learning.files import save_checkpoint
from agents.learning.learner import Learner
from agents.learning.networks import new_network
from agents.learning.replay import Games, ReplayBuffer
from agents.learning.run_directory import RunDirectory
from agents.learning.saved import game_of
from agents.learning.self_play import SelfPlay, Task, TaskResult, Unfinished, new_pool
from hexenv.games import base
from hexenv.games.base import Game

MARGIN: Final = 2.0
"""The factor, up and down, by which a run may differ from what was measured at its beginning: its
games get longer or shorter, the cache of evaluations finds more or fewer positions, and other
programs take processors."""
POSITIONS: Final = 1000
"""Of random games, to measure learning with."""
DUEL_GAMES: Final = 20
"""To measure duels with."""


class PartSeconds(NamedTuple):
    """Seconds of the two parts of a run."""

    ply: float
    """Of self-play, for all games of all workers."""
    step: float
    """Of learning."""


class Estimate(NamedTuple):
    """What the rest of a run will take.

    Attributes:
        iterations: That are left.
        positions: Searched in an iteration.
        steps: Of learning in an iteration.
        seconds: Of the whole.
        least: Its lower bound, in seconds.
        most: Its upper bound.
        memory: Bytes of all processes, with a full replay buffer, at most; None where the system
            does not say.
        gpu_memory: Bytes that the learner takes on its GPU; 0 without one.
        alone: What self-play and learning take, each alone.
        together: Both at once.
        others: Seconds an iteration for duels and files.
        measured: Seconds that the measurement took.
    """

    iterations: int
    positions: int
    steps: float
    seconds: float
    least: float
    most: float
    memory: int | None
    gpu_memory: int
    alone: PartSeconds
    together: PartSeconds
    others: float
    measured: float

    def as_json(self) -> dict[str, Any]:
        """As a dictionary for JSON."""
        paces = {"alone": self.alone._asdict(), "together": self.together._asdict()}
        return {**self._asdict(), **paces}


def estimate(
    directory: str | os.PathLike[str], settings: Mapping[str, Any], seconds: float = 20.0
) -> Estimate:
    """Measure what is left of a run for some seconds, and extrapolate; nothing is written there.

    Args:
        directory: Of the run, which need not be there.
        settings: As of `agents.learning.training.Run`.
        seconds: To measure for, besides the start of the workers and the first compilation.

    Raises:
        ValueError: If the settings are wrong, or not those of the run; or of an engine whose
            machines cannot be measured from here.
    """
    files = RunDirectory(Path(directory))
    configuration = files.configuration(settings)
    if configuration.engine == "ray":
        raise ValueError("expected engine processes or local to estimate, got ray")
    if configuration.data:
        raise ValueError(
            f"expected a run with self-play to estimate, got data {configuration.data}"
        )
    checkpoints = files.checkpoints()
    done = int(checkpoints[-1].stem) if checkpoints else 0
    started = time.perf_counter()
    torch.set_num_threads(configuration.learner.threads)
    with closing(Probe(configuration)) as probe:
        alone, together = probe.measure(seconds)
        others = probe.seconds_of_others()
        memory, gpu_memory = probe.memory(), probe.gpu_memory()
    left = max(0, configuration.iterations - done)
    positions, steps = sizes(configuration)
    unfilled = 0 if done else min(left, math.ceil(configuration.replay.fill / positions))
    plies = configuration.self_play.plies
    each = seconds_of_iteration(configuration, alone, together, steps, others)
    total = unfilled * (plies * alone.ply + others) + (left - unfilled) * each
    return Estimate(
        left,
        positions,
        steps,
        total,
        total / MARGIN,
        total * MARGIN,
        memory,
        gpu_memory,
        alone,
        together,
        others,
        time.perf_counter() - started,
    )


def sizes(configuration: Configuration) -> tuple[int, float]:
    """The positions and the steps of an iteration."""
    self_play = configuration.self_play
    positions = configuration.workers * self_play.games * self_play.plies
    return positions, positions * configuration.replay.reuse / configuration.learner.batch


def seconds_of_iteration(
    configuration: Configuration,
    alone: PartSeconds,
    together: PartSeconds,
    steps: float,
    others: float,
) -> float:
    """What an iteration takes.

    Self-play and learning begin at once, and slow each other down until one of them ends.
    """
    plies = configuration.self_play.plies
    if configuration.engine == "local":
        return plies * alone.ply + steps * alone.step + others
    learning = steps + others / alone.step  # files and duels as so many steps
    playing_ends, learning_ends = plies * together.ply, learning * together.step
    if learning_ends <= playing_ends:
        return learning_ends + (plies - learning_ends / together.ply) * alone.ply
    return playing_ends + (learning - playing_ends / together.step) * alone.step


# ---- measuring -----------------------------------------------------------------------------------


class TimedTask(NamedTuple):
    """A task of self-play with its own number of plies."""

    task: Task
    plies: int


class TimedResult(NamedTuple):
    """What came of it, the seconds it took, and the memory of its process."""

    result: TaskResult
    seconds: float
    memory: int | None


class TimedSelfPlay(SelfPlay):
    """A worker that takes the time."""

    def do(self, task: Any, start_clock: Callable[[], None] = lambda: None) -> Any:
        """Play a `TimedTask`, for a `TimedResult`."""
        options = replace(self.configuration.self_play, plies=task.plies)
        self.configuration = replace(self.configuration, self_play=options)
        started = time.perf_counter()
        result = super().do(task.task, start_clock)
        return TimedResult(result, time.perf_counter() - started, most_memory())


class Probe:
    """The parts of a run, in small."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self.game = game_of(configuration.game, configuration.options)
        self.learner = Learner(configuration, self.game)
        self.rng = np.random.default_rng(configuration.seed)
        planes = tuple(configuration.network.planes)
        self.buffer = ReplayBuffer(self.game, POSITIONS, planes)
        while self.buffer.total < POSITIONS:
            self.buffer.add(random_game(self.game, self.rng))
        self.pool = new_pool(configuration, TimedSelfPlay)
        self.pool.share(self.learner.playing_weights())
        count, workers = configuration.self_play.games, range(configuration.workers)
        self.unfinished = [Unfinished.none(self.game, count) for _ in workers]
        seeds = np.random.SeedSequence(configuration.seed).spawn(len(workers))
        self.streams: list[Any] = [np.random.default_rng(s).bit_generator.state for s in seeds]
        self.memory_of_workers: list[int | None] = []

    def close(self) -> None:
        """End the workers."""
        self.pool.close()

    def measure(self, seconds: float) -> tuple[PartSeconds, PartSeconds]:
        """The pace of self-play and learning, each alone, and both at once."""
        self.play(1)  # compiles
        self.learn(0.0)
        ply = self.play(1)
        plies = max(1, round(seconds / 3 / ply))
        ply = self.play(plies)
        alone = PartSeconds(ply, self.learn(seconds / 3))
        if self.configuration.engine == "local":
            return alone, alone
        return alone, self.measure_together(plies, alone)

    def measure_together(self, plies: int, alone: PartSeconds) -> PartSeconds:
        """The pace of both while both go on."""
        started = time.perf_counter()
        self.submit(plies)
        step = self.learn(plies * alone.ply)
        learnt = time.perf_counter() - started
        took = self.collect()
        rest = max(0.0, took - learnt) / alone.ply  # plies that were played alone
        ply = learnt / max(1.0, plies - rest) if rest else took / plies
        return PartSeconds(max(ply, alone.ply), max(step, alone.step))

    def play(self, plies: int) -> float:
        """Seconds for a ply."""
        self.submit(plies)
        return self.collect() / plies

    def submit(self, plies: int) -> None:
        """Let the workers play."""
        parts = zip(self.unfinished, self.streams, strict=True)
        epsilon = self.configuration.search.epsilon
        tasks = [TimedTask(Task(unfinished, rng, epsilon), plies) for unfinished, rng in parts]
        self.pool.submit(tasks)

    def collect(self) -> float:
        """Seconds that the slowest worker took."""
        found = cast("list[TimedResult]", self.pool.collect())
        self.unfinished = [each.result.unfinished for each in found]
        self.streams = [each.result.rng for each in found]
        self.memory_of_workers = [each.memory for each in found]
        seconds = [each.seconds for each in found]  # one after the other in this process
        return sum(seconds) if self.configuration.engine == "local" else max(seconds)

    def learn(self, seconds: float) -> float:
        """Seconds for a step, of steps for this long, one at least."""
        started, steps = time.perf_counter(), 0
        while steps == 0 or time.perf_counter() - started < seconds:
            batch = self.buffer.sample(self.configuration.learner.batch, self.rng)
            self.learner.step(batch, 0.0, self.rng)
            self.buffer.uses[:] = 0
            steps += 1
        return (time.perf_counter() - started) / steps

    def seconds_of_others(self) -> float:
        """Seconds an iteration for duels and checkpoints."""
        configuration = self.configuration
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            arrays = [[torch.from_numpy(part) for part in each] for each in self.unfinished]
            contents = {"learner": self.learner.state(), "unfinished": arrays}
            save_checkpoint(Path(folder, "checkpoint.pt"), contents)
        saving = time.perf_counter() - started
        duels = 1 / configuration.save_interval + (configuration.gate > 0)
        return saving / configuration.checkpoint_interval + duels * self._seconds_of_duel()

    def _seconds_of_duel(self) -> float:
        games = self.configuration.duel_games
        if games < 2:
            return 0.0
        network = new_network(self.game, self.configuration.network, seed=0)
        planes = tuple(self.configuration.network.planes)
        evaluator = NetworkEvaluator(network, self.game, planes)
        played = min(games, DUEL_GAMES)
        started = time.perf_counter()
        duel(self.game, (evaluator, evaluator), played, 2, seed=0)
        return (time.perf_counter() - started) * games / played

    # ---- memory ----------------------------------------------------------------------------------

    def memory(self) -> int | None:
        """Bytes of all processes with a full buffer; parts that they share count for each."""
        found = [most_memory()]
        if self.configuration.engine != "local":
            found += self.memory_of_workers
        if None in found:
            return None
        parts = vars(self.buffer).values()
        a_position = sum(getattr(part, "nbytes", 0) for part in parts) / POSITIONS
        total = sum(cast("list[int]", found))
        return total + round(a_position * self.configuration.replay.capacity)

    def gpu_memory(self) -> int:
        """Bytes that the learner has taken on its GPU."""
        on_gpu = self.learner.device.type == "cuda"
        return int(torch.cuda.max_memory_allocated(self.learner.device)) if on_gpu else 0


def random_game(game: Game, rng: np.random.Generator) -> Games:
    """A game of random moves with policies, as self-play gives one."""
    state, actions = base.new_state(game), list[int]()
    buffer = np.empty(game.num_actions(), np.int32)
    while not game.is_terminal(state):
        count = game.legal_actions(state, buffer)
        actions.append(int(buffer[int(rng.random() * count)]))
        game.step(state, actions[-1])
    plies = len(actions)
    return Games(
        np.array([plies], np.int32),
        np.array([game.outcome(state, 0)], np.int8),
        np.array(actions, np.int16),
        np.full((plies, game.num_actions()), 1 / game.num_actions(), np.float32),
        np.zeros(plies, np.float32),
    )


def most_memory() -> int | None:
    """The bytes that this process had in memory at its peak; None where the system says nothing."""
    with suppress(OSError, IndexError, ValueError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    with suppress(ImportError):
        import resource

        unit = 1 if os.uname().sysname == "Darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return None
