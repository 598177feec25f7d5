"""The PettingZoo environment of any game that fulfils the contract `hexenv.games.contract`."""

import copy
import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypedDict

import numpy as np
from gymnasium import spaces
from numpy.typing import DTypeLike, NDArray
from pettingzoo import AECEnv  # pyright: ignore[reportMissingTypeStubs]

from hexenv.common.messages import check_seed, not_one_of, shortened, true_or_false
from hexenv.compiled.callees import is_ours
from hexenv.envs.observation import Observation, extra_codes, plane_names
from hexenv.envs.position import (
    BoardPosition,
    Rules,
    Start,
    describe,
    opening_starts,
    start_from_options,
)
from hexenv.games import notation
from hexenv.games.base import DRAW, IN_PLAY, Game, State, expect_game, new_state
from hexenv.render.display import PICTURE_MODES, Display, check_render_mode
from hexenv.render.look import Look, Theme

AGENTS: Final = ("player_0", "player_1")
PLAYER: Final = {agent: player for player, agent in enumerate(AGENTS)}


class SetByReset:
    """An attribute of PettingZoo's interface that an environment does not have before its reset.

    Reading attributes stays fast: a `__getattr__` of the environment would slow down them all.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, env: object, owner: type | None = None) -> Any:
        if env is None:
            return self
        message = f"expected reset of the environment before {self.name} is read"
        raise AttributeError(message, name=self.name, obj=env)


class ViewOptions(TypedDict, total=False):
    """The options that all environments share: observations and pictures.

    Attributes:
        render_mode: ``"ansi"`` (text), ``"rgb_array"`` (``(height, width, 3) uint8``),
            ``"rgb_array_list"`` (the frames of all positions since the last `render`),
            ``"svg"`` (a document as text) or ``"human"`` (a window; extra `human`). For films by
            PettingZoo's `RecordVideo` use ``"rgb_array_list"``: with ``"rgb_array"`` the last frame
            appears three times, as both agents step once more when the game is over.
        theme: Colours of the pictures: ``"light"``, ``"dark"`` or ``"colorblind"``.
        cell_size: Distance of neighbours in a row of the pictures, 8 to 128 pixels.
        coordinates: Whether columns and rows of the pictures are labelled.
        planes: Names of planes to add to the game's own: ``"side"``, ``"last_move"``.
        channels_first: ``(planes, rows, columns)`` instead of ``(rows, columns, planes)``.
        dtype: Of the planes; int8 by default.
        mask_in: Whether the action mask is in the ``"observation"``, in the ``"info"``, or
            (default) in ``"both"``. With ``"info"`` the observation is the planes alone.
    """

    render_mode: str | None
    theme: Theme
    cell_size: int
    coordinates: bool
    planes: Iterable[str]
    channels_first: bool
    dtype: DTypeLike
    mask_in: Literal["both", "observation", "info"]


class BoardEnv(AECEnv[str, Observation, Any]):
    """A two-player board game as a PettingZoo AEC environment, without wrappers.

    The observation of an agent is ``{"observation": planes, "action_mask": mask}``. The mask is
    ``(num_actions,) int8``: 1 for a legal action, all zeros for the agent that is not to move and
    when the game is over; a copy is in ``infos[agent]["action_mask"]``. Rewards come with the last
    move: 1 for the winner and -1 for the other, or 0 for both.

    An illegal action raises `hexenv.IllegalActionError` and changes nothing.

    Examples:
        >>> from hexenv import hex_v0
        >>> env = hex_v0.raw_env(board_size=5)  # a BoardEnv
        >>> env.reset(seed=1)
        >>> observation, reward, terminated, truncated, info = env.last()
        >>> observation["observation"].shape, int(observation["action_mask"].sum())
        ((5, 5, 3), 25)
        >>> env.step(12)
        >>> env.agent_selection, env.moves
        ('player_1', 'c3')

    Args:
        game: The rules.
        name: Name and version, as in ``hex_v0``.
        openings: Move lists; `reset` draws the one with which a game begins. None: a game begins
            with the initial position.
        render_mode: See `ViewOptions`, also for the others.

    Attributes:
        game: The rules, for planners.
        actions: The actions played since `reset`.
        look: How pictures are drawn.
    """

    render_modes: ClassVar = ("human", *PICTURE_MODES, "rgb_array_list")

    if not TYPE_CHECKING:
        agent_selection = SetByReset()
        agents = SetByReset()
        infos = SetByReset()
        rewards = SetByReset()
        terminations = SetByReset()
        truncations = SetByReset()

    def __init__(
        self,
        game: Game,
        name: str,
        *,
        openings: Sequence[str] | None = None,
        render_mode: str | None = None,
        theme: Theme = "light",
        cell_size: int = 48,
        coordinates: bool = True,
        planes: Iterable[str] = (),
        channels_first: bool = False,
        dtype: DTypeLike = np.int8,
        mask_in: Literal["both", "observation", "info"] = "both",
    ) -> None:
        super().__init__()
        expect_game(game)
        if not is_ours(type(game)):
            from hexenv.testing.first_use import try_game  # most programs play ours alone

            try_game(game)
        check_render_mode(render_mode, self.render_modes)
        if mask_in not in (known := ("both", "observation", "info")):
            raise ValueError(not_one_of("mask_in", known, mask_in))
        self.game = game
        self.actions: list[int] = []
        self.render_mode = render_mode
        self.look = Look(theme, cell_size, coordinates)
        self.planes = plane_names(game, planes)
        self.metadata = {
            "name": name,
            "render_modes": list(self.render_modes),
            "is_parallelizable": False,
            "is_turn_based": True,  # what the contract of a game demands
            "has_perfect_information": True,
            "is_deterministic": True,
            "render_fps": 2,
            "planes": self.planes,
        }
        self.possible_agents = list(AGENTS)
        self.channels_first = true_or_false("channels_first", channels_first)
        self.dtype = _number_dtype(dtype)
        self.mask_in = mask_in
        self.board_shape = (game.rows, game.columns, len(self.planes))
        self.shown_shape = self.board_shape
        if channels_first:
            self.shown_shape = (len(self.planes), game.rows, game.columns)
        self._starts = opening_starts(game, openings)
        self._rng: np.random.Generator | None = None  # draws among several starts
        self.extra_planes = extra_codes(game, self.planes)
        self._start: Start | None = None  # of the game in play, where it is known
        rules = Rules(game, self.extra_planes, len(self.planes))
        self._position = BoardPosition(Start.of(game, new_state(game)), rules)
        self.all_actions = spaces.Discrete(game.num_actions())  # for checks alone
        self._spaces = self._make_spaces()
        self._owns_spaces = True
        self._display: Display | None = None  # created by the first picture

    # ---- spaces --------------------------------------------------------------------------------

    def _make_spaces(self) -> dict[str, tuple[spaces.Space[Any], spaces.Discrete]]:
        size = self.game.num_actions()

        def observation_space() -> spaces.Space[Any]:
            board = spaces.Box(0, 1, self.shown_shape, self.dtype.type)
            if self.mask_in == "info":
                return board
            mask = spaces.Box(0, 1, (size,), np.int8)
            # Pairs, because a dict would be sorted by key, and the order is part of the API.
            return spaces.Dict([("observation", board), ("action_mask", mask)])

        return {agent: (observation_space(), spaces.Discrete(size)) for agent in AGENTS}

    def _spaces_of(self, agent: str) -> tuple[spaces.Space[Any], spaces.Discrete]:
        if not self._owns_spaces:  # a clone must not share the random streams of the original
            self._spaces = self._make_spaces()
            self._owns_spaces = True
        try:
            return self._spaces[agent]
        except (KeyError, TypeError):  # unknown, or nothing that can be looked for
            raise KeyError(not_one_of("an agent", AGENTS, agent)) from None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations, the same object for each call."""
        return self._spaces_of(agent)[0]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The space of an agent's actions, the same object for each call."""
        return self._spaces_of(agent)[1]

    # ---- the game ------------------------------------------------------------------------------

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game.

        Args:
            seed: Of the random stream that draws one of several openings; nothing else in the game
                is random.
            options: At most one of ``"moves"``, a move list such as ``"a1 b2"``; ``"board"``, rows
                of ``X``, ``O`` and ``.`` (with ``"to_play"``, 0 or 1, if the stones leave it open);
                ``"state"``, a position from `to_bytes` or the `state` of an environment of the same
                game. For other keys there is a UserWarning.

        Raises:
            ValueError: If the position cannot be read or is impossible, or the seed is none.
        """
        check_seed(seed)
        starts = self.starting_positions(options or {})
        if len(self._starts) > 1 and (seed is not None or self._rng is None):
            self._rng = np.random.default_rng(seed)
        drawn = 0 if len(starts) == 1 or self._rng is None else self._rng.random()
        self._begin(starts[int(drawn * len(starts))])

    def begin_at(self, state: State, actions: Iterable[int]) -> None:
        """Start from a position of the same game, which is copied, without checks.

        `actions` are those that led to it, if they are known.
        """
        self._position.begin_at(state)
        self._start = None
        self._begin_play(list(actions), int(state.winner), int(self.game.to_play(state)))

    def _begin(self, start: Start) -> None:
        if self._display is not None:
            self._display.begin()
        self._position.start(start)
        self._start = start
        self._begin_play(start.actions.copy(), start.winner, start.to_play)

    def _begin_play(self, actions: list[int], winner: int, to_play: int) -> None:
        self.actions = actions
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._skip_agent_selection = None
        self._settle(winner, to_play)
        self._show()

    @property
    def begun_at(self) -> State | None:
        """The position that the game was reset to, where no actions are known that lead to it.

        `actions` are played from there; None: from the start by the rules.

        Raises:
            ValueError: If it is not known, after `begin_at`.
        """
        if self._start is None:
            if len(self.actions) == self.state.ply:
                return None
            raise ValueError("expected a game whose start is known, got one from begin_at")
        state = self._start.record.copy().view(self.state.dtype)[0]
        return None if len(self._start.actions) == state.ply else state

    def starting_positions(self, options: dict[str, Any]) -> list[Start]:
        """The position that the options of a `reset` give, or else those after all openings."""
        start = start_from_options(self.game, options)
        return self._starts if start is None else [start]

    def step(self, action: int | None) -> None:
        """Play an action for the agent to move; None for an agent whose game is over.

        Raises:
            IllegalActionError: If the action is not legal; nothing has changed.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if not self.is_legal(action):  # the one check of a step: wrappers rely on the error
            notation.check_action(self.game, self.state, action)  # raises, with the reason
        number = int(action)  # type: ignore[arg-type]
        winner, to_play = self._position.step(number)
        self.actions.append(number)
        # Nothing to clear: rewards and cumulative rewards are zero until the last move.
        self._settle(winner, to_play)
        self._show()

    def is_legal(self, action: object) -> bool:
        """Whether the agent to move may play `action`."""
        try:
            number = operator.index(action)  # type: ignore[arg-type]
        except TypeError:
            return False
        mask = self._position.mask
        return 0 <= number < len(mask) and bool(mask[number])

    def forfeit(self, reward: float) -> None:
        """End the game after an illegal move, as PettingZoo's wrapper does.

        The agent to move gets the reward, the other 0; both are terminated and truncated.
        """
        agent = self.agent_selection
        self._cumulative_rewards[agent] = 0.0
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self.rewards = {other: reward if other == agent else 0.0 for other in self.agents}
        self._accumulate_rewards()
        self._position.mask[:] = 0
        self._deads_step_first()
        self._refresh_infos()

    def _settle(self, winner: int, to_play: int) -> None:
        """Update the attributes of the API after a change of the position."""
        self.agent_selection = AGENTS[to_play]
        if winner != IN_PLAY:
            self.terminations = dict.fromkeys(AGENTS, True)
            if winner != DRAW:
                self.rewards[AGENTS[winner]] = 1.0
                self.rewards[AGENTS[1 - winner]] = -1.0
            self._accumulate_rewards()
        self._refresh_infos()

    def _refresh_infos(self) -> None:
        infos: dict[str, dict[str, Any]] = {}
        for agent in self.agents:  # faster than a comprehension; every clone runs this
            infos[agent] = (
                {} if self.mask_in == "observation" else {"action_mask": self._mask_of(agent)}
            )
        self.infos = infos

    def _mask_of(self, agent: str) -> NDArray[np.int8]:
        mask = self._position.mask
        if agent == self.agent_selection:
            return mask.copy()  # all zeros once the game is over
        return np.zeros(mask.size, np.int8)

    def observe(self, agent: str) -> Observation:
        """What an agent sees, on either player's turn; fresh arrays for each call."""
        try:
            player = PLAYER[agent]
        except (KeyError, TypeError):
            raise KeyError(not_one_of("an agent", AGENTS, agent)) from None
        out = self._position.planes(player).reshape(self.board_shape)
        if self.channels_first:
            out = np.ascontiguousarray(out.transpose(2, 0, 1))
        if self.dtype != np.int8:
            out = out.astype(self.dtype)
        if self.mask_in == "info":
            return out
        return {"observation": out, "action_mask": self._mask_of(agent)}

    def pack_observation(self, planes: NDArray[Any], masks: NDArray[np.int8]) -> Observation:
        """An observation of one board or of many, with the mask if `mask_in` says so."""
        return planes if self.mask_in == "info" else {"observation": planes, "action_mask": masks}

    # ---- copies --------------------------------------------------------------------------------

    def clone(self) -> "BoardEnv":
        """An independent environment in the same position, in a few microseconds.

        `copy.deepcopy` and `pickle` do the same, slower; they also copy the random streams of the
        spaces, where a clone starts new ones. A window stays with the original.
        """
        if type(self) is not BoardEnv:
            return copy.deepcopy(self)  # a subclass may keep what must not be shared
        twin = object.__new__(BoardEnv)
        twin.__dict__ = self.__dict__.copy()
        twin._position = self._position.copy()
        twin.actions = self.actions.copy()
        twin._owns_spaces = False
        if self._display is not None:
            twin._display = self._display.copy()
        if self._rng is not None:
            twin._rng = copy.deepcopy(self._rng)
        if hasattr(self, "agents"):
            twin.agents = self.agents.copy()
            twin.rewards = self.rewards.copy()
            twin.terminations = self.terminations.copy()
            twin.truncations = self.truncations.copy()
            twin._cumulative_rewards = self._cumulative_rewards.copy()
            twin._refresh_infos()
        return twin

    # ---- positions -----------------------------------------------------------------------------

    @property
    def state(self) -> State:  # type: ignore[override]  # PettingZoo's optional method
        """The position, a record for the game's methods; change it only through `step`."""
        return self._position.state

    @property
    def moves(self) -> str:
        """The moves since `reset`, as text.

        ``reset(options={"moves": ...})`` reads it, if the game did not start from a board or state.
        """
        return notation.moves_text(self.game, self.actions)

    def to_bytes(self) -> bytes:
        """The position as bytes that ``reset(options={"state": ...})`` reads."""
        return notation.to_bytes(self.game, self.state)

    # ---- pictures ------------------------------------------------------------------------------

    def _get_display(self) -> Display:
        if self._display is None:
            name, fps = self.metadata["name"], self.metadata["render_fps"]
            self._display = Display(self.game, self.look, name, fps)
        return self._display

    def _show(self) -> None:
        """Show or keep the position after a change, if the render mode says so."""
        if self.render_mode is not None:
            self._get_display().update(self.state, self.render_mode)

    def render(self) -> Any:
        """The board as `render_mode` says: text, ``(H, W, 3) uint8``, a list of these, or None."""
        return self._get_display().render(self.state, self.render_mode)

    def describe(self) -> str:
        """The game and where it stands, in a line: ``X to play (ply 2), last move b2``."""
        return describe(self.game, self.state if hasattr(self, "agents") else None)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.describe()}>"

    def _repr_svg_(self) -> str:
        return self._get_display().picture(self.state, "svg")

    def _repr_html_(self) -> str:
        return self._get_display().html(self.state)

    def close(self) -> None:
        if self._display is not None:
            self._display.close()


def _number_dtype(dtype: Any) -> np.dtype[Any]:
    """A dtype of numbers or flags; ValueError for another."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = np.dtype(object)
    if dtype is None or found.kind not in "biuf":
        raise ValueError(f"expected a dtype of numbers, such as int8, got {shortened(dtype)}")
    return found
