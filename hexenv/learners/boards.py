"""Many boards of one game, stepped together by compiled code.

What the single-agent and the vector environments share: a learner plays one side of every board,
and something else (`hexenv.learners.opponents`) the other side.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import is_compiled
from hexenv.envs.aec import BoardEnv
from hexenv.envs.starts import Start
from hexenv.games import notation
from hexenv.games.base import IN_PLAY, whole_number
from hexenv.games.notation import IllegalActionError
from hexenv.learners.board_kernels import (
    BOTH,
    COMPILED,
    Which,
    answer_boards,
    find_players,
    find_waiting,
    judge_boards,
    play_boards,
    play_given,
    show_boards,
    start_boards,
)
from hexenv.learners.learner import ILLEGAL, SIDES
from hexenv.policies import Stream, new_seed

MOST_STARTS: Final = 1000
"""How often a start is tried again if the opponent's first answer ends the game."""
DTYPES: Final = ("bool", "int8", "uint8", "int16", "int32", "int64", "float32", "float64")
"""Of planes that compiled code writes."""


class Opponent(Protocol):
    """Whatever plays the other side of boards. `hexenv.learners.opponents` has the kinds."""

    name: str
    needs_moves: bool
    """Whether it reads `Boards.moves`."""
    is_compiled: bool
    """Whether it plays in compiled code, and so in several threads at once."""

    def begin(self, boards: "Boards", which: Which) -> None:
        """Games start on some boards."""
        ...

    def answer(self, boards: "Boards", which: Which) -> None:
        """Play on some boards until it is the learner's turn or the game is over.

        There may be boards among them on which it is not the opponent's turn.

        Raises:
            ValueError: Naming the opponent and the position, if it has no legal answer.
        """
        ...


class Outcome(NamedTuple):
    """What a step brought, an entry for each board."""

    rewards: NDArray[np.float64]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]


class Boards:
    """Boards of one game with a learner on one side, or (without opponents) on both.

    Args:
        env: Tells the game and how it is shown.
        count: How many boards.
        first: The number of the first in messages, where there are several boards.
        side: See `LearnerOptions`, as for all that follows.
        illegal: See `LearnerOptions`.
        penalty: See `LearnerOptions`.
        max_illegal: See `LearnerOptions`.

    Attributes:
        states: ``(count,)`` positions.
        players: ``(count,) int8``: the learner's side; without opponents, who has moved last.
        seeds: ``(count,) uint64``: where the random streams have come to.
        idle: ``(count,) bool``: boards whose episode is over.
        masks: ``(count, num_actions) int8``: what the learner may play, as it was last shown.
        moves: The actions of each episode; None unless an opponent needs them.
        illegal_actions: How many illegal actions the learner has chosen so far.
    """

    def __init__(
        self,
        env: BoardEnv,
        count: int,
        first: int | None = None,
        side: Literal["first", "second", "random"] = "random",
        illegal: Literal["terminate", "raise", "penalise"] = "terminate",
        penalty: float = -0.1,
        max_illegal: int = 10,
    ) -> None:
        if side not in SIDES:
            raise ValueError(f"expected a side of {', '.join(SIDES)}, got {side!r}")
        if illegal not in ILLEGAL:
            raise ValueError(f"expected illegal of {', '.join(ILLEGAL)}, got {illegal!r}")
        if whole_number("max_illegal", max_illegal) < 1:
            raise ValueError(f"expected max_illegal of at least 1, got {max_illegal}")
        self.env = env
        self.game = env.game
        self.count = count
        self._first = first
        self.illegal_actions = 0
        self.moves: list[list[int]] | None = None
        if not np.isfinite(penalty) or penalty > 0.0:
            raise ValueError(f"expected a penalty of at most 0, got {penalty}")
        if env.dtype not in DTYPES:
            raise ValueError(f"expected a dtype of {', '.join(DTYPES)}, got {env.dtype}")
        self._drawn_side = SIDES.index(side)
        self._illegal = illegal
        self._penalty = float(penalty)
        self._max_illegal = int(max_illegal)
        self._opponents: list[Opponent] = []
        self._pool: list[Opponent] = []
        self._all: Which = np.arange(count)
        self._record_dtype = np.dtype((np.record, self.game.state_dtype))
        self.start(env.starting_positions({}))
        self.states: Any = np.repeat(self._initial[:1], count)
        self.players = np.zeros(count, np.int8)
        self.seeds = np.ones(count, np.uint64)
        self.idle = np.ones(count, np.bool_)
        self.masks = np.ones((count, self.game.num_actions()), np.int8)
        self._begun = np.zeros(count, np.int32)  # which of the starts each episode has
        self._chosen = np.zeros(count, np.int32)
        self._found_illegal = np.zeros(count, np.bool_)
        self._illegal_in_episode = np.zeros(count, np.int64)
        self._waiting = np.zeros(count, np.bool_)
        self._specialised: dict[Any, Callable[..., Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_specialised": {}}  # machine code cannot be copied

    # ---- opponents ------------------------------------------------------------------------------

    @property
    def side(self) -> int:
        """`FIRST`, `SECOND` or `RANDOM`; `BOTH` without opponents."""
        return self._drawn_side if self._pool else BOTH

    @property
    def is_compiled(self) -> bool:
        """Whether a step is compiled code alone."""
        return all(opponent.is_compiled for opponent in self._opponents)

    def set_opponents(self, pool: Sequence[Opponent]) -> None:
        """Who plays the other side in the episodes to come, drawn anew for each; none: nobody.

        Episodes under way keep their opponent.
        """
        in_play = np.unique(self._chosen[~self.idle]) if self._opponents else np.zeros(0, int)
        places = np.zeros(len(self._opponents) + 1, np.int32)
        places[in_play] = np.arange(len(in_play))
        self._chosen = places[self._chosen]
        self._pool = list(pool)
        self._opponents = [self._opponents[number] for number in in_play] + self._pool
        if self.moves is None and any(opponent.needs_moves for opponent in self._opponents):
            self.moves = [list[int]() for _ in range(self.count)]

    @property
    def _former(self) -> int:
        """How many opponents are left from before the pool was set, first in the list."""
        return len(self._opponents) - len(self._pool)

    def opponent_of(self, board: int) -> Opponent | None:
        """Who plays the other side of a board."""
        return self._opponents[int(self._chosen[board])] if self._opponents else None

    def _answer(self, which: Which) -> None:
        """Let the opponents play on some boards."""
        if len(self._opponents) == 1:
            self._opponents[0].answer(self, which)
            return
        for number, opponent in enumerate(self._opponents):
            its_own = which[self._chosen[which] == number]
            if its_own.size:
                opponent.answer(self, its_own)

    # ---- episodes -------------------------------------------------------------------------------

    def start(self, starts: Sequence[Start]) -> None:
        """Where the episodes to come begin: at one of the starts, drawn anew for each.

        Raises:
            ValueError: If the game is over there.
        """
        if any(start.winner != IN_PLAY for start in starts):
            raise ValueError("expected a position in play to start from, got one that is over")
        records = np.concatenate([start.record for start in starts])
        self._initial = records.view(self._record_dtype)
        self._first_moves = [start.actions for start in starts]

    def seed(self, board: int, rng: np.random.Generator) -> None:
        """Give a board's stream its beginning."""
        self.seeds[board] = new_seed(rng)

    def restart(self, which: Which) -> None:
        """Begin new episodes, up to the learner's first turn."""
        if which.size == 0:
            return
        self.idle[which] = False
        try:
            self._restart(which)
        except BaseException:
            self.idle[which] = True  # an opponent has failed: they have not begun
            raise
        former = self._former
        if former and self._chosen.min() >= former:  # nobody plays a former opponent any more
            self._opponents = self._pool.copy()
            self._chosen -= former
            if not any(opponent.needs_moves for opponent in self._opponents):
                self.moves = None

    def _restart(self, which: Which) -> None:
        for _ in range(MOST_STARTS):
            self._run(
                start_boards, self._initial, self.states, self._begun, self.players, self._chosen,
                self.seeds, which, self.side, len(self._pool), self._former,
            )  # fmt: skip
            self._illegal_in_episode[which] = 0
            if not self._opponents:  # nobody moves before the learner does
                return
            if self.moves is not None:
                for board in which.tolist():
                    self.moves[board] = self._first_moves[self._begun[board]].copy()
            for number, opponent in enumerate(self._opponents):
                opponent.begin(self, which[self._chosen[which] == number])
            self._answer(which)
            which = which[self.states["winner"][which] != IN_PLAY]
            if which.size == 0:
                return
        raise ValueError("expected a start from which the learner gets a turn: it never did")

    def play(self, actions: NDArray[np.int64]) -> Outcome:
        """Play the learner's actions and the opponents' answers on all boards that are not idle.

        Args:
            actions: ``(count,)``; those of idle boards are ignored.
        """
        found = self._run(
            play_boards, self.states, self.players, self.side, actions, self.masks, self.idle,
            self._found_illegal,
        )  # fmt: skip
        if self.moves is not None:
            for board in np.flatnonzero(~(self.idle | self._found_illegal)).tolist():
                self.moves[board].append(int(actions[board]))
        if self._opponents:
            try:
                self._answer(self._all if not found else np.flatnonzero(~self._found_illegal))
            except BaseException:
                self.idle[:] = True  # it is not the learner's turn: the episodes cannot go on
                raise
        rewards, over = np.empty(self.count), np.empty(self.count, np.bool_)
        self._run(judge_boards, self.states, self.players, self.idle, rewards, over)
        outcome = Outcome(rewards, over, np.zeros(self.count, np.bool_))
        if found:
            self._punish(outcome)
        return outcome

    def refuse_illegal(self, actions: NDArray[np.int64]) -> None:
        """With ``illegal="raise"``, look at actions before they are played.

        Raises:
            IllegalActionError: If one is not legal.
        """
        if self._illegal != "raise":
            return
        size = self.masks.shape[1]
        legal = self.masks[self._all, np.clip(actions, 0, size - 1)] != 0
        wrong = np.flatnonzero(~(legal & (actions >= 0) & (actions < size)) & ~self.idle)
        if wrong.size:
            self.check_action(int(wrong[0]), int(actions[wrong[0]]))

    def check_action(self, board: int, action: object) -> int:
        """The action as an integer.

        Raises:
            IllegalActionError: If it is not legal on the board; of several boards, it is named.
        """
        try:
            return notation.check_action(self.game, self.states[board], action)
        except IllegalActionError as error:
            where = f", board {self._first + board}" if self._first is not None else ""
            raise IllegalActionError(f"{error}{where}") from None

    def _punish(self, outcome: Outcome) -> None:
        """What the learner gets for illegal actions."""
        illegal = self._found_illegal
        self.illegal_actions += int(illegal.sum())
        self._illegal_in_episode += illegal
        if self._illegal == "terminate":
            outcome.rewards[illegal] = -1.0
            outcome.terminations[illegal] = True
        else:
            outcome.rewards[illegal] = self._penalty
            too_many = self._illegal_in_episode >= self._max_illegal
            outcome.truncations[illegal & too_many] = True

    # ---- what opponents use ----------------------------------------------------------------------

    def waiting(self, which: Which) -> Which:
        """Those boards of some on which it is the opponent's turn."""
        self._run(find_waiting, self.states, self.players, self.idle, self._waiting)
        return which[self._waiting[which]]

    def to_play(self) -> NDArray[np.int8]:
        """``(count,)``: who is to move on each board."""
        players = np.empty(self.count, np.int8)
        self._run(find_players, self.states, players)
        return players

    def answer_by(self, policy: Any, which: Which) -> None:
        """Let a compiled policy play on some boards until it is the learner's turn."""
        self._run(
            answer_boards, self.states, self.players, self.seeds, which, policy, kind=type(policy)
        )

    def answer_with(self, which: Which, actions: NDArray[np.int64]) -> None:
        """Play the opponent's actions, checked before, on the boards that wait for them."""
        self._run(play_given, self.states, which, actions)
        if self.moves is not None:
            for board, action in zip(which, actions, strict=True):
                self.moves[int(board)].append(int(action))

    def draw(self, board: int) -> int:
        """A seed from a board's stream."""
        return int(Stream(self.seeds, board).random() * 2**32)

    # ---- what is seen ----------------------------------------------------------------------------

    def new_planes(self, count: int) -> NDArray[Any]:
        """Room for what is seen on so many boards, as the environment shows it."""
        return np.empty((count, *self.env.shown_shape), self.env.dtype)

    def show(self, which: Which, to_play: bool = False) -> tuple[NDArray[Any], NDArray[np.int8]]:
        """Planes and masks of some boards, fresh arrays.

        Args:
            which: The boards.
            to_play: As the player to move sees them, not the learner.
        """
        planes = self.new_planes(len(which))
        masks = np.empty((len(which), self.masks.shape[1]), np.int8)
        self._write_shown(which, to_play, planes, masks)
        return planes, masks

    def show_all(self, planes: NDArray[Any]) -> None:
        """Write the planes of all boards, and their masks into `masks`."""
        self._write_shown(self._all, False, planes, self.masks)

    def _write_shown(
        self, which: Which, to_play: bool, planes: NDArray[Any], masks: NDArray[np.int8]
    ) -> None:
        count, cells = len(planes), self.game.rows * self.game.columns
        if self.env.channels_first:
            out = planes.reshape(count, -1, cells).transpose(0, 2, 1)
        else:
            out = planes.reshape(count, cells, -1)
        to_play = to_play or self.side == BOTH
        self._run(
            show_boards, self.states, self.players, to_play, which, out, masks,
            self.env.extra_planes, kind=out.flags.f_contiguous,  # one board has another layout
        )  # fmt: skip

    def _run(self, function: Callable[..., Any], *arguments: Any, kind: Any = None) -> Any:
        """Run a kernel of this module, compiled if the game is.

        Args:
            function: The kernel.
            *arguments: What it gets besides the game.
            kind: Tells the types of the arguments apart, where they are not always the same.
        """
        run = self._specialised.get((function, kind))
        if run is None:
            run = function
            if is_compiled(self.game):
                run = COMPILED[function].specialise(self.game, *arguments)
            self._specialised[function, kind] = run
        return run(self.game, *arguments)
