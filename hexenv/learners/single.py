"""The games as Gymnasium environments: one learner against an opponent.

Examples:
    >>> import gymnasium, hexenv
    >>> env = gymnasium.make("hexenv/Connect4-v0", opponent="greedy")
    >>> observation, info = env.reset(seed=1)
    >>> int(env.unwrapped.action_masks().sum())
    7
"""

from collections.abc import Callable
from typing import Any, ClassVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from hexenv.common.messages import check_whole_seed
from hexenv.envs.aec import AGENTS, BoardEnv
from hexenv.envs.observation import Observation, observation_of
from hexenv.envs.position import describe, state_dtype_of, state_in
from hexenv.games.base import State
from hexenv.learners.boards import Boards
from hexenv.learners.members import Tally
from hexenv.learners.options import action_array, take_options
from hexenv.learners.pool import OpponentPool, PoolRoster
from hexenv.render.display import PICTURE_MODES, RenderModes, check_render_mode


class SingleEnv(gymnasium.Env[Observation, Any]):
    """A board game as one learner sees it.

    The observation is ``{"observation": planes, "action_mask": mask}`` with the learner's own
    stones in the first plane, and the mask is in the info as well. `step` plays the learner's
    action and the opponent's answer; if one of the two ends the game, the reward is 1, 0 or -1 for
    the learner. At the end of a game the mask is all ones, as an empty mask breaks distributions.
    With several opponents or an `OpponentPool`, ``info["opponent"]`` is the title of the episode's
    opponent, in the info of every step: buffers such as tianshou's take a key that comes and goes
    for a missing value.

    Examples:
        >>> env = gymnasium.make("hexenv/TicTacToe-v0", opponent="greedy", side="first")
        >>> observation, info = env.reset(seed=1)
        >>> observation, reward, terminated, truncated, info = env.step(4)
        >>> int(observation["action_mask"].sum())  # the opponent has played, too
        7

    Args:
        game: A function that makes the PettingZoo environment, or its name.
        opponent: ``"random"``, ``"greedy"``, an agent's name (``"uct:simulations=200"``), an agent
            with ``act(env)``, a function ``f(observation, mask) -> action``, or a list of these, of
            which one is drawn for every episode, with pairs of one and its weight,
            ``("greedy", 0.5)``. A function gets what the opponent sees. A
            `hexenv.learners.pool.OpponentPool` may change while it plays.
        **options: Those of `hexenv.learners.options.LearnerOptions` (`side`, `illegal`, `penalty`,
            `max_illegal`), of `hexenv.envs.aec.ViewOptions`, and of the game.

    Attributes:
        raw_env: A PettingZoo environment of the same game and options; its position is unrelated.

    Raises:
        TypeError: If the game does not have one of the options.
        ValueError: If an option is out of its range.
    """

    metadata: ClassVar[dict[str, Any]] = {  # pyright: ignore[reportIncompatibleVariableOverride]
        "render_modes": RenderModes(("human", *PICTURE_MODES)),
        "render_fps": 2,
    }

    def __init__(
        self, game: str | Callable[..., BoardEnv], opponent: Any = "random", **options: Any
    ) -> None:
        self.raw_env, of_learner = take_options(game, options)
        self._boards = Boards(self.raw_env, 1, of_learner)
        self.render_mode = self.raw_env.render_mode
        check_render_mode(self.render_mode, self.metadata["render_modes"])
        self.observation_space = self.raw_env.observation_space(AGENTS[0])
        self.action_space = self.raw_env.action_space(AGENTS[0])
        self._has_reset = False
        self._counts_results = False
        self.set_opponent(opponent)

    def set_opponent(self, opponent: Any) -> None:
        """Set the opponent from the next episode on, as the class's argument does."""
        self._roster = PoolRoster(opponent, batched=False)
        self._counts_results |= self._roster.is_counted  # a running episode keeps its opponent
        self._boards.set_opponents(self._roster)

    @property
    def pool(self) -> OpponentPool | None:
        """The opponents, with the results against each; None for one that is not in a pool."""
        return self._roster.pool if self._roster.is_counted else None

    def take_results(self) -> dict[str, Tally]:
        """See `hexenv.learners.pool.OpponentPool.take_results`."""
        return self._roster.pool.take_results()

    @property
    def opponent(self) -> str:
        opponent = self._boards.opponent_of(0)
        return opponent.name if opponent is not None else ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode; if the opponent moves first, it has moved.

        Args:
            seed: Of the random streams that draw the opening, the learner's side and the opponent's
                moves.
            options: The starting position, as for `hexenv.envs.aec.BoardEnv.reset`; in play.
        """
        boards = self._boards
        boards.start(self.raw_env.starting_positions(options or {}))
        check_whole_seed(seed)
        super().reset(seed=None if seed is None else int(seed))
        if seed is not None or not self._has_reset:
            boards.seed(0, self.np_random)
        self._has_reset = True
        self._roster.refresh()
        boards.restart(np.zeros(1, np.int64))
        return self._shown()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Play an action, and let the opponent answer.

        Raises:
            IllegalActionError: With ``illegal="raise"``; nothing has changed.
            ValueError: If the episode is over, or the action is not an integer.
        """
        boards = self._boards
        if boards.idle[0]:
            when = "after the end of an episode" if self._has_reset else "before the first step"
            raise ValueError(f"expected reset {when}, got step")
        actions = action_array(action, (), boards.game).reshape(1)
        boards.refuse_illegal(actions)
        result = rewards, terminations, truncations = boards.play(actions)
        boards.idle |= terminations | truncations
        observation, info = self._shown()
        if self._counts_results and boards.idle[0]:
            boards.note_ended(np.zeros(1, np.int64), result)
            boards.hand_in()
        return observation, float(rewards[0]), bool(terminations[0]), bool(truncations[0]), info

    def _shown(self) -> tuple[Observation, dict[str, Any]]:
        planes, masks = self._boards.show(np.zeros(1, np.int64))
        self._boards.masks[:] = masks
        if self.render_mode == "human":
            self.render()
        info: dict[str, Any] = {}
        if self.raw_env.mask_in != "observation":
            info["action_mask"] = masks[0].copy()
        if self._counts_results:
            info["opponent"] = self.opponent
        return observation_of(self.raw_env.pack_observation(planes, masks), 0), info

    def action_masks(self) -> NDArray[np.bool_]:
        """``(num_actions,)``: which actions are legal; all True at the end of an episode."""
        return self._boards.masks[0].astype(np.bool_)

    @property
    def state(self) -> State:
        game = self.raw_env.game
        return state_in(game, self._boards.table.states[:1].view(state_dtype_of(game)))

    @property
    def side(self) -> int:
        """The learner's player, 0 or 1."""
        return int(self._boards.players[0])

    @property
    def illegal_actions(self) -> int:
        """The number of illegal actions that the learner has chosen in all episodes."""
        return self._boards.illegal_actions

    def render(self) -> Any:
        self.raw_env.begin_at(self.state, ())
        return None if self.render_mode == "human" else self.raw_env.render()

    def __repr__(self) -> str:
        where = describe(self.raw_env.game, self.state if self._has_reset else None)
        players = f", learner {AGENTS[self.side]}, opponent {self.opponent}" * self._has_reset
        return f"<{type(self).__name__} of {where}{players}>"

    def _repr_svg_(self) -> str:
        self.raw_env.begin_at(self.state, ())
        return self.raw_env._repr_svg_()  # pyright: ignore[reportPrivateUsage]

    def _repr_html_(self) -> str:
        self.raw_env.begin_at(self.state, ())
        return self.raw_env._repr_html_()  # pyright: ignore[reportPrivateUsage]

    def close(self) -> None:
        self.raw_env.close()
