"""Ratings of a policy while it trains, kept in a folder and shown in TensorBoard.

In its folder are ``anchors.json``, the opponents and their fixed ratings; ``ratings.jsonl``, a line
for each rating with step, rating, interval and results per opponent; ``films/000200000.gif``, a
game of that rating; ``tensorboard/``, the same for TensorBoard.
"""

import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, cast

from agents.arena.anchors import AGENTS, ANCHORS, Anchors, rate_policy
from agents.arena.game_records import plain_record
from agents.arena.ratings import Rating
from agents.arena.results import PlayedGame
from agents.arena.running import TournamentRun
from agents.arena.schedule import new_environment
from agents.core.background import in_background
from agents.core.files import write_text
from agents.core.workers import LocalPool, ProcessPool, Worker
from agents.learning.progress.ratings import RATINGS, read_ratings
from agents.learning.progress.writers import Writer, usual_writers
from agents.records.films import film_of, write_gif
from hexenv.common.options import AtLeastOne, checks_options
from hexenv.envs.aec import BoardEnv
from hexenv.learners.opponents import as_player


class RatingLog:
    """Rates a policy now and then, against anchors with fixed ratings.

    For Stable-Baselines3 there is a callback, `hexenv.adapters.sb3.LogRatings`. Elsewhere a
    training loop calls `rate` at intervals, and `close` in the end. In a folder with ratings they
    go on; those from the step of a new one on are replaced.

    Examples:
        >>> from agents import RandomAgent
        >>> anchors = Anchors("tictactoe", {"random": 0.0, "greedy": 300.0})
        >>> log = RatingLog("log", "tictactoe", anchors=anchors, pairs=2, writers=[])
        >>> log.rate(RandomAgent(seed=1), step=1000)
        >>> log.close()
        >>> [rating.step for rating in log.ratings]
        [1000]

    Args:
        folder: Where everything is kept.
        game: By its name.
        options: Of the game, ``key=value``.
        anchors: The opponents: `Anchors`; or the path of their file; or names of agents, whose
            ratings are read from ``anchors.json`` in the folder, or measured if it is not there.
        pairs: Pairs of games against each of them.
        seed: Of openings and agents. Runs that share it meet the same openings.
        background: Play in a process of its own, while training goes on. (A script then needs its
            own code under ``if __name__ == "__main__":``.)
        film: Whether to keep the film of a game of each rating.
        writers: Where figures and films go besides; None: `usual_writers`.

    Attributes:
        anchors: The opponents.
        ratings: All ratings so far, by step.
        seconds: How long `rate` and `close` have kept training waiting.

    Raises:
        OSError: If a file cannot be read or written.
        ValueError: If an argument is wrong, or a file damaged.
    """

    @checks_options
    def __init__(
        self,
        folder: str | os.PathLike[str],
        game: str,
        options: Sequence[str] = (),
        anchors: Anchors | str | os.PathLike[str] | Sequence[str] = AGENTS,
        pairs: AtLeastOne = 10,
        seed: int = 0,
        background: bool = False,
        film: bool = True,
        writers: Sequence[Writer] | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.anchors = anchors_of(anchors, self.folder, game, options)
        self.ratings = read_ratings(self.folder)
        self.seconds = 0.0
        self._pairs, self._seed = pairs, seed
        self._background, self._film = background, film
        given = usual_writers(self.folder / "tensorboard") if writers is None else writers
        self._writers = list(given)
        self._pool = ProcessPool(Rater, 1) if background else LocalPool(Rater)
        self._playing: Future[list[Any]] | None = None

    def rate(self, policy: Any, step: int) -> None:
        """Rate a policy as it is now; in the background wait only for the rating before it.

        Args:
            policy: A model of Stable-Baselines3, an agent such as `agents.PolicyAgent`, or what
                else `agents.arena.Entrant` takes. Of models and agents a copy is taken.
            step: When this is, in steps of the learner.

        Raises:
            ValueError: If the policy cannot play.
        """
        self.wait()
        started = time.perf_counter()
        agent = as_player(policy, temperature=0.0)
        films = self.folder / "films" if self._film else None
        self._pool.submit([Task(agent, self.anchors, self._pairs, step, self._seed, films)])
        if self._background:  # the pool has pickled the agent as it is now
            self._playing = in_background(self._pool.collect)
        else:
            self._keep(*self._pool.collect()[0])
        self.seconds += time.perf_counter() - started

    def poll(self) -> None:
        """Keep the rating that was played in the background, if it is ready."""
        if self._playing is not None and self._playing.done():
            self.wait()

    def wait(self) -> None:
        """Wait for the rating in the background, and keep it."""
        if self._playing is not None:
            started = time.perf_counter()
            playing, self._playing = self._playing, None
            self._keep(*playing.result()[0])
            self.seconds += time.perf_counter() - started

    def finish(self, policy: Any, step: int) -> None:
        """Rate a policy as it is when training ends, if it was not at this step; wait for it.

        The arguments are those of `rate`.
        """
        self.wait()
        if not self.ratings or self.ratings[-1].step != step:
            self.rate(policy, step)
            self.wait()

    def close(self) -> None:
        """Wait for the rating in the background, and end its process and the writers."""
        try:
            self.wait()
        finally:
            self._pool.close()
            for writer in self._writers:
                writer.close()

    def _keep(self, rating: Rating, film: Path | None) -> None:
        earlier = [one for one in self.ratings if one.step < rating.step]
        self.ratings = [*earlier, rating]
        lines = (json.dumps(asdict(one)) + "\n" for one in self.ratings)
        write_text(self.folder / RATINGS, "".join(lines))
        for writer in self._writers:
            writer.add(rating.step, rating.scalars(), film)


class Task(NamedTuple):
    """A rating to be played; the fields are those of `rate_policy`, and the folder for its film."""

    agent: Any
    anchors: Anchors
    pairs: int
    step: int
    seed: int
    films: Path | None


class Rater(Worker):
    """Plays ratings in its process."""

    def do(self, task: Task, start_clock: Callable[[], None]) -> tuple[Rating, Path | None]:
        rating, run = rate_policy(*task[:5])
        return rating, None if task.films is None else write_film(run, rating, task.films)


def anchors_of(given: Any, folder: Path, game: str, options: Sequence[str]) -> Anchors:
    """The anchors that a user gives, or those of the folder."""
    if isinstance(given, (Anchors, str, os.PathLike)):
        found = given if isinstance(given, Anchors) else Anchors.load(cast("Any", given))
        found.expect(game, options, "anchors" if found is given else cast("Any", given))
        path = folder / ANCHORS
        if read_ratings(folder) and path.exists() and (own := Anchors.load(path)) != found:
            raise ValueError(
                f"{path}: expected the anchors {own.elo}, as of its ratings, got {found.elo}"
            )
        found.save(path)
        return found
    found = Anchors.of_folder(folder, game, options, agents=given)
    if list(found.elo) != list(given):
        raise ValueError(
            f"{folder / ANCHORS}: expected the anchors {', '.join(given)}, "
            f"got {', '.join(found.elo)}"
        )
    return found


def write_film(run: TournamentRun, rating: Rating, folder: Path) -> Path | None:
    """Write a game against the opponent who is nearest in strength; None if none can be drawn."""
    env = new_environment(run.tournament)
    is_ours = isinstance(env.unwrapped, BoardEnv)
    env.close()
    if not is_ours:
        return None
    scores = [abs(one.score - 0.5) for one in rating.opponents.values()]
    nearest = 1 + scores.index(min(scores))  # the policy is number 0
    for _, game in sorted(run.results.items()):
        if isinstance(game, PlayedGame) and nearest in game.game.agents and game.actions:
            folder.mkdir(exist_ok=True)
            path = folder / f"{rating.step:09}.gif"
            write_gif(path, film_of(plain_record(run.tournament, game), env=env))
            return path
    return None
