"""The record of one game, and its replay."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agents.registry import make_environment
from agents.search.environment import is_over
from agents.search.foreign import ForeignGame, ForeignState
from hexenv.games import base, notation
from hexenv.games.base import Game, State

MOST_PLIES: Final = 100_000
"""Of a game that is kept: no game of `hexenv` comes near."""


@dataclass(frozen=True)
class Search:
    """What an agent found before it played: its `agents.core.agent.Statistics`, as it is kept.

    Numbers are rounded to six significant digits, and actions without a visit are left out.

    Attributes:
        seconds: Time the search took.
        simulations: Simulations it ran.
        value: Of the position for the player to move, -1 (lost) to 1 (won); None where the agent
            has said nothing.
        visits: Simulations that began with an action, by action.
        values: Their mean result for the player to move, -1 to 1, by action.
        priors: How likely the evaluator found an action, by action; empty without an evaluator.
        principal_variation: The line that the agent expected, from this position.
        proven: The outcome with perfect play for the player to move, where it was proven.
    """

    seconds: float
    simulations: int
    value: float | None = None
    visits: Mapping[int, int] = field(default_factory=dict[int, int])
    values: Mapping[int, float] = field(default_factory=dict[int, float])
    priors: Mapping[int, float] = field(default_factory=dict[int, float])
    principal_variation: tuple[int, ...] = ()
    proven: int | None = None


@dataclass(frozen=True)
class GameRecord:
    """A game as it was played.

    `of` makes one, `agents.records.load_record` reads one. The rules of a game ``module:function``
    are its environment's alone: nothing here imports it, and only `replay` can check its actions.

    Attributes:
        game: A game of `hexenv`, or ``module:function``, as `agents.registry.make_environment` reads.
        options: ``key=value`` texts for the game.
        actions: All actions, in order.
        moves: The same as people write them; None for a game that is not of `hexenv`.
        outcome: For player 0: 1 won, 0 drawn, -1 lost; None for a game without an end.
        reason: Why the game ended, or stopped, where the rules do not say; else None.
        agents: Who played, in the order of the players.
        seed: What the environment was reset with; None where that is not known.
        opening: How many of the first actions no agent chose.
        seconds: Time that each action took to choose, None where nobody chose; or no entry at all.
        searches: What was found before each action, None without a search; or no entry at all.
        assumed: What the searches of each player took as given although it is not so, or None:
            then they knew what a player of this game cannot know.
    """

    game: str
    options: tuple[str, ...]
    actions: tuple[int, ...]
    moves: str | None
    outcome: int | None
    reason: str | None = None
    agents: tuple[str, str] = ("", "")
    seed: int | None = None
    opening: int = 0
    seconds: tuple[float | None, ...] = ()
    searches: tuple[Search | None, ...] = ()
    assumed: tuple[str | None, str | None] = (None, None)

    @classmethod
    def of(
        cls,
        game: str,
        options: Sequence[str],
        actions: Sequence[int],
        *,
        outcome: int | None = None,
        **about: Any,
    ) -> "GameRecord":
        """The record of a game, checked against its rules.

        Args:
            game: See `GameRecord`, as for all that follows.
            options: `options`.
            actions: `actions`.
            outcome: `outcome`; a game of `hexenv` that is over tells by itself.
            **about: The other attributes.

        Raises:
            ValueError: If the rules do not allow it, or what it says of the game is not so.
        """
        moves = None
        if not is_foreign_name(game):
            rules = rules_of(game, tuple(options))
            end = notation.play(rules, list(actions))
            moves = notation.moves_text(rules, list(actions))
            if outcome is None and rules.is_terminal(end):
                outcome = rules.outcome(end, 0)
        record = cls(game, tuple(options), tuple(actions), moves, outcome, **about)
        record.check()
        return record

    @property
    def is_foreign(self) -> bool:
        """Whether the game is not of `hexenv`."""
        return is_foreign_name(self.game)

    def rules(self) -> Game:
        """The rules of the game.

        Raises:
            ValueError: If it is not of `hexenv`, or refuses an option.
        """
        if self.is_foreign:
            raise ValueError(f"expected a game of hexenv, got {self.game}: only replay can play it")
        return rules_of(self.game, self.options)

    def states(self) -> list[State]:
        """The positions, the start first: one more than there are actions.

        Raises:
            ValueError: If the game is not of `hexenv`.
        """
        game = self.rules()
        states = [base.new_state(game)]
        for action in self.actions:
            states.append(base.clone(game, states[-1]))
            game.step(states[-1], action)
        return states

    def replay(self, env: Any = None) -> Iterator[Any]:
        """Play the game again in an environment.

        Args:
            env: Where; it is reset. Without one, a game of `hexenv` makes its own, and one that is
                not is refused: whoever has the record need not trust it enough to import that.

        Yields:
            The environment, the same each time: at the start, and after every action.

        Raises:
            ValueError: At an action that is not legal, or an end that is not the record's.
        """
        if env is None:
            self.rules()
            env = make_environment(self.game, self.options)
        env.reset(seed=self.seed)
        game, state = ForeignGame(env), ForeignState(env)
        yield env
        for ply, action in enumerate(self.actions):
            if action not in game.legal(state):
                raise ValueError(f"expected a legal action at ply {ply}, got {action}")
            game.step(state, action)
            yield env
        self._check_end(is_over(env), game.outcome(state, 0))

    def check(self) -> None:
        """Compare all with the rules of the game, and of records.

        Raises:
            ValueError: Naming what is wrong, and where.
        """
        plies = len(self.actions)
        if plies > MOST_PLIES:
            raise ValueError(f"expected at most {MOST_PLIES} actions, got {plies}")
        if not 0 <= self.opening <= plies:
            raise ValueError(f"expected opening from 0 to {plies}, got {self.opening}")
        for name, entries in (("seconds", self.seconds), ("searches", self.searches)):
            if len(entries) not in (0, plies):
                raise ValueError(f"expected {name} for {plies} plies or none, got {len(entries)}")
        if self.is_foreign:
            if self.moves is not None:
                raise ValueError(f"expected no moves for {self.game}, got some")
            return
        game = self.rules()
        self._check_course(game)
        moves = notation.moves_text(game, list(self.actions))
        if self.moves != moves:
            raise ValueError(f"expected moves {moves!r} of these actions, got {self.moves!r}")

    def _check_course(self, game: Game) -> None:
        """Compare actions, searches and outcome with the rules."""
        state = base.new_state(game)
        for ply, action in enumerate(self.actions):
            search = self.searches[ply] if self.searches else None
            if search is not None:
                try:
                    check_search(game, state, search)
                except ValueError as error:
                    raise ValueError(f"searches[{ply}]: {error}") from None
            game.step(state, notation.check_action(game, state, action))
        self._check_end(game.is_terminal(state), game.outcome(state, 0))

    def _check_end(self, is_over: bool, outcome: int) -> None:
        """Compare the outcome with how the game ended by its rules.

        Raises:
            ValueError: If they are not the same.
        """
        if is_over and (self.outcome != outcome or self.reason is not None):
            raise ValueError(
                f"expected outcome {outcome} of a game that is over, and no reason, "
                f"got {self.outcome} and {self.reason!r}"
            )
        if not is_over and self.outcome is not None and self.reason is None:
            raise ValueError(
                "expected no outcome of a game that is not over, or a reason for it, "
                f"got outcome {self.outcome}"
            )


def check_search(game: Game, state: State, search: Search) -> None:
    """Refuse a search that tells of actions which are not legal where it was made.

    Raises:
        ValueError: Naming the first of them.
    """
    legal = set(base.legal_actions(game, state))
    for name in ("visits", "values", "priors"):
        for action in getattr(search, name):
            if action not in legal:
                raise ValueError(f"expected {name} of legal actions, got {action}")
    if not search.principal_variation:
        return
    line = base.clone(game, state)
    try:
        for action in search.principal_variation:
            game.step(line, notation.check_action(game, line, action))
    except ValueError as error:
        raise ValueError(f"expected a principal_variation of legal actions: {error}") from None


def fits(game: Game, state: State, search: Search) -> bool:
    """Whether a search may have been made in this position; see `check_search`."""
    try:
        check_search(game, state, search)
    except ValueError:
        return False
    return True


def is_foreign_name(game: str) -> bool:
    """Whether a name is of a function that makes an environment, and not of a game of `hexenv`."""
    return ":" in game


@functools.lru_cache(maxsize=32)
def rules_of(game: str, options: tuple[str, ...]) -> Game:
    """The rules of a game of `hexenv`.

    Args:
        game: Its name.
        options: ``key=value`` texts.

    Raises:
        ValueError: If there is no such game, or it refuses an option.
    """
    if is_foreign_name(game):  # which would be imported
        raise ValueError(f"expected a game of hexenv, got {game!r}")
    return make_environment(game, options).unwrapped.game
