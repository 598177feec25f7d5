"""Collecting the record of a game while it is played."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from agents.core.agent import Statistics
from agents.records.record import GameRecord, Search, StartPosition, fits, is_foreign_name, rules_of
from agents.registry import environment_makers
from hexenv.common.messages import not_one_of
from hexenv.games import base
from hexenv.games.notation import moves_text

if TYPE_CHECKING:  # a match imports records, never the reverse
    from agents.arena.match import GameResult


def rounded(number: float) -> float:
    """A number to six significant digits."""
    return float(f"{number:.6g}")


def search_of(statistics: Statistics) -> Search:
    """A search as it is recorded.

    The value of the position is the proven outcome, or else the value of the first action of the
    principal variation.
    """
    visited = np.flatnonzero(statistics.visits).tolist()
    values = _by_action(statistics.values, visited, -1.0)
    line = tuple(int(action) for action in statistics.principal_variation)
    value = values.get(line[0]) if line else None
    proven = None if statistics.proven is None else int(statistics.proven)
    if proven is not None:
        value = float(proven)
    priors = {}
    if statistics.priors is not None:
        priors = _by_action(statistics.priors, np.flatnonzero(statistics.priors).tolist(), 0.0)
    return Search(
        seconds=rounded(max(0.0, statistics.seconds)),
        simulations=int(statistics.simulations),
        value=value,
        visits={action: int(statistics.visits[action]) for action in visited},
        values=values,
        priors=priors,
        principal_variation=line,
        proven=proven,
        proven_actions=tuple(action for action in visited if action in statistics.proven_actions),
    )


def _by_action(
    numbers: NDArray[np.float64], actions: Sequence[int], least: float
) -> dict[int, float]:
    """Numbers by action, clipped from `least` to 1, without NaN."""
    found = {action: float(numbers[action]) for action in actions}
    return {
        action: rounded(min(1.0, max(least, number)))
        for action, number in found.items()
        if not math.isnan(number)
    }


def start_of(env: Any) -> StartPosition | None:
    """The position that a game began in; None for the start by the rules.

    Raises:
        ValueError: If the environment does not know it.
    """
    raw = env.unwrapped
    found = getattr(raw, "begun_at", None)  # environments of others do not know it
    return None if found is None else StartPosition.of(raw.game, found)


class Recorder:
    """Makes records of games while agents play them.

    Examples:
        >>> from agents import RandomAgent
        >>> from agents.arena.match import play_match
        >>> from hexenv import tictactoe_v0
        >>> agents = [RandomAgent(), RandomAgent()]
        >>> recorder = Recorder("tictactoe", (), ("left", "right"), agents)
        >>> match = play_match(tictactoe_v0.env(), agents, games=2, on_move=recorder.on_move)
        >>> records = [recorder.record(result) for result in match]
        >>> [record.agents for record in records]
        [('left', 'right'), ('right', 'left')]

    The `statistics` of the two agents are recorded; None stands for an agent without any.

    Raises:
        ValueError: If `game` is neither a game of `hexenv` nor ``module:function``.
    """

    def __init__(
        self, game: str, options: Sequence[str], names: Sequence[str], agents: Sequence[Any]
    ) -> None:
        if not is_foreign_name(game) and game not in environment_makers():
            raise ValueError(not_one_of("a game", environment_makers(), game))
        self._game, self._options = game, tuple(options)
        self._names, self._agents = names, agents
        self._searches: list[Search | None] = []
        self._seconds: list[float | None] = []
        self._rules: Any = None  # of an environment of the user's, if it is a board of ours
        self._start: StartPosition | None = None
        self._known: list[Any] = [getattr(agent, "statistics", None) for agent in agents]

    def on_move(self, env: Any, number: int, action: int, seconds: float | None = None) -> None:
        """Note a move of an agent: the `on_move` of `agents.arena.match.play_game`.

        The time it took is to be said where the move is played by others.
        """
        if not self._searches:
            self._look_at(env)
        statistics: Statistics | None = getattr(self._agents[number], "statistics", None)
        is_old = statistics is self._known[number]
        self._known[number] = statistics
        self._searches.append(None if statistics is None or is_old else search_of(statistics))
        self._seconds.append(None if seconds is None else rounded(seconds))

    def take_back(self, moves: int = 1) -> None:
        """Forget the last moves."""
        kept = max(0, len(self._searches) - moves)
        del self._searches[kept:], self._seconds[kept:]

    def _look_at(self, env: Any) -> None:
        """Learn the rules and the start of the game from its environment."""
        self._rules = getattr(env.unwrapped, "game", None)
        self._start = start_of(env)

    def record(
        self, result: "GameResult", *, seed: int | None = None, env: Any = None
    ) -> GameRecord:
        """The record of a game that `play_game` has played; then the next game can begin.

        `env` is its environment. Without it the start of a game in which no agent made a legal move
        is not known, and is taken to be that by the rules.
        """
        self._seconds = [rounded(seconds) for seconds in result.clock]
        try:
            if env is not None:
                self._look_at(env)
            return self._collected(result.actions, result.first, seed=seed, **end_of(result))
        finally:
            self._searches, self._seconds, self._start = [], [], None

    def record_of(self, env: Any, first: int = 0, **about: Any) -> GameRecord:
        """The record of a game of `hexenv`, perhaps unfinished, played without `play_game`.

        `first` is the agent that plays for player 0. `about` may have `seed`, and `outcome` and
        `reason` of a game that the rules have not ended.
        """
        self._look_at(env)
        return self._collected(tuple(env.unwrapped.actions), first, **about)

    def _collected(self, actions: tuple[int, ...], first: int, **about: Any) -> GameRecord:
        """The record of these actions; the last of them have been noted."""
        count = min(len(self._searches), len(actions))
        searches, seconds = self._searches[:count], self._seconds[:count]
        opening = len(actions) - count
        if is_foreign_name(self._game) and hasattr(self._rules, "action_text"):
            about["moves"] = moves_text(self._rules, list(actions))
        return GameRecord.of(
            self._game,
            self._options,
            actions,
            agents=(self._names[first], self._names[1 - first]),
            opening=opening,
            seconds=(None,) * opening + tuple(seconds) if any(seconds) else (),
            searches=self._fitting(actions, [None] * opening + searches),
            start=self._start,
            **about,
        )

    def _fitting(
        self, actions: Sequence[int], searches: Sequence[Search | None]
    ) -> tuple[Search | None, ...]:
        """The searches, without those of another position."""
        if not any(searches):
            return ()
        if is_foreign_name(self._game):
            return tuple(searches)
        rules = rules_of(self._game, self._options)
        state = base.new_state(rules) if self._start is None else self._start.state(rules)
        found: list[Search | None] = []
        for action, search in zip(actions, searches, strict=True):
            found.append(search if search is not None and fits(rules, state, search) else None)
            rules.step(state, action)
        return tuple(found)


def end_of(result: Any) -> dict[str, Any]:
    """What a record says of the end of a game, and of what its players assumed though it is untrue.

    Of a game that the rules have ended, `reason` is None.
    """
    reason = None if result.illegal is None else "illegal action"
    if result.forfeit is not None:
        reason = f"forfeit: {result.forfeit}"
    if result.adjudicated is not None:
        reason = f"adjudicated: {result.adjudicated}"
    outcome, assumed = result.outcome, result.assumed
    if result.first:
        outcome, assumed = -outcome, assumed[::-1]
    return {"outcome": outcome, "reason": reason, "assumed": assumed}
