"""A training run: self-play, replay, learning, and checkpoints from which it goes on.

While workers play with the network of the last iteration, the learner learns from the games before.
The files of a run are in its directory (`agents.learning.run_directory`).
"""

# PyTorch's types are partly missing.
# pyright: reportUnknownMemberType=false

import json
import os
import signal
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
import torch

from agents.core.files import write_text
from agents.core.reading import parse_json
from agents.core.workers import Pool
from agents.learning.configuration import as_dict, make
from agents.learning.duel import duel, elo
from agents.learning.evaluator import NetworkEvaluator, device_of
from agents.learning.files import (
    load_checkpoint,
    load_network,
    load_weights,
    save_checkpoint,
    save_network,
)
from agents.learning.learner import Learner
from agents.learning.networks import new_network
from agents.learning.replay import Games, ReplayBuffer
from agents.learning.run_directory import GameFiles, Journal, RunDirectory, differences
from agents.learning.saved import find_network, game_of
from agents.learning.self_play import (
    PLAYOUTS,
    Task,
    TaskResult,
    Unfinished,
    new_pool,
    playing_agent,
    variant_of,
)

CHECKPOINTS: Final = 2
"""How many are kept."""


class StoppedError(KeyboardInterrupt):
    """The user has stopped the run (Ctrl-C); it is saved."""


class Run:
    """A training run in its directory, which is made if it is not there.

    Settings are plain values for `agents.learning.configuration.make`. A run that is there already
    goes on with its own; these may change what `CHANGEABLE` names.

    Raises:
        OSError: If a file cannot be read or written.
        ValueError: If the settings are wrong, or not those of the run, or a file is damaged.
    """

    def __init__(self, directory: str | os.PathLike[str], settings: Mapping[str, Any]) -> None:
        self.directory = Path(directory)
        self._files = RunDirectory(self.directory)
        self.configuration = configuration = self._files.configuration(settings)
        torch.set_num_threads(configuration.learner.threads)
        self.game = game_of(configuration.game, configuration.options)
        if configuration.search.method in PLAYOUTS:
            playing_agent(configuration)  # a mistake fails before anything is written
        else:
            variant_of(configuration, self.game)
        self.learner = Learner(configuration, self.game)
        if configuration.engine != "ray":  # Ray's machines have devices of their own
            device_of(configuration.self_play.device, "self_play.device")
        checkpoints = self._files.checkpoints()
        if configuration.start and not checkpoints:
            self._start_from(configuration.start)
        replay, planes = configuration.replay, tuple(configuration.network.planes)
        games = None
        if configuration.data:
            from agents.learning.dataset import games_of_folder  # most runs play their own games

            games = games_of_folder(configuration.data, self.game, replay.decided)
        capacity = replay.capacity if games is None else len(games.actions)
        self.buffer = ReplayBuffer(self.game, capacity, planes, replay.recency, replay.most_reuse)
        self._learnable_data = 0  # positions, where the run learns from a folder of data
        if games is not None:
            self.buffer.add(games)
            self._learnable_data = int(games.policies.any(axis=1).sum())
        self._games = GameFiles(self._files, self.buffer)
        self.iteration = 0
        self.rng = np.random.default_rng(configuration.seed)
        streams = np.random.SeedSequence([configuration.seed, 1]).spawn(configuration.workers)
        self._streams: list[dict[str, Any]] = [
            cast("Any", np.random.default_rng(seed).bit_generator.state) for seed in streams
        ]
        count = configuration.self_play.games
        self._unfinished = [Unfinished.none(self.game, count) for _ in streams]
        self._playing = self.learner.playing_weights()  # of the workers from their next task on
        self._played = self._playing  # of the workers in the task that comes back next
        self._last_saved = self._playing  # which the next saved network plays against
        self._evaluators: list[NetworkEvaluator] = []  # of the two networks of a duel
        self._elo = 0.0
        self._steps_due = 0.0
        self._stop = False
        self._is_between_iterations = True
        self._files.make_folders()
        if checkpoints:
            self._restore(checkpoints[-1])
        text = json.dumps(as_dict(configuration), indent=1) + "\n"
        write_text(self.directory / "config.json", text)
        if not checkpoints:
            self._save_network()
            self.save()

    # ---- beginning and going on ------------------------------------------------------------------

    def _start_from(self, net: str) -> None:
        """Take the weights of a network."""
        configuration = self.configuration
        own = (configuration.game, configuration.network.kind)
        saved = load_network(find_network(net), trusted=own)
        why = saved.why_not(self.game)
        if why is None and as_dict(saved.options) != as_dict(self.configuration.network):
            why = f"expected a network of {self.configuration.network}, got {saved.options}"
        if why is not None:
            raise ValueError(f"cannot start from {saved.path}: {why}")
        load_weights(self.learner.network, saved.network.state_dict())
        self.learner.average = {name: w.clone() for name, w in self.learner.weights().items()}

    def _contents(self) -> dict[str, Any]:
        """The contents of a checkpoint."""
        return {
            "configuration": json.dumps(as_dict(self.configuration)),
            "iteration": self.iteration,
            "learner": self.learner.state(),
            "playing": self._playing,
            "played": self._played,
            "duelled": self._last_saved,
            "elo": self._elo,
            "owed": self._steps_due,
            "streams": json.dumps([self.rng.bit_generator.state, *self._streams]),
            "unfinished": [
                [torch.from_numpy(array) for array in unfinished] for unfinished in self._unfinished
            ],
            "shards": self._games.shards,
            "total": self.buffer.total,
            "uses": torch.from_numpy(self.buffer.uses.astype(np.int32)),
        }

    def save(self) -> None:
        """Write a checkpoint, and remove what no checkpoint needs any more."""
        save_checkpoint(self._files.file("checkpoints", self.iteration, "pt"), self._contents())
        self._remove_old()

    def _remove_old(self) -> None:
        """Remove old checkpoints, and the games that the kept ones do not need."""
        for path in self._files.checkpoints()[:-CHECKPOINTS]:
            path.unlink()
        self._games.drop(int(self._files.checkpoints()[0].stem), self.configuration.keep_games)

    def _restore(self, path: Path) -> None:
        try:
            contents = load_checkpoint(path)
            other = make(parse_json(contents["configuration"]))
            for key, ours, theirs in differences(self.configuration, other):
                raise ValueError(f"it is of another run: expected {key} of {ours}, got {theirs}")
            self.iteration = contents["iteration"]
            self.learner.restore(contents["learner"])
            self._playing, self._played = contents["playing"], contents["played"]
            self._last_saved, self._elo = contents["duelled"], contents["elo"]
            self._steps_due = contents["owed"]
            self.rng.bit_generator.state, *streams = parse_json(contents["streams"])
            count = self.configuration.workers
            self._streams = (streams + self._streams[len(streams) :])[:count]
            unfinished = [
                Unfinished(*(part.numpy() for part in parts)) for parts in contents["unfinished"]
            ]
            self._unfinished = (unfinished + self._unfinished[len(unfinished) :])[:count]
            self._games.shards = [(int(number), int(first)) for number, first in contents["shards"]]
            total, uses = int(contents["total"]), contents["uses"].numpy()
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"cannot go on from {path}: {error} (without the file, the run goes on from the "
                "checkpoint before it)"
            ) from error
        if not self.configuration.data:
            self._games.refill(total)
        elif self.buffer.total != total:
            raise ValueError(
                f"expected {total} positions in {self.configuration.data}, as when {path} was "
                f"written, got {self.buffer.total}"
            )
        self.buffer.uses[:] = uses
        with self._files.locked(self.iteration):
            self._remove_old()  # the checkpoint may list games that were removed after it

    # ---- running ---------------------------------------------------------------------------------

    def run(self, report: Callable[[dict[str, Any]], None] = lambda figures: None) -> None:
        """Train to the end, and report the figures of every iteration.

        Raises:
            StoppedError: After Ctrl-C; the run is saved.
            KeyboardInterrupt: After Ctrl-C twice; the run is as it was at its last checkpoint.
            OSError: If a file cannot be written, or workers die again and again; likewise.
            ValueError: If another process trains the run, or learning diverges.
        """
        if self.iteration >= self.configuration.iterations:
            return
        self._stop = False
        with (
            self._files.locked(self.iteration),
            closing(Journal(self.directory, self.iteration)) as journal,
            closing(new_pool(self.configuration)) as pool,
            self._interruptible(),
        ):
            self._submit(pool)
            while self.iteration < self.configuration.iterations:
                report(self._iterate(pool, journal))
                if self._stop:
                    raise StoppedError

    @contextmanager
    def _interruptible(self) -> Generator[None]:
        """Ctrl-C stops the run: at once while it waits for games, else at the iteration's end."""

        def stop(number: int, frame: Any) -> None:
            is_again, self._stop = self._stop, True
            if is_again:
                raise KeyboardInterrupt
            if self._is_between_iterations:
                raise StoppedError

        try:
            before = signal.signal(signal.SIGINT, stop)
        except ValueError:  # not the main thread
            yield
            return
        try:
            yield
        except KeyboardInterrupt as interrupt:  # Ray replaces a StoppedError by one of its own
            if not self._is_between_iterations:
                raise
            self.save()
            raise StoppedError from interrupt
        finally:
            signal.signal(signal.SIGINT, before)

    def _submit(self, pool: Pool) -> None:
        """Let the workers play the next plies of their games."""
        options = self.configuration.search
        epsilon = options.epsilon * options.epsilon_decay**self.iteration
        parts = zip(self._unfinished, self._streams, strict=True)
        pool.share(self._played)
        pool.submit([Task(unfinished, stream, epsilon) for unfinished, stream in parts])

    def _iterate(self, pool: Pool, journal: Journal) -> dict[str, Any]:
        """Take the games of the workers, let them play on, and learn meanwhile."""
        started = time.perf_counter()
        results = pool.collect()
        self._is_between_iterations = False
        waited = time.perf_counter() - started
        figures = self._take_in(results)
        self._played = self._playing
        self.iteration += 1
        configuration = self.configuration
        if self.iteration < configuration.iterations:
            self._submit(pool)
        figures |= self._learn()
        is_last = self.iteration == configuration.iterations
        is_saved = is_last or self.iteration % configuration.save_interval == 0
        figures |= self._promote(is_saved)
        if is_saved:
            self._save_network()
        seconds = time.perf_counter() - started
        figures |= {
            "iteration": self.iteration,
            "total_positions": self.buffer.total,
            "seconds": seconds,
            "seconds_waited": waited,
            "games_per_second": figures["games"] / seconds,
            "simulations_per_second": figures.pop("simulations") / seconds,
            "positions_per_second": figures["positions"] / seconds,
        }
        journal.add(figures)
        self._is_between_iterations = True
        if is_last or self.iteration % configuration.checkpoint_interval == 0:
            self.save()
        return figures

    def _take_in(self, results: list[TaskResult]) -> dict[str, Any]:
        """Add the games that ended to the buffer and to the run's files."""
        games = Games.joined([result.games for result in results])
        self._unfinished = [result.unfinished for result in results]
        self._streams = [result.rng for result in results]
        if len(games.lengths):
            self._games.add(self.iteration + 1, games)
            learnable = int(games.policies.any(axis=1).sum())
            replay = self.configuration.replay
            self._steps_due += learnable * replay.reuse / self.configuration.learner.batch
        if self._learnable_data:
            replay, batch = self.configuration.replay, self.configuration.learner.batch
            share = replay.reuse / self.configuration.iterations
            self._steps_due += self._learnable_data * share / batch
        sums = {key: sum(result.figures[key] for result in results) for key in results[0].figures}
        positions = max(1.0, sums["positions"])
        has_priors = self.configuration.search.method in ("gumbel", "puct")
        return {
            "games": len(games.lengths),
            "positions": sums["positions"],
            "simulations": sums["simulations"],
            "evaluations": sums["evaluations"],
            "plies_per_game": len(games.actions) / max(1, len(games.lengths)),
            "first_player_score": float(games.outcomes.sum() / max(1, len(games.lengths)) + 1) / 2,
            **({"search_agreement": sums["agreement"] / positions} if has_priors else {}),
            "search_entropy": sums["entropy"] / positions,
        }

    def _learn(self) -> dict[str, float]:
        """Take the steps of training that are due for the new positions."""
        configuration = self.configuration
        if self.buffer.total < configuration.replay.fill and not configuration.data:
            self._steps_due = 0.0
            return {}
        sums: dict[str, float] = {}
        steps = 0
        progress = self.iteration / configuration.iterations
        while self._steps_due >= 1.0:
            batch = self.buffer.sample(configuration.learner.batch, self.rng)
            self._steps_due -= 1.0
            if len(batch.players) < 2:
                continue
            for key, value in self.learner.step(batch, progress, self.rng).items():
                sums[key] = sums.get(key, 0.0) + value
            steps += 1
        self.learner.check()
        return {"steps": steps, **{key: value / max(1, steps) for key, value in sums.items()}}

    def _promote(self, is_saved: bool) -> dict[str, float]:
        """Let the new network play if it passes the gate; measure it if it is saved."""
        configuration = self.configuration
        weights = self.learner.playing_weights()
        if configuration.gate > 0:
            score, _ = self._duel(weights, self._playing)
            if score >= configuration.gate:
                self._playing = weights
            figures = {"gate_score": score}
        else:
            self._playing, figures = weights, {}
        if is_saved and configuration.duel_games:
            score, distinct = self._duel(self._playing, self._last_saved)
            self._elo += elo(score, distinct)
            self._last_saved = self._playing
            figures |= {"score_against_last_saved": score, "elo": self._elo}
        return figures

    def _duel(
        self, first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]
    ) -> tuple[float, int]:
        configuration = self.configuration
        for number, weights in enumerate((first, second)):
            if number == len(self._evaluators):
                self._evaluators.append(self.evaluator_of(weights))
            else:
                self._evaluators[number].update(self._network_of(weights))
        pair = self._evaluators[0], self._evaluators[1]
        plies = max(2, configuration.self_play.opening_plies)
        return duel(self.game, pair, configuration.duel_games, plies, configuration.seed)

    def evaluator_of(self, weights: dict[str, torch.Tensor]) -> NetworkEvaluator:
        """An evaluator with these weights."""
        planes = tuple(self.configuration.network.planes)
        return NetworkEvaluator(self._network_of(weights), self.game, planes)

    def _network_of(self, weights: dict[str, torch.Tensor]) -> torch.nn.Module:
        network = new_network(self.game, self.configuration.network, seed=0)
        load_weights(network, weights)
        return network

    def _save_network(self) -> None:
        save_network(
            self._files.file("networks", self.iteration, "safetensors"),
            self._network_of(self._playing),
            self.configuration.network,
            (self.configuration.game, self.configuration.options),
            {
                "iteration": self.iteration,
                "positions": self.buffer.total,
                "configuration": as_dict(self.configuration),
            },
        )
