"""The games of data: any agents, many games at once where they can, and each game by itself.

A game has a seed of its own, made of the data's seed and its number. So it is the same in whatever
order, process or company it is played, and data that was interrupted goes on as if it had not been.
"""

import itertools
from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from agents.core.structured import Count, Text
from agents.core.temperature import draw_actions
from agents.learning.data.lockstep import Lockstep, ManyPlayer, Moves
from agents.learning.data.positions import RANDOM, Positions, shown_of
from agents.planning.environment import legal_actions
from agents.registry import make_agent, make_environment
from hexenv.envs.aec import BoardEnv
from hexenv.games.table import GameTable, Which, compiled_begin_game, new_table

BOARDS: Final = 256
"""Games that are played at the same time in a process."""
MOST_SEED: Final = 2**31


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


class SinglePlayer:
    """An agent that plays one game after the other, each in an environment."""

    def __init__(self, agent: Any, env: BoardEnv, name: str) -> None:
        self._agent, self._env, self._name = agent, env.clone(), name

    def begin(self, number: int, seed: int) -> None:
        self._agent.reset(seed)

    def act(self, table: GameTable, which: Which) -> Moves:
        states, actions, lengths = table
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
        self.players: list[SinglePlayer | ManyPlayer] = [
            SinglePlayer(agent, env, name) if player is None else ManyPlayer(player)
            for agent, player, name in zip(given, many, recipe.agents, strict=True)
        ]
        numbers = range(len(given))
        self.pairs = [*itertools.permutations(numbers, 2)] or [(0, 0)]
        """The agents of player 0 and 1, game by game."""

    @staticmethod
    def _together(agent: Any, env: BoardEnv, boards: int, threads: int) -> Any:
        play_many = getattr(agent, "play_many", None)
        return None if play_many is None else play_many(env, boards, threads)

    def play(self, first: int, count: int) -> Positions:
        """The positions of games by their numbers, from the first on."""
        played = Played(self, first, count)
        played.to_end()
        found = [game for game in played.finished if game is not None]
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


class Played(Lockstep):
    """Some games in play, at most `boards` at the same time.

    Attributes:
        finished: The games that were played, by their order; None where one is not over.
    """

    def __init__(self, games: Games, first: int, count: int) -> None:
        super().__init__(games.game, new_table(games.game, games.boards), games.players)
        self._recipe, self._pairs = games.recipe, games.pairs
        self._waiting = iter(range(first, first + count))
        self._first = first
        self.finished: list[OneGame | None] = [None] * count
        boards = min(games.boards, count)
        self.playing[boards:] = False
        plies, num_actions = self.game.max_plies(), self.game.num_actions()
        self._numbers = np.zeros(boards, np.int64)  # of the games on the boards
        self._draws = np.ones((boards, min(plies, self._recipe.temperature_plies)))
        self._visits = np.zeros((boards, plies, num_actions), np.int32)
        self._values = np.zeros((boards, plies), np.float32)
        self._agents = np.zeros((boards, plies), np.int16)
        for board in range(boards):
            self._begin(board)

    def _begin(self, board: int) -> None:
        """Begin the next game on a board, if one is left."""
        number = next(self._waiting, None)
        if number is None:
            self.playing[board] = False
            return
        self._numbers[board] = number
        recipe = self._recipe
        rng = np.random.default_rng([recipe.seed, number])
        plies = min(int(rng.random() * (recipe.opening_plies + 1)), self.game.max_plies())
        self.call(compiled_begin_game, self.table, board, plies, rng)
        opening = slice(self.table.lengths[board])
        self._visits[board, opening] = 0
        self._values[board, opening] = np.nan
        self._agents[board, opening] = RANDOM
        self._draws[board] = rng.random(self._draws.shape[1])
        self.sides[board] = self._pairs[number % len(self._pairs)]
        for player in self.players:
            player.begin(board, int(rng.random() * MOST_SEED))

    def choose(self, player: int, which: Which) -> NDArray[np.int64]:
        """An agent's moves: drawn by the temperature in the first plies."""
        found = self.players[player].act(self.table, which)
        plies = self.table.lengths[which]
        self._visits[which, plies] = found.shares
        self._values[which, plies] = found.values
        self._agents[which, plies] = player
        actions, temperature = found.actions.copy(), self._recipe.temperature
        early = np.flatnonzero(plies < self._draws.shape[1])
        if temperature > 0.0 and early.size:
            draws = self._draws[which[early], plies[early]]
            actions[early] = draw_actions(found.shares[early], temperature, draws)
        return actions

    def end(self, number: int, outcome: int) -> None:
        """Keep a game, and begin the next one in its place."""
        played = slice(self.table.lengths[number])
        self.finished[self._numbers[number] - self._first] = OneGame(
            self.table.actions[number, played].copy(),
            self._visits[number, played].copy(),
            self._values[number, played].copy(),
            self._agents[number, played].copy(),
        )
        self._begin(number)
