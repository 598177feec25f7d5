"""MaskablePPO of sb3-contrib in a folder: self-play with a pool, ratings, and going on later.

    config.json    what the run was asked for
    model.zip      the model, written with each snapshot and in the end
    state.json     how many steps and seconds have gone
    pool/          the opponents, with their results
    anchors.json, ratings.jsonl, films/, tensorboard/    see `agents.learning.progress.rating_log`

A run that was stopped goes on from its last snapshot: with other random numbers than without the
stop, but with the same model, optimiser and pool. Stable-Baselines3 reads `model.zip` by pickle,
which may run code: go on only in folders that you trust.
"""

# The library has few types.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import functools
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from gymnasium.vector import AutoresetMode
from msgspec import Meta

from agents.arena.anchors import Anchors
from agents.core.files import replacing, write_text
from agents.core.reading import read_object
from agents.core.structured import Count, check_fields, expect_unchanged, to_structure
from agents.learning.progress.rating_log import RatingLog
from agents.learning.progress.ratings import read_ratings
from agents.registry import make_environment
from hexenv.common.extras import library
from hexenv.learners.pool import OpponentPool
from hexenv.learners.vector import BoardVectorEnv

PAST: Final = ("league", "latest")
"""Opponents that are the learner's own past: many of its snapshots, or the last one."""
CHANGEABLE: Final = ("steps", "minutes")
"""Options that may be others when a run goes on."""
BOARDS: Final = 128
ROLLOUT: Final = 64
"""Steps of each board between two updates."""
RATE: Final = 1e-3
"""The learning rate at the start, which falls to 0."""

AtLeast1 = Annotated[int, Meta(ge=1)]
Minutes = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True)
class LearnOptions:
    """What a run is asked for.

    Attributes:
        game: By its name.
        options: Of the game, ``key=value``.
        against: The opponents: names of agents, which stay; ``"league"``: snapshots of the
            learner's past, of whom those are met more often who beat it (prioritised fictitious
            self-play); ``"latest"``: the last snapshot alone (plain self-play). The two begin with
            ``random`` if no agent is named.
        steps: How long to train, in steps of the learner; None: any number.
        minutes: How long to train, without the time for ratings; None: any time.
        seed: Of the model, the boards and the ratings' agents.
        snapshot_every: Steps between two snapshots for the pool.
        rate_every: Steps between two ratings.
        pairs: Of a rating, against each anchor.
    """

    game: str
    options: tuple[str, ...] = ()
    against: tuple[str, ...] = ("league",)
    steps: AtLeast1 | None = None
    minutes: Minutes | None = None
    seed: Count = 0
    snapshot_every: AtLeast1 = 50_000
    rate_every: AtLeast1 = 100_000
    pairs: AtLeast1 = 10

    def __post_init__(self) -> None:
        names = ("steps", "minutes", "seed", "snapshot_every", "rate_every", "pairs")
        check_fields(self, *names)
        if self.steps is None and self.minutes is None:
            raise ValueError("expected steps or minutes to train, got none of the two")
        if set(PAST) <= set(self.against):
            raise ValueError("expected league or latest, got both")

    def new_pool(self) -> OpponentPool:
        """The pool at the start of a run; ValueError if there is no such agent."""
        agents = [name for name in self.against if name not in PAST] or ["random"]
        if not self.plays_itself:
            return OpponentPool(agents)
        if "league" in self.against:
            return OpponentPool(agents, sampling="pfsp", most=32)
        if self.against == ("latest",):
            return OpponentPool(agents, sampling="latest", newest=1.0, most=1)
        return OpponentPool(agents, sampling="latest", newest=0.5, most=1)

    @property
    def plays_itself(self) -> bool:
        return any(name in PAST for name in self.against)


class SB3Run:
    """A run in its folder, which is made if it is not there; one that is there goes on.

    Args:
        folder: Of the run.
        wanted: What it is asked for. Of a run that is there only steps and minutes may change.
        background: Play the ratings in a process of their own.

    Attributes:
        steps: Steps of the learner so far.
        seconds: Seconds of training so far, without ratings.
        elo: The last rating; None before the first.

    Raises:
        ImportError: If sb3-contrib is not installed.
        OSError: If a file cannot be read or written.
        ValueError: If an option is wrong, or not that of the run, or a file is damaged.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        wanted: LearnOptions,
        background: bool = False,
    ) -> None:
        self._ppo = library("sb3_contrib", "sb3").MaskablePPO
        self._torch = library("torch", "sb3")
        self.folder = Path(folder)
        self.wanted = wanted
        self.steps, self.seconds = 0, 0.0
        self.elo: float | None = None
        self._background = background
        self._make = functools.partial(make_environment, wanted.game, wanted.options)
        self.pool = wanted.new_pool()
        if (self.folder / "state.json").exists():
            self._go_on()

    def _go_on(self) -> None:
        """Read how far the run is."""
        path = self.folder / "config.json"
        before = asdict(to_structure(read_object(path), LearnOptions, str(path)))
        for key, value in asdict(self.wanted).items():
            if key not in CHANGEABLE:
                expect_unchanged(key, before[key], value, self.folder)
        state = read_object(self.folder / "state.json")
        self.steps, self.seconds = int(state["steps"]), float(state["seconds"])
        agents = [name for name in self.wanted.against if name not in PAST]
        given = dict(zip(self.pool.titles, agents, strict=False))  # where a name may run code
        self.pool = OpponentPool.load(self.folder / "pool", given)

    @property
    def done(self) -> float:
        """The share of the training that is done, 1 or more in the end."""
        wanted = self.wanted
        shares = [self.steps / wanted.steps] if wanted.steps is not None else []
        if wanted.minutes is not None:
            shares.append(self.seconds / 60 / wanted.minutes)
        return max(shares)

    def run(self, anchors: Anchors, report: Callable[["SB3Run"], None] = lambda run: None) -> None:
        """Train to the end; `report` is called after each rollout and its updates.

        The anchors are the opponents of the ratings.

        After Ctrl-C, a KeyboardInterrupt, the run goes on from its last snapshot.
        """
        ratings = read_ratings(self.folder)
        if self.done >= 1.0 and ratings and ratings[-1].step == self.steps:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(self.wanted), indent=1) + "\n"
        write_text(self.folder / "config.json", text)
        from hexenv.adapters.sb3 import BoardVecEnv  # which needs the extra sb3

        self._torch.set_num_threads(1)
        mode = AutoresetMode.SAME_STEP
        boards = BoardVectorEnv(self._make, BOARDS, self.pool, mask_in="info", autoreset_mode=mode)
        model = self._model(BoardVecEnv(boards))
        wanted = self.wanted
        log = RatingLog(
            self.folder, wanted.game, wanted.options, anchors, wanted.pairs,
            background=self._background,
        )  # fmt: skip
        try:
            if not log.ratings:
                log.rate(model, self.steps)
            while self.done < 1.0:
                self._learn(model)
                if self._is_due(wanted.snapshot_every):
                    self._snapshot(model)
                if self._is_due(wanted.rate_every) and self.done < 1.0:
                    log.rate(model, self.steps)
                log.poll()
                self.elo = log.ratings[-1].elo if log.ratings else None
                report(self)
            self._save(model)
            log.finish(model, self.steps)
            self.elo = log.ratings[-1].elo
            report(self)
        finally:
            log.close()

    def _learn(self, model: Any) -> None:
        """A rollout and its updates."""
        started = time.perf_counter()
        rate = RATE * (1.0 - self.done)
        model.lr_schedule = functools.partial(constant, rate)
        model.learn(BOARDS * ROLLOUT, reset_num_timesteps=False)
        self.steps = model.num_timesteps
        self.seconds += time.perf_counter() - started

    def _is_due(self, every: int) -> bool:
        """Whether the last rollout has passed a multiple of so many steps."""
        return self.steps // every > (self.steps - BOARDS * ROLLOUT) // every

    def _snapshot(self, model: Any) -> None:
        """Add the model to the pool, and save the run."""
        if self.wanted.plays_itself:
            self.pool.add(model, self.pool.new_title(f"step {self.steps}"))
        self._save(model)

    def _model(self, envs: Any) -> Any:
        """The model of the run, or a new one."""
        path, seed = self.folder / "model.zip", self.wanted.seed
        if self.steps:
            model = self._ppo.load(path, env=envs, device="cpu")
            self.steps = model.num_timesteps
            model.set_random_seed(seed + self.steps)
            return model
        return self._ppo(
            "MlpPolicy", envs, n_steps=ROLLOUT, batch_size=1024, n_epochs=4, learning_rate=RATE,
            ent_coef=0.01, gamma=0.98, policy_kwargs={"net_arch": [256, 256]}, seed=seed,
            device="cpu",
        )  # fmt: skip

    def _save(self, model: Any) -> None:
        """Write down the model, the pool, and how far they are."""
        self.pool.save(self.folder / "pool")
        with replacing(self.folder / "model.zip") as temporary, temporary.open("wb") as file:
            model.save(file)
        state = {"steps": self.steps, "seconds": self.seconds}
        write_text(self.folder / "state.json", json.dumps(state) + "\n")


def constant(value: float, _progress: float) -> float:
    """A schedule that does not change."""
    return value
