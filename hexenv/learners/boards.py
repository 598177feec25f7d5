"""Many boards of one game, stepped together by compiled code.

The single-agent and the vector environments share this: a learner plays one side of every board, an
opponent (`hexenv.learners.opponents`) the other side.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from numbers import Real
from typing import Any, Final, Literal, NamedTuple, Protocol, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.common.messages import expect_parameters, not_one_of, shortened
from hexenv.compiled import CompiledFunction, is_compiled, kernel, scratch_array
from hexenv.envs.aec import BoardEnv
from hexenv.envs.observation import observation_of, write_planes
from hexenv.envs.position import Start
from hexenv.games import notation
from hexenv.games.base import IN_PLAY, Game, whole_number
from hexenv.games.notation import IllegalActionError
from hexenv.learners.policies import Stream, new_seed

Which = NDArray[np.int64]
"""Numbers of boards."""
Actions = NDArray[np.int64]
Players = NDArray[np.int8]
Masks = NDArray[np.int8]
Seeds = NDArray[np.uint64]
Flags = NDArray[np.bool_]
Shares = NDArray[np.float64]
"""Sums of the probabilities of opponents, up to 1; empty if all are equally likely."""

SIDES: Final = ("first", "second", "random")
FIRST, SECOND, RANDOM, BOTH = range(4)
"""The learner's side: an index of `SIDES`, or `BOTH` if it plays for both players."""
ILLEGAL: Final = ("terminate", "raise", "penalise")
MAX_STARTS: Final = 1000
"""How often a start is tried again if the opponent's first answer ends the game."""
ALL_ALIKE: Final = np.zeros(0)
"""`Shares` of opponents that are equally likely."""
DTYPES: Final = ("bool", "int8", "uint8", "int16", "int32", "int64", "float32", "float64")
"""Of planes that compiled code writes."""


# ---- options -------------------------------------------------------------------------------------


class LearnerOptions(TypedDict, total=False):
    """The options that the single-agent and the vector environments share.

    Attributes:
        side: The learner's side: ``"first"`` to move, ``"second"``, or (default) ``"random"``,
            drawn from the seed for every episode.
        illegal: The effect of an illegal action. ``"terminate"`` (default): the episode ends, with
            reward -1. ``"raise"``: `hexenv.IllegalActionError`, and nothing changes.
            ``"penalise"``: the reward is `penalty`, the learner is to move again, and the
            `max_illegal`-th illegal action of an episode truncates it.
        penalty: Reward of an illegal action with ``"penalise"``, at most 0; -0.1 by default.
        max_illegal: 10 by default.
    """

    side: Literal["first", "second", "random"]
    illegal: Literal["terminate", "raise", "penalise"]
    penalty: float
    max_illegal: int


def split_options(options: dict[str, Any]) -> tuple[LearnerOptions, dict[str, Any]]:
    """The options of `LearnerOptions`, and those for the game."""
    names = LearnerOptions.__annotations__
    of_learner = {name: value for name, value in options.items() if name in names}
    of_game = {name: value for name, value in options.items() if name not in names}
    return cast("LearnerOptions", of_learner), of_game


def make_raw_env(
    game: str | Callable[..., BoardEnv], options: dict[str, Any], also: Iterable[str] = ()
) -> BoardEnv:
    """The environment behind a Gymnasium one, of a function or the name of one.

    A TypeError names the options that there are, with those of `also` and of `LearnerOptions`, if
    the function does not have one.
    """
    if isinstance(game, str):
        module, _, name = game.partition(":")
        try:
            game = cast("Callable[..., BoardEnv]", getattr(import_module(module), name))
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(f"expected a game as module:function, got {game!r}: {error}") from None
    if not callable(game):
        raise TypeError(f"expected a function that makes an environment, got {shortened(game)}")
    make: Any = game
    made_by = getattr(make, "func", make)  # of a `functools.partial`
    title = getattr(made_by, "__module__", "").rpartition(".")[2] or "environment"
    also = ("opponent", *also, *LearnerOptions.__annotations__)
    expect_parameters(title, make, (), options, also)
    env = make(**options)
    unwrapped: Any = getattr(env, "unwrapped", None)
    if not isinstance(unwrapped, BoardEnv):
        got = shortened(env)
        raise TypeError(f"{title}: expected a function that makes a BoardEnv, got one of {got}")
    return env


def action_array(actions: Any, shape: tuple[int, ...], game: Game) -> Actions:
    """Actions as an array of integers; ValueError if they are none, or of another shape."""
    array = np.asarray(actions)
    if array.shape != shape or array.dtype.kind not in "iu":
        expected = f"actions of shape {shape} as integers" if shape else "an action as an integer"
        got = f", shape {array.shape} of {array.dtype}" if array.ndim or shape else ""
        raise ValueError(
            f"expected {expected} from 0 to {game.num_actions() - 1}, "
            f"got {shortened(actions)}{got}{notation.action_of_move(game, actions)}"
        )
    return np.ascontiguousarray(array, np.int64)  # compiled code assumes no strides


def answers_of(name: str, answers: Any) -> NDArray[Any]:
    """What an opponent answers, as an array; ValueError where its parts differ in length."""
    try:
        return np.asarray(answers)
    except ValueError:
        raise ValueError(
            f"opponent {name}: expected an action for each board, got {shortened(answers)}"
        ) from None


def expect_actions(name: str, answers: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Refuse what an opponent answers, if it is not one integer for each board."""
    if answers.shape != shape or not np.issubdtype(answers.dtype, np.integer):
        raise ValueError(
            f"opponent {name}: expected actions of shape {shape} and an integer type, "
            f"got {answers.shape} of {answers.dtype}"
        )


def each_of(numbers: NDArray[Any]) -> list[int]:
    """The numbers that occur, each once, in order; none is negative."""
    return np.bincount(numbers).nonzero()[0].tolist()


# ---- kernels over many boards --------------------------------------------------------------------


@kernel
def start_boards(
    game: Any,
    initial: Any,
    states: Any,
    begun: NDArray[np.int32],
    players: Players,
    seeds: Seeds,
    which: Which,
    side: int,
) -> None:
    """Draw a starting position and the learner's side of boards, and set them up."""
    for i in range(which.size):
        board = which[i]
        begun[board] = 0
        if initial.size > 1:
            begun[board] = int(Stream(seeds, board).random() * initial.size)
        game.copy(initial[begun[board]], states[board])
        players[board] = game.to_play(states[board])
        if side in (FIRST, SECOND):
            players[board] = side
        elif side == RANDOM:
            players[board] = int(Stream(seeds, board).random() * 2.0)


@kernel
def choose_opponents(
    game: Any,
    chosen: NDArray[np.int32],
    seeds: Seeds,
    which: Which,
    first: int,
    count: int,
    shares: Shares,
) -> None:
    """Draw the opponents of boards, of `count` numbers from `first` on."""
    for i in range(which.size):
        draw = Stream(seeds, which[i]).random()
        number = int(draw * count)
        if shares.size > 0:
            number = 0
            while draw >= shares[number]:  # the last is 1
                number += 1
        chosen[which[i]] = first + number


@kernel
def play_boards(
    game: Any,
    states: Any,
    players: Players,
    side: int,
    actions: Actions,
    masks: Masks,
    idle: Flags,
    illegal: Flags,
) -> int:
    """Play the learner's legal actions on boards that are not idle; how many were illegal."""
    found = 0
    for board in range(states.size):
        illegal[board] = False
        if idle[board]:
            continue
        action = actions[board]
        if action < 0 or action >= masks.shape[1] or masks[board, action] == 0:
            illegal[board] = True
            found += 1
            continue
        if side == BOTH:
            players[board] = game.to_play(states[board])
        game.step(states[board], int(action))
    return found


@kernel
def play_given(game: Any, states: Any, which: Which, actions: Actions) -> None:
    """Play a legal action on each of the given boards."""
    for i in range(which.size):
        game.step(states[which[i]], int(actions[i]))


@kernel
def answer_boards(
    game: Any, states: Any, players: Players, seeds: Seeds, which: Which, policy: Any
) -> None:
    """Let a policy play on boards until it is the learner's turn or the game is over."""
    for i in range(which.size):
        board = which[i]
        state = states[board]
        while not game.is_terminal(state) and game.to_play(state) != players[board]:
            action = policy.answer(game, state, Stream(seeds, board))
            game.step(state, action)


@kernel
def find_waiting(game: Any, states: Any, players: Players, idle: Flags, waiting: Flags) -> None:
    """Mark the boards, among those that are not idle, on which it is the opponent's turn."""
    for board in range(states.size):
        state = states[board]
        turn = not game.is_terminal(state) and game.to_play(state) != players[board]
        waiting[board] = turn and not idle[board]


@kernel
def find_players(game: Any, states: Any, players: Players) -> None:
    """Write the players to move."""
    for board in range(states.size):
        players[board] = game.to_play(states[board])


@kernel
def score_boards(
    game: Any, states: Any, players: Players, idle: Flags, rewards: NDArray[np.float64], over: Flags
) -> None:
    """Write the learner's rewards and which games are over; 0 and False for idle boards."""
    for board in range(states.size):
        rewards[board] = 0.0
        over[board] = False
        if not idle[board] and game.is_terminal(states[board]):
            rewards[board] = game.outcome(states[board], players[board])
            over[board] = True


@kernel
def count_results(
    game: Any,
    which: Which,
    chosen: NDArray[np.int32],
    rewards: NDArray[np.float64],
    terminations: Flags,
    counts: NDArray[np.int64],
) -> None:
    """Add the learner's wins, draws and losses against each opponent, for boards that are over."""
    for i in range(which.size):
        if terminations[which[i]]:
            reward = rewards[which[i]]
            place = 0
            if reward <= 0.0:
                place = 1 if reward == 0.0 else 2
            counts[chosen[i], place] += 1


@kernel
def show_boards(
    game: Any,
    states: Any,
    viewers: Players,
    to_play: bool,
    which: Which,
    out: Any,
    masks: Masks,
    extra: NDArray[np.int8],
) -> None:
    """Write planes, ``(boards, cells, planes)``, and masks, all 1 where a game is over."""
    owners = scratch_array(out.shape[1], np.int8)
    for i in range(which.size):
        state = states[which[i]]
        viewer = game.to_play(state) if to_play else int(viewers[which[i]])
        game.owners(state, owners)
        write_planes(game, state, viewer, owners, extra, out[i])
        if game.is_terminal(state):
            masks[i, :] = 1
        else:
            game.legal_mask(state, owners, masks[i])


COMPILED: Final = {
    function: CompiledFunction(function, "the boards")
    for function in (
        start_boards,
        choose_opponents,
        play_boards,
        play_given,
        answer_boards,
        find_waiting,
        find_players,
        score_boards,
        count_results,
        show_boards,
    )
}


# ---- the boards ----------------------------------------------------------------------------------


class Opponent(Protocol):
    """Plays the other side of boards; `hexenv.learners.opponents` has the kinds.

    Attributes:
        needs_moves: Whether it reads `Boards.moves`.
        is_compiled: Whether it plays in compiled code, and so in several threads at once.
    """

    name: str
    needs_moves: bool
    """Whether it reads `Boards.moves`."""
    is_compiled: bool
    """Whether it plays in compiled code, and so in several threads at once."""

    def begin(self, boards: "Boards", which: Which) -> None:
        """Prepare for the games that start on some boards."""

    def answer(self, boards: "Boards", which: Which) -> None:
        """Play on some boards until it is the learner's turn or the game is over.

        It may be so already. A ValueError names the opponent if it has no legal answer.
        """

    def as_seeing(self, boards: "Boards") -> "SeeingOpponent | None":
        """The opponent as one that answers what boards show it; None if it answers otherwise."""
        return None


class SeeingOpponent(Protocol):
    """Answers what boards show: several of them are shown all their boards at once."""

    name: str

    def choose(self, boards: "Boards", observations: Any, masks: Masks) -> NDArray[Any]:
        """Actions for the boards of observations and masks, which it may change."""
        ...


class Roster(Protocol):
    """The opponents of which one is drawn for each new episode; see `hexenv.learners.pool`.

    Attributes:
        opponents: At least one; another tuple whenever they are others.
        shares: See `Shares`.
    """

    opponents: tuple[Opponent, ...]
    shares: Shares

    def count(self, opponent: Opponent, wins: int, draws: int, losses: int) -> None:
        """Note the learner's results against one that it has, or has had."""


class Lineup:
    """Who plays on boards: the opponents by number, their rosters, and the results against each.

    Attributes:
        rosters: Of new episodes.
        roster_of: ``(count,)``: the place among these of each board's.
        opponents: First those that are only in running episodes, then those of the rosters.
        former: The number of the first of these.
        owners: The roster of each opponent.
        names: ``(len(opponents),)`` texts.
        counts: ``(len(opponents), 3)``: the learner's wins, draws and losses that are not noted.
        noted: Results for `hand_in`, also of opponents that have left.
    """

    def __init__(self, count: int) -> None:
        self.rosters: list[Roster] = []
        self.roster_of = np.zeros(count, np.int64)
        self.opponents: list[Opponent] = []
        self.former = 0
        self.owners: list[Roster] = []
        self.names = np.zeros(0, object)
        self.counts = np.zeros((0, 3), np.int64)
        self.noted: list[tuple[Roster, Opponent, list[int]]] = []
        self._arranged: list[tuple[Roster, tuple[Opponent, ...]]] = []

    def set(self, roster: Roster, which: Which) -> None:
        """Set the roster of some boards; `arrange` must follow."""
        self.roster_of[which] = len(self.rosters)
        used, self.roster_of = np.unique(self.roster_of, return_inverse=True)
        self.rosters = [[*self.rosters, roster][number] for number in used]

    def has_changed(self) -> bool:
        """Whether a roster has other opponents than at the last `arrange`."""
        for roster, opponents in self._arranged:  # noqa: SIM110  # faster than a generator
            if roster.opponents is not opponents:
                return True
        return False

    def arrange(self, in_play: list[int]) -> NDArray[np.int32]:
        """Number the opponents; those of running episodes are `in_play`.

        Returns their new numbers by the old ones.
        """
        self._note_counts()
        listed = [(one, roster) for roster in self.rosters for one in roster.opponents]
        places = {id(one): place for place, (one, _) in enumerate(listed)}
        former = [number for number in in_play if id(self.opponents[number]) not in places]
        numbers = np.zeros(len(self.opponents) + 1, np.int32)
        numbers[former] = np.arange(len(former))
        for number, one in enumerate(self.opponents):
            if id(one) in places:
                numbers[number] = len(former) + places[id(one)]
        self.former = len(former)
        self.owners = [*(self.owners[one] for one in former), *(roster for _, roster in listed)]
        self.opponents = [*(self.opponents[one] for one in former), *(one for one, _ in listed)]
        self.names = np.array([one.name for one in self.opponents], object)
        self.counts = np.zeros((len(self.opponents), 3), np.int64)
        self._arranged = [(roster, roster.opponents) for roster in self.rosters]
        return numbers

    def by_roster(self, which: Which) -> list[tuple[Which, Roster]]:
        """Boards by their rosters, of all of these."""
        if len(self.rosters) == 1:
            return [(which, self.rosters[0])]
        places = self.roster_of[which]
        return [(which[places == place], one) for place, one in enumerate(self.rosters)]

    def hand_in(self) -> None:
        """Give the results since the last call to the rosters."""
        self._note_counts()
        for roster, opponent, counts in self.noted:
            roster.count(opponent, *counts)
        self.noted.clear()

    def _note_counts(self) -> None:
        numbers = list(dict.fromkeys(self.counts.nonzero()[0].tolist()))
        for number, counts in zip(numbers, self.counts[numbers].tolist(), strict=True):
            self.noted.append((self.owners[number], self.opponents[number], counts))
        self.counts[:] = 0


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
        first: The number of the first board in messages; None if there is only one.
        side: See `LearnerOptions`, also for the others.

    Attributes:
        states: ``(count,)`` positions.
        players: ``(count,) int8``: the learner's side; without opponents, who moved last.
        seeds: ``(count,) uint64``: the states of the random streams.
        idle: ``(count,) bool``: boards whose episode is over.
        masks: ``(count, num_actions) int8``: the learner's legal actions, as last shown.
        moves: ``(count, max_plies()) int32``: the actions of each episode; None unless an opponent
            needs them.
        lengths: ``(count,) int32``: how many they are.
        threads: The most that an opponent may use; None: as many as there are processors.
        illegal_actions: The number of illegal actions that the learner has chosen.
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
            raise ValueError(not_one_of("a side", SIDES, side))
        if illegal not in ILLEGAL:
            raise ValueError(not_one_of("illegal", ILLEGAL, illegal))
        if whole_number("max_illegal", max_illegal) < 1:
            raise ValueError(f"expected max_illegal of at least 1, got {max_illegal}")
        self.env = env
        self.game = env.game
        self.count = count
        self._first = first
        self.illegal_actions = 0
        self.threads: int | None = None
        self.moves: NDArray[np.int32] | None = None
        self.lengths = np.zeros(count, np.int32)
        if not isinstance(penalty, Real) or not -math.inf < penalty <= 0.0:
            raise ValueError(f"expected a penalty of at most 0, got {penalty!r}")
        if env.dtype not in DTYPES:
            raise ValueError(f"expected a dtype of {', '.join(DTYPES)}, got {env.dtype}")
        self._drawn_side = SIDES.index(side)
        self._illegal = illegal
        self._penalty = float(penalty)
        self._max_illegal = int(max_illegal)
        # Python reads attributes fast of an object that has up to 30: those are in another one.
        self._lineup = Lineup(count)
        self._opponents = self._lineup.opponents
        self._all: Which = np.arange(count)
        self._record_dtype = np.dtype((np.record, self.game.state_dtype))
        self.start(env.starting_positions({}))
        self.states: Any = np.repeat(self._initial[:1], count)
        self.players = np.zeros(count, np.int8)
        self.seeds = np.ones(count, np.uint64)
        self.idle = np.ones(count, np.bool_)
        self.masks = np.ones((count, self.game.num_actions()), np.int8)
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
        if not any(opponent.needs_moves for opponent in self._opponents):
            self.moves = None
        elif self.moves is None:
            self.moves = np.zeros((self.count, self.game.max_plies()), np.int32)
            self.lengths[:] = 0

    def opponent_of(self, board: int) -> Opponent | None:
        return self._opponents[int(self._chosen[board])] if self._opponents else None

    def _by_opponent(self, which: Which) -> list[tuple[Opponent, Which]]:
        """The opponents on some boards, each with its own."""
        if len(self._opponents) == 1:
            return [(self._opponents[0], which)]
        chosen = self._chosen[which]
        return [(self._opponents[one], which[chosen == one]) for one in each_of(chosen)]

    def _answer(self, groups: list[tuple[Opponent, Which]]) -> None:
        if len(groups) == 1:
            groups[0][0].answer(self, groups[0][1])
            return
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
        chosen, counts = self._chosen[which], self._lineup.counts
        self._run(count_results, which, chosen, result.rewards, result.terminations, counts)

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
        if self._lineup.has_changed():
            self._arrange()
        self.idle[which] = False
        try:
            self._restart(which)
        except BaseException:
            self.idle[which] = True  # an opponent has failed
            raise
        former = self._lineup.former
        if former and self._chosen.min() >= former:  # all episodes have new opponents
            self._arrange()

    def _restart(self, which: Which) -> None:
        for _ in range(MAX_STARTS):
            self._run(
                start_boards, self._initial, self.states, self._begun, self.players, self.seeds,
                which, self.side,
            )  # fmt: skip
            self._illegal_in_episode[which] = 0
            if not self._opponents:
                return
            if self.moves is not None:
                for board in which.tolist():
                    first = self._first_moves[self._begun[board]]
                    self.moves[board, : len(first)] = first
                    self.lengths[board] = len(first)
            self._draw_opponents(which)
            groups = self._by_opponent(which)
            for opponent, own in groups:
                opponent.begin(self, own)
            self._answer(groups)
            which = which[self.states["winner"][which] != IN_PLAY]
            if which.size == 0:
                return
        raise ValueError("expected a start from which the learner gets a turn: it never did")

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
                    choose_opponents, self._chosen, self.seeds, own, first, count, roster.shares
                )
            first += count

    def play(self, actions: Actions) -> StepResult:
        """Play the learner's ``(count,)`` actions, and the answers, on boards that are not idle."""
        found = self._run(
            play_boards, self.states, self.players, self.side, actions, self.masks, self.idle,
            self._found_illegal,
        )  # fmt: skip
        if self.moves is not None:
            played = np.flatnonzero(~(self.idle | self._found_illegal))
            self._note_moves(played, actions[played])
        if self._opponents:
            try:
                which = self._all if not found else np.flatnonzero(~self._found_illegal)
                if len(self._opponents) == 1:
                    self._opponents[0].answer(self, which)
                else:
                    self._answer(self._by_opponent(which))
            except BaseException:
                self.idle[:] = True  # it is not the learner's turn: no episode can continue
                raise
        rewards, over = np.empty(self.count), np.empty(self.count, np.bool_)
        self._run(score_boards, self.states, self.players, self.idle, rewards, over)
        result = StepResult(rewards, over, np.zeros(self.count, np.bool_))
        if found:
            self._punish(result)
        return result

    def refuse_illegal(self, actions: Actions) -> None:
        """With ``illegal="raise"``: IllegalActionError before any is played, if one is illegal."""
        if self._illegal != "raise":
            return
        size = self.masks.shape[1]
        legal = self.masks[self._all, np.clip(actions, 0, size - 1)] != 0
        wrong = np.flatnonzero(~(legal & (actions >= 0) & (actions < size)) & ~self.idle)
        if wrong.size:
            self.check_action(int(wrong[0]), int(actions[wrong[0]]))

    def check_action(self, board: int, action: object) -> int:
        """The action as an integer; an IllegalActionError names one of several boards."""
        try:
            return notation.check_action(self.game, self.states[board], action)
        except IllegalActionError as error:
            where = f", board {self._first + board}" if self._first is not None else ""
            raise IllegalActionError(f"{error}{where}") from None

    def _punish(self, result: StepResult) -> None:
        """Write the rewards and ends that follow from illegal actions."""
        illegal = self._found_illegal
        self.illegal_actions += int(illegal.sum())
        self._illegal_in_episode += illegal
        if self._illegal == "terminate":
            result.rewards[illegal] = -1.0
            result.terminations[illegal] = True
        else:
            result.rewards[illegal] = self._penalty
            too_many = self._illegal_in_episode >= self._max_illegal
            result.truncations[illegal & too_many] = True

    # ---- for opponents ---------------------------------------------------------------------------

    def waiting(self, which: Which) -> Which:
        """Those of the given boards on which it is the opponent's turn."""
        self._run(find_waiting, self.states, self.players, self.idle, self._waiting)
        return which[self._waiting[which]]

    def to_play(self) -> Players:
        players = np.empty(self.count, np.int8)
        self._run(find_players, self.states, players)
        return players

    def answer_seeing(self, groups: Sequence[tuple[SeeingOpponent, Which]]) -> None:
        """Let opponents that see boards play on theirs until it is the learner's turn.

        All boards are shown at once; each opponent then answers its own.
        """
        while True:
            self._run(find_waiting, self.states, self.players, self.idle, self._waiting)
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
            answer_boards, self.states, self.players, self.seeds, which, policy, kind=type(policy)
        )

    def answer_with(self, which: Which, actions: Actions) -> None:
        """Play an opponent's legal actions."""
        self._run(play_given, self.states, which, actions)
        self._note_moves(which, actions)

    def _note_moves(self, which: Which, actions: Actions) -> None:
        if self.moves is not None:
            self.moves[which, self.lengths[which]] = actions
            self.lengths[which] += 1

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

    def show_all(self, planes: NDArray[Any]) -> None:
        """Write the planes of all boards, and their masks into `masks`."""
        self._write_shown(self._all, False, planes, self.masks)

    def _write_shown(self, which: Which, to_play: bool, planes: NDArray[Any], masks: Masks) -> None:
        count, cells = len(planes), self.game.rows * self.game.columns
        if self.env.channels_first:
            out = planes.reshape(count, -1, cells).transpose(0, 2, 1)
        else:
            out = planes.reshape(count, cells, -1)
        to_play = to_play or self.side == BOTH
        self._run(
            show_boards, self.states, self.players, to_play, which, out, masks,
            self.env.extra_planes, kind=out.flags.f_contiguous,  # differs for a single board
        )  # fmt: skip

    def _run(self, function: Callable[..., Any], *arguments: Any, kind: Any = None) -> Any:
        """Run a kernel of this module, compiled if the game is; `kind` tells types apart."""
        run = self._specialised.get((function, kind))
        if run is None:
            run = function
            if is_compiled(self.game):
                run = COMPILED[function].specialise(self.game, *arguments)
            self._specialised[function, kind] = run
        return run(self.game, *arguments)
