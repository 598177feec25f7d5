"""Many boards of one game, stepped together by compiled code.

The single-agent and the vector environments share this: a learner plays one side of every board, an
opponent (`hexenv.learners.opponents`) the other side.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import is_compiled
from hexenv.envs.aec import BoardEnv
from hexenv.envs.observation import observation_of
from hexenv.envs.position import Start
from hexenv.games import notation
from hexenv.games.base import IN_PLAY
from hexenv.games.notation import IllegalActionError
from hexenv.games.table import GameTable, Which, play_in_games, write_movers
from hexenv.learners import kernels
from hexenv.learners.kernels import BOTH, MAX_STARTS, NEVER, Actions, Flags, Players
from hexenv.learners.lineup import (
    Lineup,
    Masks,
    Opponent,
    Roster,
    SeeingOpponent,
    each_of,
    expect_actions,
)
from hexenv.learners.options import LearnerOptions, Side
from hexenv.learners.policies import Nobody, Stream, new_seed

NOBODY: Final = Nobody()
NO_BOARDS: Final[Which] = np.zeros(0, np.int64)
DTYPES: Final = ("bool", "int8", "uint8", "int16", "int32", "int64", "float32", "float64")
"""Of planes that compiled code writes."""


class StepResult(NamedTuple):
    """The result of a step, an entry for each board."""

    rewards: NDArray[np.float64]
    terminations: Flags
    truncations: Flags


class Boards:
    """Boards of one game with a learner on one side, or (without opponents) on both.

    Args:
        env: An environment of the game, whose options say how to show it.
        count: The number of boards.
        options: See `LearnerOptions`.
        first: The number of the first board in messages; None if there is only one.

    Attributes:
        table: The games; their actions only if an opponent needs them.
        players: ``(count,) int8``: the learner's side; without opponents, who moved last.
        seeds: ``(count,) uint64``: the states of the random streams.
        idle: ``(count,) bool``: boards whose episode is over.
        masks: ``(count, num_actions) int8``: the learner's legal actions, as last shown.
        threads: The most that an opponent may use; None: as many as there are processors.
        illegal_actions: The number of illegal actions that the learner has chosen.
    """

    def __init__(
        self,
        env: BoardEnv,
        count: int,
        options: LearnerOptions,
        first: int | None = None,
    ) -> None:
        self.env = env
        self.game = env.game
        self.count = count
        self._first = first
        self.illegal_actions = 0
        self.threads: int | None = None
        if env.dtype not in DTYPES:
            raise ValueError(f"expected a dtype of {', '.join(DTYPES)}, got {env.dtype}")
        self._options = options
        self._drawn_side = get_args(Side).index(options.side)
        # Python reads attributes fast of an object that has up to 30: those are in another one.
        self._lineup = Lineup(count)
        self._opponents = self._lineup.opponents
        self._policy: Any = NOBODY  # of the only opponent, if it is a compiled one
        self._all: Which = np.arange(count)
        self._record_dtype = np.dtype((np.record, self.game.state_dtype))
        self.start(env.starting_positions({}))
        states: Any = np.repeat(self._initial[:1], count)
        self.table = GameTable(states, np.zeros((count, 0), np.int32), np.zeros(count, np.int32))
        self.players = np.zeros(count, np.int8)
        self.seeds = np.ones(count, np.uint64)
        self.idle = np.ones(count, np.bool_)
        self.masks = np.ones((count, self.game.num_actions()), np.int8)
        self._kept: NDArray[Any] | None = None
        self._shown = np.full((2, count), NEVER, np.int64)  # the plies of what is kept
        self._earlier = np.zeros(count, np.int64)
        self._begun = np.zeros(count, np.int32)  # the number of each episode's start
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
        return self._drawn_side if self._opponents else BOTH

    @property
    def is_compiled(self) -> bool:
        """Whether all opponents are compiled, so that boards can be stepped in threads."""
        return all(opponent.is_compiled for opponent in self._opponents)

    def set_opponents(self, roster: Roster, which: Which | None = None) -> None:
        """Set the opponents of new episodes on some or (default) all boards.

        Without any, the learner plays both sides. Running episodes keep their opponent.
        """
        self._lineup.set(roster, self._all if which is None else which)
        self._arrange()

    def _arrange(self) -> None:
        """Take in whom the rosters have now."""
        in_play = each_of(self._chosen[~self.idle]) if self._opponents else []
        self._chosen = self._lineup.arrange(in_play)[self._chosen]
        self._opponents = self._lineup.opponents
        only = self._opponents[0] if len(self._opponents) == 1 else None
        policy_on = getattr(only, "policy_on", None)
        self._policy = NOBODY if policy_on is None else policy_on(self)
        are_needed = any(opponent.needs_moves for opponent in self._opponents)
        width = self.game.max_plies() if are_needed else 0
        if self.table.actions.shape[1] != width:
            actions = np.zeros((self.count, width), np.int32)
            self.table = self.table._replace(actions=actions)
            self.table.lengths[:] = 0

    @property
    def _asks_opponents(self) -> bool:
        """Whether there are opponents besides a compiled policy, which answers by itself."""
        return bool(self._opponents) and not self._policy.answers

    def opponent_of(self, board: int) -> Opponent | None:
        return self._opponents[int(self._chosen[board])] if self._opponents else None

    def _by_opponent(self, which: Which) -> list[tuple[Opponent, Which]]:
        """The opponents on some boards, each with its own."""
        if len(self._opponents) == 1:
            return [(self._opponents[0], which)]
        chosen = self._chosen[which]
        return [(self._opponents[one], which[chosen == one]) for one in each_of(chosen)]

    def _answer(self, groups: list[tuple[Opponent, Which]]) -> None:
        seeing: list[tuple[SeeingOpponent, Which]] = []
        for opponent, own in groups:
            as_seeing = opponent.as_seeing(self)
            if as_seeing is None:
                opponent.answer(self, own)
            else:
                seeing.append((as_seeing, own))
        if seeing:
            self.answer_seeing(seeing)

    def opponent_titles(self) -> NDArray[Any]:
        """The title of the opponent on each board, ``(count,)`` texts."""
        return self._lineup.names[self._chosen]

    def note_ended(self, which: Which, result: "StepResult") -> None:
        """Count the results of episodes that end, but for truncated ones.

        `hand_in` gives them to the rosters.
        """
        ended = which[result.terminations[which]]
        places = 1 - np.sign(result.rewards[ended]).astype(np.int64)  # a win, a draw, a loss
        np.add.at(self._lineup.counts, (self._chosen[ended], places), 1)

    def hand_in(self) -> None:
        """Give the results since the last call to the rosters, which are shared between threads."""
        self._lineup.hand_in()

    # ---- episodes -------------------------------------------------------------------------------

    def start(self, starts: Sequence[Start]) -> None:
        """Set the starts of which one is drawn for each new episode; ValueError if one is over."""
        if any(start.winner != IN_PLAY for start in starts):
            raise ValueError("expected a position in play to start from, got one that is over")
        records = np.concatenate([start.record for start in starts])
        self._initial = records.view(self._record_dtype)
        self._first_moves = [start.actions for start in starts]

    def seed(self, board: int, rng: np.random.Generator) -> None:
        self.seeds[board] = new_seed(rng)

    def restart(self, which: Which) -> None:
        """Begin new episodes, up to the learner's first turn."""
        if which.size == 0:
            return
        self._take_in_changes()
        self.idle[which] = False
        try:
            self._restart(which)
        except BaseException:
            self.idle[which] = True  # an opponent has failed
            raise
        self._let_go()

    def _take_in_changes(self) -> None:
        """Know who the opponents of new episodes are."""
        if self._lineup.has_changed():
            self._arrange()

    def _let_go(self) -> None:
        """Forget former opponents as soon as all episodes have new ones."""
        former = self._lineup.former
        if former and self._chosen.min() >= former:
            self._arrange()

    def _restart(self, which: Which) -> None:
        get_turns = False
        for _ in range(MAX_STARTS):
            get_turns = self._set_up(which)
            if not self._asks_opponents:
                break
            self._answer(self._by_opponent(which))
            which = which[self.table.states["winner"][which] != IN_PLAY]
            if get_turns := which.size == 0:
                break
        if not get_turns:
            raise ValueError("expected a start from which the learner gets a turn: it never did")

    def _set_up(self, which: Which) -> bool:
        """Draw starts and opponents; only a compiled policy answers. See `start_boards`."""
        get_turns = self._run(
            kernels.start_boards, self._initial, self.table.states, self._begun, self.players,
            self.seeds, which, self.side, self._policy, kind=type(self._policy),
        )  # fmt: skip
        self._illegal_in_episode[which] = 0
        self._shown[:, which] = NEVER
        if self._asks_opponents:
            if self.table.actions.size:
                for board in which.tolist():
                    first = self._first_moves[self._begun[board]]
                    self.table.actions[board, : len(first)] = first
                    self.table.lengths[board] = len(first)
            self._draw_opponents(which)
            for opponent, own in self._by_opponent(which):
                opponent.begin(self, own)
        return bool(get_turns)

    def _draw_opponents(self, which: Which) -> None:
        """Draw the opponents of some boards, each of its roster."""
        if len(self._opponents) == 1:
            return  # its number is 0, as it is everywhere already
        first = self._lineup.former
        for own, roster in self._lineup.by_roster(which):
            count = len(roster.opponents)
            if count == 1:
                self._chosen[own] = first
            else:
                self._run(
                    kernels.choose_opponents,
                    self._chosen,
                    self.seeds,
                    own,
                    first,
                    count,
                    roster.shares,
                )
            first += count

    def play(self, actions: Actions, begin: Which = NO_BOARDS) -> StepResult:
        """Play the learner's ``(count,)`` actions, and the answers, on boards that are not idle.

        On the idle boards `begin` episodes begin; what no compiled policy answers there, an
        opponent answers together with the other boards.
        """
        rewards, over = np.empty(self.count), np.empty(self.count, np.bool_)
        try:
            found = self._run(
                kernels.step_boards, self.table, self.players, self.side, actions, self.masks,
                self.idle, self._found_illegal, self.seeds, self._policy, rewards, over,
                kind=type(self._policy),
            )  # fmt: skip
            if self._asks_opponents:
                if begin.size:
                    self._take_in_changes()
                    self.idle[begin] = False
                    self._set_up(begin)
                which = self._all if not found else np.flatnonzero(~self._found_illegal)
                self._answer(self._by_opponent(which))
                self._run(
                    kernels.score_boards, self.table.states, self.players, self.idle, rewards, over
                )
                begun, begin = begin, begin[over[begin]]  # the first answer has ended the game
                rewards[begun], over[begun] = 0.0, False
                self._let_go()
            self.restart(begin)
        except BaseException:
            self.idle[:] = True  # results are lost: no episode can continue
            raise
        result = StepResult(rewards, over, np.zeros(self.count, np.bool_))
        if found:
            self._punish(result)
        return result

    def refuse_illegal(self, actions: Actions) -> None:
        """With ``illegal="raise"``: IllegalActionError before any is played, if one is illegal."""
        if self._options.illegal != "raise":
            return
        size = self.masks.shape[1]
        legal = self.masks[self._all, np.clip(actions, 0, size - 1)] != 0
        wrong = np.flatnonzero(~(legal & (actions >= 0) & (actions < size)) & ~self.idle)
        if wrong.size:
            self.check_action(int(wrong[0]), int(actions[wrong[0]]))

    def check_action(self, board: int, action: object) -> int:
        """The action as an integer; an IllegalActionError names one of several boards."""
        try:
            return notation.check_action(self.game, self.table.states[board], action)
        except IllegalActionError as error:
            where = f", board {self._first + board}" if self._first is not None else ""
            raise IllegalActionError(f"{error}{where}") from None

    def _punish(self, result: StepResult) -> None:
        """Write the rewards and ends that follow from illegal actions."""
        illegal = self._found_illegal
        self.illegal_actions += int(illegal.sum())
        self._illegal_in_episode += illegal
        if self._options.illegal == "terminate":
            result.rewards[illegal] = -1.0
            result.terminations[illegal] = True
        else:
            result.rewards[illegal] = self._options.penalty
            too_many = self._illegal_in_episode >= self._options.max_illegal
            result.truncations[illegal & too_many] = True

    # ---- for opponents ---------------------------------------------------------------------------

    def waiting(self, which: Which) -> Which:
        """Those of the given boards on which it is the opponent's turn."""
        self._run(kernels.find_waiting, self.table.states, self.players, self.idle, self._waiting)
        return which[self._waiting[which]]

    def to_play(self) -> Players:
        players = np.empty(self.count, np.int8)
        self._run(write_movers, self.table.states, players)
        return players

    def answer_seeing(self, groups: Sequence[tuple[SeeingOpponent, Which]]) -> None:
        """Let opponents that see boards play on theirs until it is the learner's turn.

        All boards are shown at once; each opponent then answers its own.
        """
        while True:
            self._run(
                kernels.find_waiting, self.table.states, self.players, self.idle, self._waiting
            )
            groups = [(one, left) for one, own in groups if (left := own[self._waiting[own]]).size]
            if not groups:
                return
            which = groups[0][1]
            if len(groups) > 1:
                which = np.concatenate([own for _, own in groups])
            planes, legal = self.show(which, to_play=True)
            masks = legal.copy()  # an opponent may change its arguments
            observations = self.env.pack_observation(planes, masks)
            if len(groups) == 1:
                actions = groups[0][0].choose(self, observations, masks)
                expect_actions(groups[0][0].name, actions, which.shape)
            else:
                answers: list[NDArray[Any]] = []
                first = 0
                for one, own in groups:
                    rows = slice(first, first + own.size)
                    first = rows.stop
                    found = one.choose(self, observation_of(observations, rows), masks[rows])
                    expect_actions(one.name, found, own.shape)
                    answers.append(found)
                actions = np.concatenate(answers)
            self.check_answers(groups, which, actions, legal)
            self.answer_with(which, actions.astype(np.int64))

    def check_answers(
        self,
        groups: Sequence[tuple["Opponent | SeeingOpponent", Which]],
        which: Which,
        actions: NDArray[Any],
        masks: Masks,
    ) -> None:
        """Refuse actions of opponents, one for each board, by a ValueError that names one.

        `groups` are the opponents with their boards, `masks` the legal actions of these boards.
        """
        near = actions.clip(0, masks.shape[1] - 1)
        for i in ((near != actions) | (masks[np.arange(which.size), near] == 0)).nonzero()[0]:
            try:
                self.check_action(int(which[i]), actions[i])
            except IllegalActionError as error:
                name = next(one.name for one, own in groups if which[i] in own)
                raise ValueError(f"opponent {name}: {error}") from None

    def answer_by(self, policy: Any, which: Which) -> None:
        self._run(
            kernels.answer_boards,
            self.table.states,
            self.players,
            self.seeds,
            which,
            policy,
            kind=type(policy),
        )

    def answer_with(self, which: Which, actions: Actions) -> None:
        """Play an opponent's legal actions."""
        outcomes = np.empty(which.size, np.int8)
        self._run(play_in_games, self.table, which, actions, outcomes)

    def draw(self, board: int) -> int:
        return int(Stream(self.seeds, board).random() * 2**32)

    # ---- observations ----------------------------------------------------------------------------

    def new_planes(self, count: int) -> NDArray[Any]:
        """An empty array for the planes of `count` boards, as the environment shows them."""
        return np.empty((count, *self.env.shown_shape), self.env.dtype)

    def show(self, which: Which, to_play: bool = False) -> tuple[NDArray[Any], Masks]:
        """Fresh planes and masks of some boards, as the learner sees them or who is to play."""
        planes = self.new_planes(len(which))
        masks = np.empty((len(which), self.masks.shape[1]), np.int8)
        self._write_shown(which, to_play, planes, masks)
        return planes, masks

    def show_all(self, planes: NDArray[Any], actions: Actions) -> None:
        """Write all planes, and the masks into `masks`, after the learner's actions.

        In a game that `adds_stones` they are kept, and only what has changed is written anew.
        """
        if not hasattr(self.game, "adds_stones"):
            self._write_shown(self._all, False, planes, self.masks)
            return
        if self._kept is None:
            views = 2 if self.side == BOTH else 1
            self._kept = np.empty((views, *planes.shape), planes.dtype)
        rows = self._kept.reshape(len(self._kept), self.count, -1)
        self._run(
            kernels.show_changes, self.table.states, self.players, actions, self._earlier,
            self._shown, self._by_cell(self._kept), rows, planes.reshape(self.count, -1),
            self.masks, self.env.extra_planes,
        )  # fmt: skip
        if len(rows) == 1:
            planes[...] = self._kept[0]

    def _write_shown(self, which: Which, to_play: bool, planes: NDArray[Any], masks: Masks) -> None:
        out = self._by_cell(planes)
        to_play = to_play or self.side == BOTH
        self._run(
            kernels.show_boards, self.table.states, self.players, to_play, which, out, masks,
            self.env.extra_planes, kind=out.flags.f_contiguous,  # differs for a single board
        )  # fmt: skip

    def _by_cell(self, planes: NDArray[Any]) -> NDArray[Any]:
        """Planes as ``(..., cells, planes)``; the same memory."""
        cells = self.game.rows * self.game.columns
        if self.env.channels_first:
            return planes.reshape(*planes.shape[:-3], -1, cells).swapaxes(-1, -2)
        return planes.reshape(*planes.shape[:-3], cells, -1)

    def _run(self, function: Callable[..., Any], *arguments: Any, kind: Any = None) -> Any:
        """Run a kernel, compiled if the game is; `kind` tells types apart."""
        run = self._specialised.get((function, kind))
        if run is None:
            run = function
            if is_compiled(self.game):
                run = kernels.compiled_for_boards(function).specialise(self.game, *arguments)
            self._specialised[function, kind] = run
        return run(self.game, *arguments)
