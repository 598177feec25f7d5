"""Wins by threats in Gomoku and other m,n,k games: `vcf` by fours alone, `vct` by threes as well.

>>> from agents.threats import vcf
>>> from hexenv import gomoku_v0
>>> env = gomoku_v0.env(board_size=9)
>>> env.reset(options={"moves": "e5 a1 f5 b1 g5 c9"})
>>> [env.unwrapped.game.action_text(action) for action in vcf(env)]
['h5', 'd5', 'i5']
"""

import time
from typing import Any, Final

import numpy as np

from agents.agent import check_in_play
from agents.gomoku.board import PatternGame, plain_state
from agents.gomoku.threats import (
    MOST_THREATS,
    NO_WIN,
    new_threat_search,
    search_fours,
    search_threats,
)
from agents.gomoku.view import pattern_view
from agents.options import whole_number_within
from agents.search.foreign import planner_view
from hexenv.compiled import CompiledFunction
from hexenv.games import base
from hexenv.games.base import IN_PLAY, State
from hexenv.games.gomoku import Gomoku

__all__ = ["ThreatSolver", "vcf", "vct"]

compiled_fours: Final = CompiledFunction(search_fours)
compiled_threats: Final = CompiledFunction(search_threats)
SLICE: Final = 10_000
"""How many positions are searched between two looks at the clock."""


def vcf(
    env: Any, nodes: int = 1_000_000, seconds: float | None = None, route: str = "auto"
) -> list[int] | None:
    """A win of the player to move by continuous fours (VCF).

    Args:
        env: An environment of Gomoku or TicTacToe in play. It is left as it was.
        nodes: How many positions to search.
        seconds: How long to search, without the first compilation; None for no limit.
        route: How to search; see `agents.search.foreign.planner_view`.

    Returns:
        The actions of both sides, from the first to the one that wins; or, in renju, to a four that
        black may not stop. None if there is no such win, or it was not found in time.

    Raises:
        ValueError: If the game is over, or none that is won by stones in a row.
    """
    return _solve(env, 0, nodes, seconds, route)


def vct(
    env: Any,
    depth: int = 12,
    nodes: int = 1_000_000,
    seconds: float | None = None,
    route: str = "auto",
) -> list[int] | None:
    """A win of the player to move by continuous threats (VCT): open threes, broken threes, fours.

    The defender's answers in the line are those that hold out longest; to others the attacker has
    an answer as well.

    Args:
        env: See `vcf`, as for the others.
        depth: How many threats to look deep, 1 to 30, before the fours that end a line.
        nodes: See `vcf`.
        seconds: See `vcf`.
        route: See `vcf`.

    Returns:
        See `vcf`; the line ends earlier where every defence loses at once.

    Raises:
        ValueError: See `vcf`.
    """
    depth = whole_number_within("depth", depth, 1, MOST_THREATS)
    return _solve(env, depth, nodes, seconds, route)


def _solve(env: Any, depth: int, nodes: int, seconds: float | None, route: str) -> list[int] | None:
    check_in_play(env)
    view = pattern_view(planner_view(env, route))
    solver = ThreatSolver(view.game, view.compiles)
    return solver.solve(view.root, depth, whole_number_within("nodes", nodes, 1, 2**62), seconds)


class ThreatSolver:
    """Solves positions of one game, and remembers from one to the next where there was no win.

    Args:
        game: The game with patterns; see `agents.gomoku.view.pattern_view`.
        compiles: Whether to search by machine code.
        memory: How many failures to remember, a power of two.

    Attributes:
        game: The game.
        nodes: How many positions were searched so far.
        is_settled: Whether the last search has looked at all there was.
    """

    def __init__(self, game: PatternGame, compiles: bool = True, memory: int = 1 << 16) -> None:
        self.game = game
        self._search = new_threat_search(game, memory)
        self.is_settled = False
        state = game.start[0]
        self._fours, self._threats = search_fours, search_threats
        if compiles:
            search = self._search
            self._fours = compiled_fours.specialise(game, state, search.fours, 1)
            self._threats = compiled_threats.specialise(game, state, search, 1, 1, 1)

    @property
    def nodes(self) -> int:
        return int(self._search.fours.spent[0])

    def solve(
        self, state: State, depth: int = 0, nodes: int = 1_000_000, seconds: float | None = None
    ) -> list[int] | None:
        """A winning line of the player to move, checked by playing it; None if none was found.

        Args:
            state: A position of the game; it is not over.
            depth: How many threats besides fours to look deep; 0: only fours.
            nodes: How many positions to search.
            seconds: How long to search.
        """
        started = time.perf_counter()
        deadline = np.inf if seconds is None else started + seconds
        end = self.nodes + nodes
        slice_nodes = nodes if seconds is None else SLICE
        found = 0
        for limit in range(depth + 1):
            while True:
                before, budget = self.nodes, min(slice_nodes, end - self.nodes)
                if limit == 0:
                    found = self._fours(self.game, state, self._search.fours, budget)
                else:
                    fours = max(budget // 10, 1)
                    found = self._threats(self.game, state, self._search, limit, budget, fours)
                is_over = self.nodes >= end or time.perf_counter() >= deadline
                if found >= NO_WIN or is_over or self.nodes - before < budget:
                    break
                slice_nodes *= 2  # what has failed is remembered: the search goes on
            self.is_settled = found >= NO_WIN
            if found > 0:
                found_line = self._search.fours.line if limit == 0 else self._search.lines[0]
                line: list[int] = found_line[:found].tolist()
                check_line(self.game.rules, plain_state(self.game, state), line, limit == 0)
                return line
            if is_over or (found == NO_WIN and limit > 0):
                break
        return None


def check_line(rules: Gomoku, position: State, line: list[int], only_fours: bool) -> None:
    """Play a line, and see that it is a forced win as far as it goes.

    Args:
        rules: The game.
        position: Where it begins.
        line: The actions of both sides, the attacker's first.
        only_fours: Whether every attack has to be a four, which is then checked.

    Raises:
        RuntimeError: If it is not: then the search is wrong.
    """
    state = base.clone(rules, position)
    attacker = rules.to_play(state)
    for number, action in enumerate(line):
        is_answer = number % 2 == 1
        legal = base.legal_actions(rules, state)
        fives = [cell for cell in legal if rules.wins_at(state, attacker, cell)]
        is_lost = any(rules.wins_at(state, 1 - attacker, cell) for cell in legal)
        is_forced = action in fives and not is_lost
        if action not in legal or (is_answer and only_fours and not is_forced):
            moves = [rules.action_text(action) for action in line]
            raise RuntimeError(f"expected a forced win, got {moves}, at move {number + 1}")
        rules.step(state, action)
    if state.winner not in (attacker, IN_PLAY) or len(line) % 2 == 0:
        raise RuntimeError(f"expected a line that wins, got {line}")
