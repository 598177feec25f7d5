"""The calls that playhex.org makes to its engines, so that our agents can serve there.

They are those of its server of engines (Catala, "hex-ai-distributed", 2023-2026): a JSON object
comes by POST, and a move as text, or the analysis of a game as JSON, goes back; what cannot be
answered is refused with status 400. Moves are as here, and ``swap-pieces`` is our ``swap``.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import Meta

from agents.apps.protocols.exchange import COLOURS, SWAP
from agents.core.agent import Agent
from agents.core.reading import as_object, parse_json
from agents.core.structured import Text, convert
from agents.planning.environment import is_over
from agents.records.analysis import Analysis
from agents.records.asking import Limit, analyse
from agents.registry import make_agent
from hexenv import hex_v0
from hexenv.common.messages import shortened
from hexenv.compiled.cpus import usable_cpus
from hexenv.games.hex import MAX_SIZE

GAME_SECONDS: Final = 15.0
"""For the searches of all positions of a game, on each processor; the site waits for 20."""
POSITION_SECONDS: Final = 1.0
"""For one position at most."""
MOVE_SECONDS: Final = 2.0
BEST_MOVES: Final = 4

Size = Annotated[int, Meta(ge=2, le=MAX_SIZE)]
T = TypeVar("T")
Values = dict[str, Any]
"""An object of JSON."""


@dataclass(frozen=True)
class Played:
    """The ``game`` of ``calculate-move``.

    Attributes:
        size: Of the board.
        movesHistory: All moves so far, with spaces between them.
        currentPlayer: Whose turn it is, which the moves tell as well.
        swapRule: Whether the first stone may be taken over.
    """

    size: Size
    movesHistory: Text
    currentPlayer: Literal["black", "white"]
    swapRule: bool


@dataclass(frozen=True)
class MoveRequest:
    """The object of ``calculate-move``; of ``ai`` the number ``maxGames`` counts, if it is there.

    Attributes:
        game: The position.
        ai: Which engine is asked for, and how strong it is to be.
    """

    game: Played
    ai: dict[Text, Any]


@dataclass(frozen=True)
class GameRequest:
    """The object of ``analyze-game``.

    Attributes:
        movesHistory: As in `Played`.
        size: Of the board.
    """

    movesHistory: Text
    size: Size


class HexService:
    """Answers the calls, with agents of one name, which are compiled first.

    Args:
        agent: The name, with parameters.
        seconds: For a move.
        game_seconds: For the searches of a game, on each processor.
    """

    def __init__(
        self, agent: str, seconds: float = MOVE_SECONDS, game_seconds: float = GAME_SECONDS
    ) -> None:
        self._seconds, self._game_seconds = seconds, game_seconds
        self._count = usable_cpus()
        self._agents: SimpleQueue[Agent] = SimpleQueue()  # those that are not searching
        env = hex_v0.env()
        env.reset()
        for _ in range(self._count):
            one: Any = make_agent(agent)
            if hasattr(one, "prepare"):  # before the first request, which waits no longer
                with suppress(ValueError):  # a solver is for smaller boards
                    one.prepare(env)
            self._agents.put(one)

    def calculate_move(self, body: bytes) -> str:
        """The move to play, as text; ValueError says what is wrong with the request."""
        asked = _read(body, MoveRequest)
        env = hex_v0.env(board_size=asked.game.size, swap=asked.game.swapRule)
        *_, env = _positions(env, asked.game.movesHistory)
        colour = COLOURS[len(env.unwrapped.actions) % 2]
        if asked.game.currentPlayer != colour:
            raise ValueError(f"currentPlayer: expected {colour}, got {asked.game.currentPlayer}")
        if is_over(env):
            raise ValueError("movesHistory: expected a game in play, got one that is over")
        simulations = asked.ai.get("maxGames")
        limit = Limit(self._seconds, convert(simulations, int | None, "maxGames"))
        return _outside(self._ask(lambda agent: analyse(env, agent, limit, lines=1)).best.move)

    def analyze_game(self, body: bytes) -> list[Values]:
        """For each move what it was worth, and what else there was.

        Returns:
            Of each: ``moveIndex``; ``color``; ``whiteWin``, white's probability of winning before
            it; ``move`` and ``bestMoves``, with the ``move``, its ``value``, the share of the
            search, and, where it is known, ``whiteWin`` after it.
        """
        asked = _read(body, GameRequest)
        env = hex_v0.env(board_size=asked.size, swap="swap" in asked.movesHistory)
        positions = list(_positions(env, asked.movesHistory))
        seconds = self._game_seconds * self._count / len(positions)
        limit = Limit(min(POSITION_SECONDS, seconds))

        def look(position: Any) -> Analysis | None:
            if is_over(position):
                return None
            return self._ask(lambda agent: analyse(position, agent, limit, BEST_MOVES))

        with ThreadPoolExecutor(self._count) as pool:
            found = list(pool.map(look, positions))
        rates = [_white_wins(one, env) for one in found]
        return [
            _told(index, action, env.unwrapped.game, one, rates)
            for index, (action, one) in enumerate(zip(env.unwrapped.actions, found, strict=False))
            if one is not None
        ]

    def _ask(self, question: Callable[[Agent], T]) -> T:
        """The answer of an agent that is free, or of the next one that is."""
        agent = self._agents.get()
        try:
            return question(agent)
        finally:
            self._agents.put(agent)


def _read(body: bytes, kind: type[T]) -> T:
    """The request; fields that we do not know are of no matter."""
    try:
        return convert(as_object(parse_json(body)), kind)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise ValueError("expected a JSON object, got something else") from None


def _positions(env: Any, history: str) -> Iterator[Any]:
    """All positions of a game, the start first, as environments of their own."""
    env.reset()
    yield env.clone()
    game = env.unwrapped.game
    for number, move in enumerate(history.split(), 1):
        try:
            if is_over(env):
                raise ValueError("expected no move after the end of the game")
            action = game.parse_action("swap" if move == SWAP else move)
            if not env.unwrapped.is_legal(action):
                raise ValueError(game.why_illegal(env.unwrapped.state, action))
        except ValueError as error:
            raise ValueError(f"movesHistory: move {number}, {shortened(move)}: {error}") from None
        env.step(action)
        yield env.clone()


def _white_wins(found: Analysis | None, env: Any) -> float:
    """White's probability of winning; that of the end of the game where there was no search."""
    if found is None:
        return 0.0 if env.unwrapped.game.outcome(env.unwrapped.state, 0) > 0 else 1.0
    return _for_white(found.value, found)


def _for_white(value: float | None, found: Analysis) -> float:
    """A value for who is to move as white's probability of winning; one half if it is unknown."""
    share = 0.5 + 0.5 * (value or 0.0)
    return share if found.position.to_play == 1 else 1.0 - share


def _told(index: int, action: int, game: Any, found: Analysis, rates: list[float]) -> Values:
    """A move in the fields of the site."""
    visits: Mapping[int, int] = {} if found.search is None else found.search.visits
    total = max(sum(visits.values()), 1)

    def told(one: int, value: float | None) -> Values:
        about: Values = {"move": _outside(game.action_text(one))}
        about["value"] = visits.get(one, 0) / total
        if one == action:
            return {**about, "whiteWin": rates[index + 1]}
        return about if value is None else {**about, "whiteWin": _for_white(value, found)}

    return {
        "moveIndex": index,
        "whiteWin": rates[index],
        "color": COLOURS[index % 2],
        "move": told(action, None),
        "bestMoves": [told(line.action, line.value) for line in found.lines],
    }


def _outside(move: str) -> str:
    """A move as the site writes it."""
    return SWAP if move == "swap" else move
