"""The games of data: any agents, many games at once where they can, and each game by itself.

A game has a seed of its own, made of the data's seed and its number. So it is the same in whatever
order, process or company it is played, and data that was interrupted goes on as if it had not been.
"""

import itertools
from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple, Protocol

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from agents.core.structured import Count, Text
from agents.core.temperature import draw_actions
from agents.learning.data.lockstep import (
    GOES_ON,
    compiled_begin_game,
    compiled_play_actions,
    compiled_write_movers,
)
from agents.learning.data.positions import RANDOM, Positions, shown_of
from agents.planning.environment import legal_actions
from agents.registry import make_agent, make_environment
from hexenv.compiled import CompiledFunction
from hexenv.envs.aec import BoardEnv
from hexenv.games.base import new_states

BOARDS: Final = 256
"""Games that are played at the same time in a process."""
MOST_SEED: Final = 2**31
Which = NDArray[np.int64]


class Recipe(Struct, frozen=True, forbid_unknown_fields=True):
    """What decides the games of data: with the same one, game number n is always the same.

    Examples:
        >>> Recipe("tictactoe", [], ["random"]).opening_plies
        2
    """

    game: Text
    """A game of hexenv, or ``module:function``, which returns an environment of one's own game."""
    options: list[Text]
    """``key=value`` for the game's environment, such as ``board_size=7``."""
    agents: Annotated[list[Text], Meta(min_length=1)]
    """As the command line writes them; one plays itself, of several each pair plays, both sides
    in turn."""
    seed: Count = 0
    """Of all chance."""
    opening_plies: Annotated[int, Meta(ge=0, le=100_000)] = 2
    """Games begin with 0 up to this many random moves."""
    temperature: Annotated[float, Meta(ge=0, le=100)] = 1.0
    """Of the moves before `temperature_plies`: one is drawn in proportion to ``visits ** (1 /
    temperature)``; 0: the agent's own move. Agents that count no visits play their own."""
    temperature_plies: Annotated[int, Meta(ge=0, le=100_000)] = 10
    """Plies of a game, with those of its opening, whose moves are drawn."""


def environment_of(recipe: Recipe) -> BoardEnv:
    """The environment of the games.

    Raises:
        ValueError: If there is no such game, or it is none of hexenv's kind.
    """
    env = make_environment(recipe.game, recipe.options)
    if not isinstance(env.unwrapped, BoardEnv):
        raise ValueError(f"expected a game of hexenv or one of your own, got {recipe.game}")
    env.reset()
    return env.unwrapped


def make_agents(recipe: Recipe) -> list[Any]:
    """The agents by the names in a recipe."""
    return [make_agent(text) for text in recipe.agents]


# ---- players -------------------------------------------------------------------------------------


class Moves(NamedTuple):
    """What an agent did in n positions."""

    actions: NDArray[np.int64]  # (n,): those that it found best
    visits: NDArray[np.int32]  # (n, num_actions())
    values: NDArray[np.float32]  # (n,): see `Positions`


class Player(Protocol):
    """An agent in all games that are played at the same time."""

    def begin(self, number: int, seed: int) -> None:
        """Begin a game."""
        ...

    def act(
        self, states: Any, actions: NDArray[np.int32], lengths: NDArray[np.int32], which: Which
    ) -> Moves:
        """Choose moves; the arguments are those of `agents.mcts.many_games.ManyGames.act`."""
        ...


class ManyPlayer:
    """An agent that plays many games at once."""

    def __init__(self, many: Any) -> None:
        self._many = many

    def begin(self, number: int, seed: int) -> None:
        self._many.reset(number, seed)

    def act(
        self, states: Any, actions: NDArray[np.int32], lengths: NDArray[np.int32], which: Which
    ) -> Moves:
        chosen = self._many.act(states, actions, lengths, which)
        return Moves(chosen, *self._many.found(which, chosen))


class SinglePlayer:
    """An agent that plays one game after the other, each in an environment."""

    def __init__(self, agent: Any, env: BoardEnv, name: str) -> None:
        self._agent, self._env, self._name = agent, env.clone(), name

    def begin(self, number: int, seed: int) -> None:
        self._agent.reset(seed)

    def act(
        self, states: Any, actions: NDArray[np.int32], lengths: NDArray[np.int32], which: Which
    ) -> Moves:
        found = [
            self._act_in(states[number], actions[number, : lengths[number]].tolist())
            for number in which.tolist()
        ]
        chosen, visits, values = zip(*found, strict=True)
        return Moves(np.array(chosen, np.int64), np.stack(visits), np.array(values, np.float32))

    def _act_in(self, state: Any, moves: list[int]) -> tuple[int, NDArray[np.int32], float]:
        env = self._env
        env.begin_at(state, moves)
        chosen = int(self._agent.act(env))
        if chosen not in legal_actions(env):
            raise ValueError(f"expected a legal action of {self._name}, got {chosen}")
        visits, value = np.zeros(env.game.num_actions(), np.int32), np.nan
        found = getattr(self._agent, "statistics", None)
        if found is not None:
            if hasattr(self._agent, "simulations"):  # solvers mark with 1 what they have looked at
                visits[:] = np.minimum(found.visits, 2**31 - 1)
            value = float(found.values[chosen]) if found.proven is None else float(found.proven)
            if not found.visits.any() and found.proven is None:  # it says nothing of the moves
                value = np.nan
        if not visits.any():
            visits[chosen] = 1
        return chosen, visits, value


# ---- games ---------------------------------------------------------------------------------------


class Games:
    """Plays games by a recipe.

    Args:
        recipe: What decides the games.
        agents: Its agents, made already; None: by their names.
        boards: How many games are played at the same time; it changes none of them.
        threads: The most threads that search.
    """

    def __init__(
        self,
        recipe: Recipe,
        agents: Sequence[Any] | None = None,
        boards: int = BOARDS,
        threads: int = 1,
    ) -> None:
        env = environment_of(recipe)
        self.recipe, self.game = recipe, env.game
        given = make_agents(recipe) if agents is None else agents
        many = [self._together(agent, env, boards, threads) for agent in given]
        self.boards = boards if all(player is not None for player in many) else 1
        if self.boards != boards:
            many = [self._together(agent, env, self.boards, threads) for agent in given]
        self._players: list[Player] = [
            SinglePlayer(agent, env, name) if player is None else ManyPlayer(player)
            for agent, player, name in zip(given, many, recipe.agents, strict=True)
        ]
        numbers = range(len(given))
        self._pairs = [*itertools.permutations(numbers, 2)] or [(0, 0)]
        """The agents of player 0 and 1, game by game."""

    @staticmethod
    def _together(agent: Any, env: BoardEnv, boards: int, threads: int) -> Any:
        play_many = getattr(agent, "play_many", None)
        return None if play_many is None else play_many(env, boards, threads)

    def play(self, first: int, count: int) -> Positions:
        """The positions of games by their numbers, from the first on."""
        found = Played(self, first, count).to_end()
        lengths = np.array([len(game.actions) for game in found])
        actions = np.concatenate([game.actions for game in found]).astype(np.int16)
        shown = shown_of(self.game, lengths, actions)
        numbers = np.arange(first, first + count, dtype=np.int64)
        starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
        return Positions(
            actions=actions,
            visits=np.concatenate([game.visits for game in found]),
            values=np.concatenate([game.values for game in found]),
            agents=np.concatenate([game.agents for game in found]),
            games=np.repeat(numbers, lengths),
            plies=(np.arange(len(actions)) - starts).astype(np.int16),
            **shown._asdict(),
        )


class OneGame(NamedTuple):
    """A game of L plies that was played."""

    actions: NDArray[np.int32]  # (L,)
    visits: NDArray[np.int32]  # (L, num_actions())
    values: NDArray[np.float32]  # (L,)
    agents: NDArray[np.int16]  # (L,)


class Played:
    """Some games in play, at most `boards` at the same time."""

    def __init__(self, games: Games, first: int, count: int) -> None:
        self._recipe, self._game = games.recipe, games.game
        self._players, self._pairs = games._players, games._pairs  # pyright: ignore[reportPrivateUsage]
        self._waiting = iter(range(first, first + count))
        self._first = first
        self._finished: list[OneGame | None] = [None] * count
        boards = min(games.boards, count)
        plies, num_actions = self._game.max_plies(), self._game.num_actions()
        self._numbers = np.full(boards, -1, np.int64)
        """Of the games on the boards; -1: none is left."""
        self._states = new_states(self._game, games.boards)
        self._actions = np.zeros((games.boards, plies), np.int32)
        self._lengths = np.zeros(games.boards, np.int32)
        self._movers = np.zeros(games.boards, np.int8)
        self._draws = np.ones((boards, min(plies, self._recipe.temperature_plies)))
        self._visits = np.zeros((boards, plies, num_actions), np.int32)
        self._values = np.zeros((boards, plies), np.float32)
        self._agents = np.zeros((boards, plies), np.int16)
        self._pair_of = np.zeros((boards, 2), np.int16)
        for board in range(boards):
            self._begin(board)

    def to_end(self) -> list[OneGame]:
        """Play all games."""
        while (playing := np.flatnonzero(self._numbers >= 0)).size:
            self._call(compiled_write_movers, self._game, self._states, self._movers)
            agents = self._pair_of[playing, self._movers[playing]]
            for number, player in enumerate(self._players):
                which = playing[agents == number]
                if which.size:
                    self._move(which, number, player)
        return [game for game in self._finished if game is not None]

    def _call(self, function: CompiledFunction, *arguments: Any) -> Any:
        return function.fitting(self._game)(*arguments)

    def _begin(self, board: int) -> None:
        """Begin the next game on a board, if one is left."""
        number = next(self._waiting, None)
        if number is None:
            self._numbers[board] = -1
            return
        self._numbers[board] = number
        recipe, game = self._recipe, self._game
        rng = np.random.default_rng([recipe.seed, number])
        plies = min(int(rng.random() * (recipe.opening_plies + 1)), game.max_plies())
        length = self._lengths[board] = self._call(
            compiled_begin_game, game, self._states, board, plies, rng, self._actions[board]
        )
        self._visits[board, :length] = 0
        self._values[board, :length] = np.nan
        self._agents[board, :length] = RANDOM
        self._draws[board] = rng.random(self._draws.shape[1])
        self._pair_of[board] = self._pairs[number % len(self._pairs)]
        for player in self._players:
            player.begin(board, int(rng.random() * MOST_SEED))

    def _move(self, which: Which, number: int, player: Player) -> None:
        """Let an agent move on some boards."""
        lengths = self._lengths
        found = player.act(self._states, self._actions, lengths, which)
        plies = lengths[which]
        self._visits[which, plies] = found.visits
        self._values[which, plies] = found.values
        self._agents[which, plies] = number
        actions = self._drawn(which, plies, found)
        self._actions[which, plies] = actions
        lengths[which] += 1
        outcomes = np.zeros(len(which), np.int8)
        self._call(compiled_play_actions, self._game, self._states, which, actions, outcomes)
        for board in which[outcomes != GOES_ON].tolist():
            self._finish(board)
            self._begin(board)

    def _drawn(self, which: Which, plies: NDArray[np.int32], found: Moves) -> NDArray[np.int64]:
        """The moves to play: drawn by the temperature in the first plies."""
        actions, temperature = found.actions.copy(), self._recipe.temperature
        early = np.flatnonzero(plies < self._draws.shape[1])
        if temperature > 0.0 and early.size:
            draws = self._draws[which[early], plies[early]]
            actions[early] = draw_actions(found.visits[early], temperature, draws)
        return actions

    def _finish(self, board: int) -> None:
        played = slice(self._lengths[board])
        self._finished[self._numbers[board] - self._first] = OneGame(
            self._actions[board, played].copy(),
            self._visits[board, played].copy(),
            self._values[board, played].copy(),
            self._agents[board, played].copy(),
        )
