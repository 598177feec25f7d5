"""The record of one game, and its replay."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, TypeAlias, cast

from msgspec import Meta

from agents.core.structured import Count, Text
from agents.planning.environment import is_over
from agents.planning.foreign import ForeignGame, ForeignState
from agents.registry import environment_makers, make_environment, parameters
from hexenv.games import base, notation
from hexenv.games.base import Game, State

MOST_PLIES: Final = 100_000
"""Of a game that is recorded; no game of `hexenv` comes near."""

Action: TypeAlias = Count
Player: TypeAlias = Annotated[int, Meta(ge=0, le=1)]
Outcome: TypeAlias = Annotated[int, Meta(ge=-1, le=1)]
Value: TypeAlias = Annotated[float, Meta(ge=-1, le=1)]
Share: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e9)]


@dataclass(frozen=True)
class Search:
    """What an agent found before it played: its `agents.core.agent.Statistics`, as recorded.

    Numbers are rounded to six significant digits, and actions without a visit are left out.

    Examples:
        >>> search = Search(seconds=0.1, simulations=2, value=0.5, visits={4: 2}, values={4: 0.5})
        >>> record = GameRecord.of("tictactoe", (), (4,), searches=(search,))
        >>> record.searches[0].visits
        {4: 2}

    Attributes:
        seconds: Time the search took.
        simulations: Simulations it ran.
        value: Of the position for the player to move, -1 (lost) to 1 (won); None if unknown.
        visits: Simulations that began with an action, by action.
        values: Their mean result for the player to move, -1 to 1, by action.
        priors: Prior probabilities of the actions; empty without an evaluator.
        principal_variation: The line that the agent expected, from this position.
        proven: The outcome with perfect play for the player to move, where it was proven.
        proven_actions: The actions whose value is proven.
    """

    seconds: Seconds
    simulations: Count
    value: Value | None = None
    visits: Mapping[Action, Count] = field(default_factory=dict[int, int])
    values: Mapping[Action, Value] = field(default_factory=dict[int, float])
    priors: Mapping[Action, Share] = field(default_factory=dict[int, float])
    principal_variation: tuple[Action, ...] = ()
    proven: Outcome | None = None
    proven_actions: tuple[Action, ...] = ()


@dataclass(frozen=True)
class StartPosition:
    """The position in which a game began, where that is not the start by the rules.

    Examples:
        >>> start = StartPosition("X../.O./...", 0)
        >>> record = GameRecord.of("tictactoe", (), (1, 2), start=start)
        >>> record.moves, [int(state.ply) for state in record.states()]
        ('23', [2, 3, 4])

    Attributes:
        board: Rows of ``X`` (player 0), ``O`` and ``.``, with slashes between them.
        to_play: Who is to move, 0 or 1. In Hex one side may have any number of stones more.
    """

    board: Text
    to_play: Player

    @classmethod
    def of(cls, game: Game, state: State) -> "StartPosition":
        board = notation.board_text(game, state).replace(" ", "").replace("\n", "/")
        return cls(board, int(game.to_play(state)))

    def state(self, game: Game) -> State:
        """The position; ValueError if it is none of this game."""
        return notation.parse_board(game, self.board, self.to_play, notation.OUT_OF_TURN)


@dataclass(frozen=True)
class GameRecord:
    """A game as it was played.

    `of` makes one, `agents.records.load_record` reads one. The rules of a game ``module:function``
    are known to its environment alone: nothing here imports it, and only `replay` can check its
    actions.

    Examples:
        >>> record = GameRecord.of("tictactoe", (), (4, 0, 8), agents=("me", "you"))
        >>> record.moves, record.outcome
        ('519', None)
        >>> [int(state.ply) for state in record.states()]
        [0, 1, 2, 3]

    Attributes:
        game: A game of `hexenv`, or ``module:function`` of an environment.
        options: ``key=value`` texts for the game.
        actions: All actions, in order.
        moves: The same as people write them. Those of a game ``module:function`` are as its
            environment wrote them, which only `replay` can check; None where it writes none.
        outcome: For player 0: 1 won, 0 drawn, -1 lost; None for a game without an end.
        reason: Why the game ended or stopped, where the rules do not say; else None.
        agents: Who played, in the order of the players.
        seed: With which the environment was reset; None if unknown.
        opening: How many of the first actions no agent chose.
        seconds: Time taken for each action, None where no agent chose; or no entry at all.
        searches: The search before each action, None without one; or no entry at all.
        assumed: An untrue assumption of each player's searches, or None. With one, they knew what a
            player of this game cannot know.
        start: The position before the first action; None for the start by the rules.
    """

    game: Text
    options: tuple[Text, ...]
    actions: tuple[Action, ...]
    moves: Text | None
    outcome: Outcome | None
    reason: Text | None = None
    agents: tuple[Text, Text] = ("", "")
    seed: Annotated[int, Meta(ge=0)] | None = None
    opening: Count = 0
    seconds: tuple[Seconds | None, ...] = ()
    searches: tuple[Search | None, ...] = ()
    assumed: tuple[Text | None, Text | None] = (None, None)
    start: StartPosition | None = None

    @classmethod
    def of(
        cls,
        game: str,
        options: Sequence[str],
        actions: Sequence[int],
        *,
        outcome: int | None = None,
        moves: str | None = None,
        start: StartPosition | None = None,
        **about: Any,
    ) -> "GameRecord":
        """The record of a game with these attributes, checked against its rules.

        Of a game of `hexenv` the rules know the moves, and the outcome if it is over.

        Raises:
            ValueError: If the rules do not allow it, or an attribute contradicts them.
        """
        if not is_foreign_name(game):
            rules = rules_of(game, tuple(options))
            end = notation.play(rules, list(actions), start and start.state(rules))
            moves = notation.moves_text(rules, list(actions))
            if outcome is None and rules.is_terminal(end):
                outcome = rules.outcome(end, 0)
        record = cls(game, tuple(options), tuple(actions), moves, outcome, start=start, **about)
        record.check()
        return record

    @property
    def is_foreign(self) -> bool:
        return is_foreign_name(self.game)

    def rules(self) -> Game:
        """The rules of the game.

        Raises:
            ValueError: If it is not of `hexenv`, or refuses an option.
        """
        if self.is_foreign:
            raise ValueError(f"expected a game of hexenv, got {self.game}: only replay can play it")
        return rules_of(self.game, self.options)

    def states(self, game: Game | None = None) -> list[State]:
        """The positions, the start first: one more than there are actions.

        Args:
            game: The rules; only those of a game of `hexenv` need not be given.

        Raises:
            ValueError: If the game is not of `hexenv` and not given, or an action is not legal.
        """
        if game is None:
            game = self.rules()
        else:
            notation.play(game, list(self.actions), self.start_state(game))
        states = [self.start_state(game)]
        for action in self.actions:
            states.append(base.clone(game, states[-1]))
            game.step(states[-1], action)
        return states

    def start_state(self, game: Game) -> State:
        """The position before the first action, in a game of these rules."""
        return base.new_state(game) if self.start is None else self.start.state(game)

    def replay(self, env: Any = None) -> Iterator[Any]:
        """Play the game again in an environment; yields it at the start and after each action.

        The environment is reset. By default one is made for a game of `hexenv`; any other game is
        refused, because a record is not trusted enough to import code.

        Raises:
            ValueError: At an illegal action, or an end that is not the record's.
        """
        if env is None:
            self.rules()
            env = make_environment(self.game, self.options)
        options = None
        if self.start is not None:
            rules = getattr(env.unwrapped, "game", None)
            if rules is None:
                raise ValueError(f"expected an environment of hexenv's for a start, got {env}")
            options = {"state": self.start.state(rules)}
        env.reset(seed=self.seed, options=options)
        game, state = ForeignGame(env), ForeignState(env)
        yield env
        for ply, action in enumerate(self.actions):
            if action not in game.legal(state):
                raise ValueError(f"expected a legal action at ply {ply}, got {action}")
            game.step(state, action)
            yield env
        rules = getattr(env.unwrapped, "game", None)
        if self.moves is not None and rules is not None:
            self._check_moves(rules)
        self._check_end(is_over(env), game.outcome(state, 0))

    def check(self) -> None:
        """Compare all attributes with the rules of the game and with each other.

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
            return
        game = self.rules()
        state = self.start_state(game)
        for ply, action in enumerate(self.actions):
            search = self.searches[ply] if self.searches else None
            if search is not None:
                try:
                    _check_search(game, state, search)
                except ValueError as error:
                    raise ValueError(f"searches[{ply}]: {error}") from None
            game.step(state, notation.check_action(game, state, action))
        self._check_end(game.is_terminal(state), game.outcome(state, 0))
        self._check_moves(game)

    def _check_moves(self, game: Game) -> None:
        moves = notation.moves_text(game, list(self.actions))
        if self.moves != moves:
            raise ValueError(f"expected moves {moves!r} of these actions, got {self.moves!r}")

    def _check_end(self, is_over: bool, outcome: int) -> None:
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


def _check_search(game: Game, state: State, search: Search) -> None:
    """Refuse a search with actions that are illegal in its position."""
    legal = set(base.legal_actions(game, state))
    for name in ("visits", "values", "priors", "proven_actions"):
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
    """Whether all actions of a search are legal in this position."""
    try:
        _check_search(game, state, search)
    except ValueError:
        return False
    return True


# ---- names and options of games ------------------------------------------------------------------


def is_foreign_name(game: str) -> bool:
    """Whether a name is a ``module:function`` of an environment, not a game of `hexenv`."""
    return ":" in game


@functools.lru_cache(maxsize=32)
def rules_of(game: str, options: tuple[str, ...]) -> Game:
    """The rules of a game of `hexenv`.

    Raises:
        ValueError: If there is no such game, or it refuses an option.
    """
    if is_foreign_name(game):  # which would be imported
        raise ValueError(f"expected a game of hexenv, got {game!r}")
    return make_environment(game, options).unwrapped.game


def options_text(
    game: str, values: Mapping[str, Any], given: Sequence[str] = ()
) -> tuple[str, ...]:
    """``key=value`` texts of the options that differ from the defaults, and those given.

    Those given come instead of others. Unknown options are kept; the game refuses them.
    """
    known = parameters(environment_makers()[game])
    texts = {key: _option_text(value) for key, value in values.items()}
    for option in given:
        texts.pop(option.partition("=")[0], None)
    stated = [
        f"{key}={text}"
        for key, text in texts.items()
        if key not in known or text != _option_text(known[key].default)
    ]
    return (*stated, *given)


def _option_text(value: Any) -> str:
    """A value as the command line reads it: a board's size as ``7`` or ``5x7``."""
    if isinstance(value, (tuple, list)):
        sides = [str(side) for side in cast("tuple[Any, ...]", value)]
        return sides[0] if len(set(sides)) == 1 else "x".join(sides)
    return str(value).lower() if isinstance(value, bool) else str(value)
