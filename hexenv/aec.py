"""One PettingZoo environment over any game of the contract in `hexenv.games.base`."""

import copy
import operator
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypedDict

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import DTypeLike, NDArray
from pettingzoo import AECEnv  # pyright: ignore[reportMissingTypeStubs]

from hexenv.compiled import is_compiled
from hexenv.games import notation
from hexenv.games.base import DRAW, IN_PLAY, Game, State, legal_mask_of, new_state
from hexenv.observation import (
    advance,
    compiled_advance,
    compiled_show,
    compiled_write_mask,
    extra_codes,
    plane_names,
    show,
    write_mask,
)
from hexenv.render.look import Look, Theme
from hexenv.render.picture import PICTURE_MODES, render_picture
from hexenv.render.svg import svg_image
from hexenv.render.window import Window

AGENTS: Final = ("player_0", "player_1")
PLAYER: Final = {agent: player for player, agent in enumerate(AGENTS)}

Observation = dict[str, NDArray[Any]] | NDArray[Any]


class ViewOptions(TypedDict, total=False):
    """The options that all environments share: how the game is shown.

    Attributes:
        render_mode: ``"ansi"`` (text), ``"rgb_array"`` (``(height, width, 3) uint8``),
            ``"rgb_array_list"`` (the frames of all positions since the last `render`: none when
            nothing was played), ``"svg"`` (a document as text) or ``"human"`` (a window; extra
            `human`). A film by PettingZoo's `RecordVideo` has the last frame three times with
            ``"rgb_array"``, as both agents step once more when the game is over, and once with
            ``"rgb_array_list"``.
        theme: Colours of the pictures: ``"light"``, ``"dark"`` or ``"colorblind"``.
        cell_size: Of the pictures: distance of neighbours in a row, 8 to 128 pixels.
        coordinates: Whether columns and rows of the pictures are labelled.
        planes: Names of planes to add to the game's own: ``"side"``, ``"last_move"``.
        channels_first: ``(planes, rows, columns)`` instead of ``(rows, columns, planes)``.
        dtype: Of the planes; int8 by default.
        mask_in: Where the action mask is found: in the observation, in the infos, or (default) in
            both. With ``"info"`` the observation is the planes alone.
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

    Args:
        game: The rules.
        name: Name and version, as in ``hex_v0``.
        openings: Move lists, one of which every game begins with; `reset` draws it. None: nothing
            is played before.
        render_mode: See `ViewOptions`, as for all that follows.
        theme: See `ViewOptions`.
        cell_size: See `ViewOptions`.
        coordinates: See `ViewOptions`.
        planes: See `ViewOptions`.
        channels_first: See `ViewOptions`.
        dtype: See `ViewOptions`.
        mask_in: See `ViewOptions`.

    Attributes:
        game: The rules, for planners.
        actions: The actions played since `reset`.
        look: How pictures are drawn.
    """

    render_modes: ClassVar = ("human", *PICTURE_MODES, "rgb_array_list")

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
        check_render_mode(render_mode, self.render_modes)
        if mask_in not in ("both", "observation", "info"):
            raise ValueError(f"expected mask_in of both, observation, info, got {mask_in!r}")
        self.game = game
        self.actions: list[int] = []
        self.render_mode = render_mode
        self.look = Look(theme, cell_size, coordinates)
        self.planes = plane_names(game, (planes,) if isinstance(planes, str) else tuple(planes))
        self.metadata = {
            "name": name,
            "render_modes": list(self.render_modes),
            "is_parallelizable": False,
            "render_fps": 2,
            "planes": self.planes,
        }
        self.possible_agents = list(AGENTS)
        self.channels_first = channels_first
        self.dtype = np.dtype(dtype)
        self.mask_in = mask_in
        self.board_shape = (game.rows, game.columns, len(self.planes))
        self.shown_shape = self.board_shape
        if channels_first:
            self.shown_shape = (len(self.planes), game.rows, game.columns)
        self._starts = opening_starts(game, openings)
        self._rng: np.random.Generator | None = None  # draws among several starts
        self._bytes = Start.of(game, new_state(game)).record.copy()
        self._record_dtype = np.dtype((np.record, game.state_dtype))  # a record in Python, too
        self._states = self._bytes.view(self._record_dtype)
        self._mask = np.zeros(game.num_actions(), np.int8)
        self.extra_planes = extra_codes(game, self.planes)
        self.all_actions = spaces.Discrete(game.num_actions())  # to look actions up in
        self._spaces = self._make_spaces()
        self._owns_spaces = True
        self._advance: Callable[..., Any] | None = None
        self._show: Callable[..., Any] | None = None
        self._write_mask: Callable[..., Any] | None = None
        self._window: Window | None = None
        self._frames: list[NDArray[np.uint8]] = []  # of "rgb_array_list", since the last `render`

    # ---- spaces --------------------------------------------------------------------------------

    def _make_spaces(self) -> dict[str, tuple[spaces.Space[Any], spaces.Discrete]]:
        size = self.game.num_actions()

        def observation_space() -> spaces.Space[Any]:
            board = spaces.Box(0, 1, self.shown_shape, self.dtype.type)
            if self.mask_in == "info":
                return board
            mask = spaces.Box(0, 1, (size,), np.int8)
            # From pairs, because a plain dict would be sorted by key: the order is part of the API.
            return spaces.Dict([("observation", board), ("action_mask", mask)])

        return {agent: (observation_space(), spaces.Discrete(size)) for agent in AGENTS}

    def _spaces_of(self, agent: str) -> tuple[spaces.Space[Any], spaces.Discrete]:
        if not self._owns_spaces:  # a clone, whose spaces must not share a random stream
            self._spaces = self._make_spaces()
            self._owns_spaces = True
        return self._spaces[agent]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The space of an agent's observations, the same object on each call."""
        return self._spaces_of(agent)[0]

    def action_space(self, agent: str) -> spaces.Discrete:
        """The space of an agent's actions, the same object on each call."""
        return self._spaces_of(agent)[1]

    # ---- the game ------------------------------------------------------------------------------

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start a game.

        Args:
            seed: Starts the stream anew that draws one of several openings; nothing else in the
                game is random.
            options: At most one of ``"moves"``, a move list such as ``"a1 b2"``; ``"board"``, rows
                of ``X``, ``O`` and ``.`` (with ``"to_play"``, 0 or 1, where the stones do not
                tell); ``"state"``, a position from `to_bytes` or the `state` of an environment of
                the same game. Other keys are ignored.

        Raises:
            ValueError: If the position cannot be read, or cannot come about.
        """
        starts = self.starting_positions(options or {})
        if len(self._starts) > 1 and (seed is not None or self._rng is None):
            self._rng = np.random.default_rng(seed)
        drawn = 0 if len(starts) == 1 or self._rng is None else self._rng.random()
        self._begin(starts[int(drawn * len(starts))])

    def begin_at(self, state: State, actions: Iterable[int]) -> None:
        """Start from a position of this very game, unchecked; for whoever keeps the positions.

        Args:
            state: The position; it is copied.
            actions: What has been played up to it, as far as it is known.
        """
        self._bytes[:] = np.frombuffer(state.tobytes(), np.uint8)
        if self._write_mask is None:  # searches and opponents come here at every position
            self._write_mask = write_mask
            if is_compiled(self.game):
                arguments = (self.game, self._states, self._mask)
                self._write_mask = compiled_write_mask.specialise(*arguments)
        self._write_mask(self.game, self._states, self._mask)
        self._begin_play(list(actions), int(state.winner), int(self.game.to_play(state)))

    def _begin(self, start: "Start") -> None:
        self._frames = []
        self._bytes[:] = start.record
        self._mask[:] = start.mask
        self._begin_play(start.actions.copy(), start.winner, start.to_play)

    def _begin_play(self, actions: list[int], winner: int, to_play: int) -> None:
        """Go on from the position and the mask that have been written."""
        self.actions = actions
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._skip_agent_selection = None
        self._bind()
        self._settle(winner, to_play)
        self._show_position()

    def starting_positions(self, options: dict[str, Any]) -> list["Start"]:
        """Where to start: the position that the options tell, or else all openings."""
        given = [key for key in ("moves", "board", "state") if options.get(key) is not None]
        if len(given) > 1:
            raise ValueError(f"expected one starting position, got {' and '.join(given)}")
        for key in ("moves", "board"):
            if key in given and not isinstance(options[key], str):
                raise ValueError(f"expected {key} as text, got {type(options[key]).__name__}")
        if "moves" in given:
            return [Start.after(self.game, options["moves"])]
        if "board" in given:
            board, to_play = options["board"], options.get("to_play")
            if to_play not in (None, 0, 1):
                raise ValueError(f"expected to_play of 0 or 1, got {to_play!r}")
            return [Start.of(self.game, notation.parse_board(self.game, board, to_play))]
        if "state" in given:
            return [Start.of(self.game, self._restored(options["state"]))]
        return self._starts

    def _restored(self, state: Any) -> State:
        """A state given as bytes, or as a record, which is checked by way of bytes."""
        game = self.game
        if isinstance(state, bytes):
            return notation.from_bytes(game, state)
        if getattr(state, "dtype", None) != game.state_dtype:
            raise ValueError(
                f"expected a state of {game.name} or bytes, got {type(state).__name__}"
            )
        restored = notation.from_bytes(game, notation.to_bytes(game, state))
        # A record does not tell the size of its board: on a wrong one it reads as another position.
        told = (state.ply, state.winner, game.position_hash(state))
        if told != (restored.ply, restored.winner, game.position_hash(restored)):
            raise ValueError(f"expected a state of {game}, got one of another board")
        return restored

    def _bind(self) -> None:
        """Find the machine code; a game that does not compile is interpreted."""
        if self._advance is None:
            game, states = self.game, self._states
            self._advance, self._show = advance, show
            if is_compiled(game):
                out = self._new_planes()
                self._advance = compiled_advance.specialise(game, states, 0, self._mask)
                self._show = compiled_show.specialise(game, states, 0, self.extra_planes, out)

    def step(self, action: int | None) -> None:
        """Play an action for the agent to move; None for an agent whose game is over.

        Raises:
            IllegalActionError: If the action is not legal; nothing has changed then.
            ValueError: If the agent's game is over and the action is not None.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if not self.is_legal(action):
            notation.check_action(self.game, self.state, action)  # raises, and says why
        number = int(action)  # type: ignore[arg-type]
        assert self._advance is not None
        winner, to_play = self._advance(self.game, self._states, number, self._mask)
        self.actions.append(number)
        # Rewards and cumulative rewards are all zero until the last move: nothing to clear.
        self._settle(winner, to_play)
        self._show_position()

    def is_legal(self, action: object) -> bool:
        """Whether the agent to move may play `action`."""
        try:
            number = operator.index(action)  # type: ignore[arg-type]
        except TypeError:
            return False
        return 0 <= number < len(self._mask) and bool(self._mask[number])

    def forfeit(self, reward: float) -> None:
        """End the game for an illegal move of the agent to move, as PettingZoo's wrapper does.

        Args:
            reward: For the agent to move; the other gets 0. Both are terminated and truncated.
        """
        agent = self.agent_selection
        self._cumulative_rewards[agent] = 0.0
        self.terminations = dict.fromkeys(self.agents, True)
        self.truncations = dict.fromkeys(self.agents, True)
        self.rewards = {other: reward if other == agent else 0.0 for other in self.agents}
        self._accumulate_rewards()
        self._mask[:] = 0
        self._deads_step_first()
        self._refresh_infos()

    def _settle(self, winner: int, to_play: int) -> None:
        """Bring what the API shows in line with the position."""
        self.agent_selection = AGENTS[to_play]
        if winner != IN_PLAY:
            self.terminations = dict.fromkeys(AGENTS, True)
            if winner != DRAW:
                self.rewards[AGENTS[winner]] = 1.0
                self.rewards[AGENTS[1 - winner]] = -1.0
            self._accumulate_rewards()
        self._refresh_infos()

    def _refresh_infos(self) -> None:
        if self.mask_in == "observation":
            self.infos = {agent: {} for agent in self.agents}
        else:
            self.infos = {agent: {"action_mask": self._mask_of(agent)} for agent in self.agents}

    def _mask_of(self, agent: str) -> NDArray[np.int8]:
        """A fresh mask: the legal actions for the agent to move, zeros for the other."""
        if agent == self.agent_selection:
            return self._mask.copy()  # all zeros once the game is over
        return np.zeros(len(self._mask), np.int8)

    def _new_planes(self) -> NDArray[np.int8]:
        """Space for kernels to write planes into: ``(cells, planes)``."""
        return np.empty((self.game.rows * self.game.columns, len(self.planes)), np.int8)

    def observe(self, agent: str) -> Observation:
        """What an agent sees, at any time and whoever is to move; fresh arrays each time."""
        out = self._new_planes()
        assert self._show is not None
        self._show(self.game, self._states, PLAYER[agent], self.extra_planes, out)
        out = out.reshape(self.board_shape)
        if self.channels_first:
            out = np.ascontiguousarray(out.transpose(2, 0, 1))
        if self.dtype != np.int8:
            out = out.astype(self.dtype)
        if self.mask_in == "info":
            return out
        return {"observation": out, "action_mask": self._mask_of(agent)}

    # ---- copies --------------------------------------------------------------------------------

    def clone(self) -> "BoardEnv":
        """An independent environment in the same position, in a few microseconds.

        `copy.deepcopy` and `pickle` give the same, slower; they also take the random streams of the
        spaces along, where a clone starts new ones. A window stays with the original.
        """
        if type(self) is not BoardEnv:
            return copy.deepcopy(self)  # a subclass may keep what must not be shared
        twin = object.__new__(BoardEnv)
        twin.__dict__ = self.__dict__.copy()
        twin._bytes = self._bytes.copy()
        twin._states = np.ndarray(1, self._record_dtype, twin._bytes)  # faster than a view
        twin.actions = self.actions.copy()
        twin._frames = self._frames.copy()
        twin._mask = self._mask.copy()
        twin._owns_spaces = False
        if self._rng is not None:
            twin._rng = copy.deepcopy(self._rng)
        twin._window = None
        if hasattr(self, "agents"):
            twin.agents = self.agents.copy()
            twin.rewards = self.rewards.copy()
            twin.terminations = self.terminations.copy()
            twin.truncations = self.truncations.copy()
            twin._cumulative_rewards = self._cumulative_rewards.copy()
            twin._refresh_infos()
        return twin

    def __getstate__(self) -> dict[str, Any]:
        left_out = dict.fromkeys(("_states", "_advance", "_show", "_write_mask", "_window"))
        return {**self.__dict__, **left_out}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self._states = self._bytes.view(self._record_dtype)
        if hasattr(self, "agents"):
            self._bind()

    # ---- positions -----------------------------------------------------------------------------

    @property
    def state(self) -> State:  # type: ignore[override]  # PettingZoo's optional method: no use here
        """The position, a record for the game's verbs; change it only through `step`."""
        return self._states[0]

    @property
    def moves(self) -> str:
        """The moves since `reset`, as text.

        After a start from nothing or from moves, ``reset(options={"moves": ...})`` reads it back.
        """
        return notation.moves_text(self.game, self.actions)

    def to_bytes(self) -> bytes:
        """The position as bytes that ``reset(options={"state": ...})`` reads."""
        return notation.to_bytes(self.game, self.state)

    # ---- pictures ------------------------------------------------------------------------------

    def render(self) -> Any:
        """The board as `render_mode` says.

        Returns:
            A string, an ``(H, W, 3) uint8`` array, a list of these, or None.
        """
        match self.render_mode:
            case None:
                gymnasium.logger.warn("render was called without a render_mode: nothing is shown")
                return None
            case "rgb_array_list":
                frames, self._frames = self._frames, []
                return frames
            case "human":
                if self._window is None:
                    self._window = Window(self.metadata["name"], self.metadata["render_fps"])
                self._window.show(self._picture_as("rgb_array"))
                return None
            case mode:
                return self._picture_as(mode)

    def _picture_as(self, mode: str) -> Any:
        return render_picture(self.game, self.state, mode, self.look)

    def _show_position(self) -> None:
        """Show or keep a new position, where `render_mode` says so."""
        if self.render_mode == "human":
            self.render()
        elif self.render_mode == "rgb_array_list":
            self._frames.append(self._picture_as("rgb_array"))

    def _repr_svg_(self) -> str:
        """The board, for notebooks."""
        return self._picture_as("svg")

    def _repr_html_(self) -> str:
        """The board as an image of its own: documents in one page would share their names."""
        return svg_image(self._repr_svg_())

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None


class Start(NamedTuple):
    """A position to start from, with what `reset` needs to know of it."""

    record: NDArray[np.uint8]
    mask: NDArray[np.int8]
    winner: int
    to_play: int
    actions: list[int]
    """What has led there, as far as it is known."""

    @staticmethod
    def of(game: Game, state: State, actions: Sequence[int] = ()) -> "Start":
        mask = legal_mask_of(game, state)
        record = np.frombuffer(state.tobytes(), np.uint8)
        return Start(record, mask, int(state.winner), int(game.to_play(state)), list(actions))

    @staticmethod
    def after(game: Game, moves: str) -> "Start":
        actions = notation.parse_moves(game, moves)
        return Start.of(game, notation.play(game, actions), actions)


def opening_starts(game: Game, openings: Sequence[str] | None) -> list[Start]:
    """The positions after given openings; without any, the start of the game.

    Raises:
        ValueError: If there is none among them, one is no list of legal moves, or ends the game.
    """
    if openings is None:
        return [Start.of(game, new_state(game))]
    if not isinstance(openings, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"expected an opening's name or move lists, got {openings!r}")
    if not openings:
        raise ValueError("expected at least one opening, got none")
    starts: list[Start] = []
    for moves in openings:
        if not isinstance(moves, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(f"expected openings as move lists, got {moves!r}")
        starts.append(Start.after(game, moves))
        if starts[-1].winner != IN_PLAY:
            raise ValueError(f"expected openings that leave the game in play, got {moves!r}")
    return starts


def planes_of(observation: Observation) -> NDArray[Any]:
    """The planes of an observation of one board or of many: all of it, or what it holds."""
    return np.asarray(observation["observation"] if isinstance(observation, dict) else observation)


def check_render_mode(render_mode: str | None, known: Iterable[str]) -> None:
    """Refuse a render mode that is not among the known ones, or cannot be had.

    Raises:
        ValueError: If it is not known.
        ImportError: If it needs a library that is not installed.
    """
    if render_mode is not None and render_mode not in known:
        raise ValueError(
            f"expected a render_mode of {', '.join(known)} or None, got {render_mode!r}"
        )
    if render_mode == "human" and find_spec("pygame") is None:
        raise ImportError('render_mode "human" needs pygame: pip install "hexenv[human]"')
