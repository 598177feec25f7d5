"""Who plays against learners: what an opponent is, and which one plays on which board."""

from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from hexenv.common.messages import shortened
from hexenv.games.table import Which

Masks = NDArray[np.int8]
Shares = NDArray[np.float64]
"""Sums of the probabilities of opponents, up to 1; empty if all are equally likely."""
ALL_ALIKE: Final = np.zeros(0)
"""`Shares` of opponents that are equally likely."""


class Opponent(Protocol):
    """Plays the other side of `hexenv.learners.boards.Boards`.

    `hexenv.learners.opponents` has the kinds.
    """

    name: str
    needs_moves: bool
    """Whether it reads the actions in `Boards.table`."""
    is_compiled: bool
    """Whether it plays in compiled code, and so in several threads at once."""

    def begin(self, boards: Any, which: Which) -> None:
        """Prepare for the games that start on some boards."""

    def answer(self, boards: Any, which: Which) -> None:
        """Play on some boards until it is the learner's turn or the game is over.

        It may be so already. A ValueError names the opponent if it has no legal answer.
        """

    def as_seeing(self, boards: Any) -> "SeeingOpponent | None":
        """The opponent as one that answers what boards show it; None if it answers otherwise."""
        return None


class SeeingOpponent(Protocol):
    """Answers what boards show: several of them are shown all their boards at once."""

    name: str

    def choose(self, boards: Any, observations: Any, masks: Masks) -> NDArray[Any]:
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


# ---- what opponents answer ----------------------------------------------------------------------


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
