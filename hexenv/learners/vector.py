"""The games as Gymnasium vector environments: many boards stepped by compiled code.

Examples:
    >>> import gymnasium, hexenv
    >>> envs = gymnasium.make_vec("hexenv/Hex-v0", num_envs=1024, board_size=5)
    >>> observations, infos = envs.reset(seed=1)
    >>> observations["action_mask"].shape
    (1024, 25)
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from hexenv.envs.aec import AGENTS, BoardEnv, Observation
from hexenv.games.base import whole_number
from hexenv.learners.boards import Outcome
from hexenv.learners.learner import LearnerOptions, action_array, make_raw_env, split_options
from hexenv.learners.opponents import resolve_opponents, with_mask
from hexenv.learners.parts import Part, Parts
from hexenv.render.modes import PICTURE_MODES, check_render_mode

Infos = dict[str, Any]
Masks = NDArray[np.int8]


def seeds_of_boards(seed: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    """The seed of each board: of a number, it and its successors.

    Raises:
        ValueError: If it is a list of another length.
    """
    if seed is None:
        return [None] * count
    if isinstance(seed, (int, np.integer)):
        return [int(seed) + board for board in range(count)]
    if len(seed) != count:
        raise ValueError(f"expected a seed or {count} of them, got {len(seed)}")
    return [None if one is None else int(one) for one in seed]


class Ended(NamedTuple):
    """What was seen at the ends of episodes, before the next ones began."""

    numbers: NDArray[np.int64]
    planes: NDArray[Any]
    masks: Masks


def together(outcomes: Sequence[Outcome]) -> Outcome:
    """The outcome of all parts."""
    if len(outcomes) == 1:
        return outcomes[0]
    return Outcome(*[np.concatenate(arrays) for arrays in zip(*outcomes, strict=True)])


class BoardVectorEnv(VectorEnv[Observation, NDArray[Any], NDArray[Any]]):
    """Many boards of one game, each like a `hexenv.learners.single.SingleEnv`, in compiled code.

    With ``opponent=None`` there is no other side: every step plays for whoever is to move. The
    observation is then from the view of the player to move, and the reward is for the player who
    has just moved.

    Arrays are fresh at each step. Board ``i`` of ``reset(seed=s)`` plays the same episodes as a
    `SingleEnv` after ``reset(seed=s + i)``.

    Args:
        game: A function that makes the PettingZoo environment, or its name.
        num_envs: How many boards.
        opponent: As of a `SingleEnv`, but that a function is called for many boards at once,
            ``f(observations, masks) -> actions`` with arrays over the boards on which it is to
            move; or None.
        autoreset_mode: A finished episode is followed by the next one with the next step, whose
            action is ignored (default); in the same step, with the last observation in
            ``infos["final_obs"]``; or (``AutoresetMode.DISABLED``) once
            ``reset(options={"reset_mask": mask})`` says so.
        threads: In how many threads; by default as many as pay. With opponents that are not
            compiled it is one. (If such are set later, a function is called for each thread's
            boards in turn. Do not fork once threads have run.)
        max_episode_steps: None: games end.
        **options: Those of `hexenv.learners.learner.LearnerOptions`, `hexenv.envs.aec.ViewOptions`, and the game.

    Attributes:
        raw_env: See `hexenv.learners.single.SingleEnv`.

    Raises:
        TypeError: If the game has no such option.
        ValueError: If an option is out of its range.
    """

    closed = True  # until it is made: Gymnasium may close what `__init__` has refused

    def __init__(
        self,
        game: str | Callable[..., BoardEnv],
        num_envs: int = 1,
        opponent: Any = "random",
        autoreset_mode: AutoresetMode | Literal["NextStep", "SameStep", "Disabled"] = "NextStep",
        threads: int | None = None,
        max_episode_steps: int | None = None,
        **options: Any,
    ) -> None:
        if whole_number("num_envs", num_envs) < 1:
            raise ValueError(f"expected num_envs of at least 1, got {num_envs}")
        if max_episode_steps is not None:
            raise ValueError(f"expected no max_episode_steps: games end, got {max_episode_steps}")
        self.num_envs = num_envs
        try:
            self._mode = AutoresetMode(autoreset_mode)
        except ValueError:
            known = ", ".join(str(mode.value) for mode in AutoresetMode)
            raise ValueError(
                f"expected an autoreset_mode of {known}, got {autoreset_mode!r}"
            ) from None
        of_learner, of_game = split_options(options)
        self.raw_env = make_raw_env(game, of_game)
        self._plays_both = opponent is None
        if self._plays_both and "side" in of_learner:
            raise ValueError("expected no side without an opponent: the learner plays both")
        self.render_mode = self.raw_env.render_mode
        check_render_mode(self.render_mode, PICTURE_MODES)
        self.metadata = {
            "render_modes": list(PICTURE_MODES),
            "render_fps": 2,
            "autoreset_mode": self._mode,
        }
        self.single_observation_space: spaces.Space[Any] = self.raw_env.observation_space(AGENTS[0])
        self.single_action_space = self.raw_env.action_space(AGENTS[0])
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._every = np.ones(num_envs, np.bool_)
        self._generators: list[np.random.Generator] | None = None
        self._seeds: list[int] = []
        opponents = [] if opponent is None else resolve_opponents(opponent, batched=True)
        learner_options = cast("LearnerOptions", of_learner)
        self._parts = Parts(self.raw_env, num_envs, opponents, threads, learner_options)
        self.closed = False

    # ---- opponents -------------------------------------------------------------------------------

    def set_opponent(self, opponent: Any) -> None:
        """Who plays the other side in the episodes to come; those under way keep theirs.

        Raises:
            ValueError: If one is given to a learner that plays both sides, or taken away.
        """
        if (opponent is None) != self._plays_both:
            raise ValueError(
                f"expected {'no opponent' if self._plays_both else 'an opponent'} in an "
                f"environment made with{'out' if self._plays_both else ''} one, got {opponent!r}"
            )
        if opponent is not None:
            opponents = resolve_opponents(opponent, batched=True)
            for part in self._parts:
                part.boards.set_opponents(opponents)

    @property
    def opponents(self) -> tuple[str, ...]:
        """The name of the opponent on each board; empty where there is none."""
        found = [p.boards.opponent_of(i) for p in self._parts for i in range(p.boards.count)]
        return tuple(one.name if one is not None else "" for one in found)

    # ---- the games -------------------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, Infos]:
        """Begin episodes on all boards, or on those that ``options["reset_mask"]`` names.

        Args:
            seed: A number for the first board, whose successors the other boards get, or a list.
            options: ``"reset_mask"``, ``(num_envs,) bool``; and where to start, see
                `hexenv.envs.aec.BoardEnv.reset`.

        Raises:
            ValueError: If the seeds or the mask are not for so many boards, or the position cannot
                be read.
        """
        options = dict(options or {})
        which = self._named_in(options.pop("reset_mask", None))
        seeds = seeds_of_boards(seed, self.num_envs)
        starts = self.raw_env.starting_positions(options)
        self._seed(which, seeds)
        for part in self._parts:
            part.boards.start(starts)
        try:
            for part in self._parts:
                part.boards.restart(np.flatnonzero(which[part.place]))
        finally:
            for part in self._parts:  # for the episodes that follow
                part.boards.start(self.raw_env.starting_positions({}))
        planes = self._parts.new_planes()
        for part in self._parts:
            part.boards.show_all(planes[part.place])
        return self._seen(planes, which)

    def _named_in(self, mask: Any) -> NDArray[np.bool_]:
        if mask is None:
            return self._every.copy()
        if getattr(mask, "dtype", None) != np.bool_:
            raise TypeError(f"expected reset_mask as an array of bool, got {mask!r}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"expected reset_mask of shape ({self.num_envs},) with a True in it, got {mask!r}"
            )
        if self._generators is None and not mask.all():
            raise ValueError("expected a reset of all boards first, got one of some of them")
        return cast("NDArray[np.bool_]", mask.copy())

    def _seed(self, which: NDArray[np.bool_], seeds: list[int | None]) -> None:
        """Start streams anew, as a single environment does."""
        made = {  # all of them, before anything changes: a seed may be refused
            board: seeding.np_random(seeds[board])
            for board in np.flatnonzero(which).tolist()
            if self._generators is None or seeds[board] is not None
        }
        if self._generators is None:
            self._generators = [generator for generator, _ in made.values()]
            self._seeds = [seed for _, seed in made.values()]
        for part in self._parts:
            for board in range(part.place.start, part.place.stop):
                if board in made:
                    self._generators[board], self._seeds[board] = made[board]
                    part.boards.seed(board - part.place.start, self._generators[board])

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The generators from which the boards' streams were started."""
        return tuple(self._generators or ())

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        """The seeds of the boards."""
        return tuple(self._seeds)

    def step(
        self, actions: Any
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], Infos]:
        """Play an action on every board.

        Args:
            actions: ``(num_envs,)`` integers.

        Returns:
            Observations, rewards ``(num_envs,) float64``, terminations and truncations
            ``(num_envs,) bool``, and infos.

        Raises:
            IllegalActionError: With ``illegal="raise"``; nothing has changed then.
            ValueError: If the actions are no integers, or of another shape; before the first reset;
                or if an episode is over and its board has not been reset (autoreset disabled).
        """
        actions = action_array(actions, (self.num_envs,))
        if self._generators is None:
            raise ValueError("expected reset before the first step")
        if self._mode != AutoresetMode.NEXT_STEP:
            over = np.flatnonzero(self.idle)
            if over.size:
                raise ValueError(
                    f"expected a reset of the boards that are over, {over.tolist()}, got step"
                )
        for part in self._parts:  # before any of them plays
            part.boards.refuse_illegal(actions[part.place])
        planes = self._parts.new_planes()
        stepped = self._parts.each(lambda part: self._step(part, actions, planes))
        observations, infos = self._seen(planes)
        self._add_final(infos, [ended for _, ended in stepped if ended is not None])
        rewards, terminations, truncations = together([outcome for outcome, _ in stepped])
        return observations, rewards, terminations, truncations, infos

    def _step(
        self, part: Part, actions: NDArray[np.int64], planes: NDArray[Any]
    ) -> tuple[Outcome, Ended | None]:
        """Step the boards of a part, and write what is seen afterwards."""
        boards, ended = part.boards, None
        begin = boards.idle.nonzero()[0]
        outcome = boards.play(actions[part.place])
        over = outcome.terminations | outcome.truncations
        if self._mode == AutoresetMode.SAME_STEP:
            begin = over.nonzero()[0]
            if begin.size:
                ended = Ended(begin + part.place.start, *boards.show(begin))
        if self._mode != AutoresetMode.SAME_STEP:
            boards.idle |= over
        if self._mode != AutoresetMode.DISABLED:
            boards.restart(begin)
        boards.show_all(planes[part.place])
        return outcome, ended

    # ---- what is seen ----------------------------------------------------------------------------

    def _seen(
        self, planes: NDArray[Any], which: NDArray[np.bool_] | None = None
    ) -> tuple[Observation, Infos]:
        """The observations and the infos of some boards, all by default."""
        infos: Infos = {}
        if self.raw_env.mask_in != "observation":
            masks = self._parts.masks.copy()
            if which is None:
                which = self._every.copy()
            else:
                masks[~which] = 0  # as Gymnasium leaves what nobody has written
            infos = {"action_mask": masks, "_action_mask": which}
        return with_mask(self.raw_env, planes, self._parts.masks.copy()), infos

    def _add_final(self, infos: Infos, parts: list[Ended]) -> None:
        """Add the last observations and infos, in the form that Gymnasium gives them."""
        if not parts:
            return
        final_obs = np.full(self.num_envs, None, dtype=object)
        masks = np.zeros_like(self._parts.masks)
        has_ended = np.zeros(self.num_envs, np.bool_)
        for ended in parts:
            for number, *seen in zip(ended.numbers, ended.planes, ended.masks, strict=True):
                final_obs[number] = with_mask(self.raw_env, *seen)
            masks[ended.numbers] = ended.masks
            has_ended[ended.numbers] = True
        final_info: Infos = {}
        if self.raw_env.mask_in != "observation":
            final_info = {"action_mask": masks, "_action_mask": has_ended.copy()}
        infos |= {
            "final_obs": final_obs,
            "_final_obs": has_ended,
            "final_info": final_info,
            "_final_info": has_ended.copy(),
        }

    def action_masks(self) -> NDArray[np.bool_]:
        """``(num_envs, num_actions)``: what is legal; all True on boards that are over."""
        return self._parts.masks.astype(np.bool_)

    @property
    def idle(self) -> NDArray[np.bool_]:
        """``(num_envs,)``: the boards on which no episode is under way."""
        return self._parts.idle

    @property
    def states(self) -> NDArray[Any]:
        """``(num_envs,)`` positions, a copy."""
        return self._parts.states

    @property
    def sides(self) -> NDArray[np.int8]:
        """``(num_envs,)``: the learner's player, 0 or 1; without an opponent, who is to move."""
        found = [part.boards.to_play() for part in self._parts]
        if not self._plays_both:
            found = [part.boards.players for part in self._parts]
        return np.concatenate(found)

    @property
    def illegal_actions(self) -> int:
        """How many illegal actions the learner has chosen since the environment was made."""
        return sum(part.boards.illegal_actions for part in self._parts)

    def render(self) -> tuple[Any, ...] | None:
        """The picture of each board, as `render_mode` says: strings, RGB frames or documents."""
        if self.render_mode is None:
            return None
        from hexenv.render.picture import render_picture  # as most environments draw nothing

        game, mode, look = self.raw_env.game, self.render_mode, self.raw_env.look
        return tuple(render_picture(game, state, mode, look) for state in self.states)

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self._parts.close()
