"""Wins by threats in Gomoku and other m,n,k games: `vcf` by fours alone, `vct` by threes as well.

Examples:
    >>> from agents.knowledge.gomoku.threats import vcf
    >>> from hexenv import gomoku_v0
    >>> env = gomoku_v0.env(board_size=9)
    >>> env.reset(options={"moves": "e5 a1 f5 b1 g5 c9"})
    >>> [env.unwrapped.game.action_text(action) for action in vcf(env)]
    ['h5', 'd5', 'i5']
"""

import time
from typing import Annotated, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from agents.core.budget import Pace
from agents.core.options import Seconds
from agents.knowledge.gomoku.board import PatternGame, plain_state
from agents.knowledge.gomoku.threat_search import (
    MOST_THREATS,
    NO_WIN,
    new_threat_search,
    search_fours,
    search_threats,
)
from agents.knowledge.gomoku.view import pattern_view
from agents.planning.environment import check_in_play
from agents.planning.view import Route, planner_view
from hexenv.common.options import Within, checks_options
from hexenv.compiled import CompiledFunction, kernel
from hexenv.games import base
from hexenv.games.base import EMPTY, IN_PLAY, State

__all__ = ["ThreatSolver", "vcf", "vct"]

compiled_fours: Final = CompiledFunction(search_fours, "threats")
compiled_threats: Final = CompiledFunction(search_threats, "threats")
SLICE: Final = 20
"""Positions of the first search against the clock, a tenth of them in one search by fours; the next
has twice as many, and is quick where the last has been."""
Nodes: TypeAlias = Annotated[int, Within(1, 2**62)]


@checks_options
def vcf(
    env: Any, nodes: Nodes = 1_000_000, seconds: Seconds = None, route: Route = "auto"
) -> list[int] | None:
    """A win of the player to move by continuous fours (VCF).

    In caro, fours that can be answered in more than one way are left out.

    Args:
        env: An environment of Gomoku or TicTacToe in play. It is left as it was.
        nodes: About how many positions to search.
        seconds: How long to search, without the first compilation; None for no limit.
        route: How to search; see `agents.planning.view.planner_view`.

    Returns:
        The actions of both sides, from the first to the one that wins; or, in renju, to a four
        whose only answer is forbidden to black. None if there is no such win, or it was not found
        in time.

    Raises:
        ValueError: If the game is over, or is not won by stones in a row.
    """
    return _solve(env, 0, nodes, seconds, route)


@checks_options
def vct(
    env: Any,
    depth: Annotated[int, Within(1, MOST_THREATS)] = 12,
    nodes: Nodes = 1_000_000,
    seconds: Seconds = None,
    route: Route = "auto",
) -> list[int] | None:
    """A win of the player to move by continuous threats (VCT): open threes, broken threes, fours.

    The defender's answers in the line are those that hold out longest; to others the attacker has
    an answer as well. (In renju one kind of defence against black is not looked at: a white stone
    away from black's threats that makes the stone of an open four a forbidden one.)

    All is as in `vcf`, but that the line ends earlier where every defence loses at once, and for
    `depth`: how many threats deep to search, 1 to 30, before the fours that end a line.
    """
    return _solve(env, depth, nodes, seconds, route)


def _solve(env: Any, depth: int, nodes: int, seconds: float | None, route: str) -> list[int] | None:
    plain = planner_view(env, route)
    check_in_play(env)
    view = pattern_view(plain)
    solver = ThreatSolver(view.game, view.compiles)
    return solver.solve(view.root, depth, nodes, seconds)


class ThreatSolver:
    """Solves positions of one game, and remembers positions without a win for later searches.

    Examples:
        >>> from agents.knowledge.gomoku import board
        >>> from hexenv.games import gomoku
        >>> game = board.new(gomoku.new(board_size=9))
        >>> ThreatSolver(game, compiles=False).solve(game.start[0])  # None: nobody wins yet

    Args:
        game: The game with patterns; see `agents.knowledge.gomoku.view.pattern_view`.
        compiles: Whether to search by machine code.
        memory: How many failures to remember, a power of two.

    Attributes:
        is_settled: Whether the last search has found a win, or has searched everything; False if it
            used remembered failures of threats.
    """

    def __init__(self, game: PatternGame, compiles: bool = True, memory: int = 1 << 16) -> None:
        self.game = game
        self._search = new_threat_search(game, memory)
        self.is_settled = False
        state = game.start[0]
        self._fours, self._threats, self._holds = search_fours, search_threats, is_winning_line
        if compiles:
            search = self._search
            self._fours = compiled_fours.specialise(game, state, search.fours, 1, True)
            self._threats = compiled_threats.specialise(game, state, search, 1, 1, 1, True)
            legal = np.empty(game.num_actions(), np.int32)
            arguments = (game.rules, base.new_state(game.rules), legal, True, legal)
            self._holds = compiled_is_winning_line.specialise(*arguments)

    @property
    def nodes(self) -> int:
        """How many positions were searched so far."""
        return int(self._search.fours.spent[0])

    def solve(
        self, state: State, depth: int = 0, nodes: int = 1_000_000, seconds: float | None = None
    ) -> list[int] | None:
        """A winning line of the player to move, checked by playing it; None if none was found.

        `depth` is how many threats besides fours deep to search; 0: only fours.
        """
        end = self.nodes + nodes
        pace = Pace(time.perf_counter(), seconds, first=nodes if seconds is None else 1)
        slice_nodes = nodes if seconds is None else SLICE
        found = 0
        for limit in range(depth + 1):
            while True:
                before, budget = self.nodes, min(slice_nodes, end - self.nodes)
                found = self._search_once(state, limit, budget, pace)
                is_over = self.nodes >= end or pace.is_over
                is_cut = self.nodes - before >= budget or (limit > 0 and self._search.spoiled[0])
                if found >= NO_WIN or is_over or not is_cut or budget < slice_nodes:
                    break
                slice_nodes *= 2  # failures are remembered, so the next search continues this one
            self.is_settled = found > 0 or (found == NO_WIN and (limit > 0 or depth == 0))
            if found > 0:
                found_line = self._search.fours.line if limit == 0 else self._search.lines[0]
                line: list[int] = found_line[:found].tolist()
                self._check(state, line, limit == 0)
                return line
            if is_over or (found == NO_WIN and limit > 0):
                break
        return None

    def _search_once(self, state: State, limit: int, budget: int, pace: Pace) -> int:
        """One search, by fours alone or by threats up to a limit; see `search_fours`."""
        search, end, begins = self._search, self.nodes + budget, True
        fours = max(budget // 10, 1)
        while True:
            before, size = self.nodes, min(pace.size, end - self.nodes)
            if limit == 0:
                found = self._fours(self.game, state, search.fours, size, begins)
            else:
                found = self._threats(self.game, state, search, limit, size, fours, begins)
            pace.count(self.nodes - before)
            paused = search.fours.paused if limit == 0 else search.paused
            if paused[0] < 0 or self.nodes >= end or pace.is_over:
                return found
            begins = False

    def _check(self, state: State, line: list[int], only_fours: bool) -> None:
        """Play a line; RuntimeError if it is no forced win (a bug in the search)."""
        rules, position = self.game.rules, plain_state(self.game, state)
        legal = np.empty(rules.num_actions(), np.int32)
        arguments = (rules, position, np.array(line, np.int32), only_fours, legal)
        if not self._holds(*arguments):
            moves = [rules.action_text(action) for action in line]
            raise RuntimeError(f"expected a forced win, got {moves}")


@kernel
def is_winning_line(
    rules: Any, state: State, line: NDArray[np.int32], only_fours: bool, legal: NDArray[np.int32]
) -> bool:
    """Whether a line, the attacker's move first, is legal and wins; the state is overwritten.

    With `only_fours` every attack but the last must be a four whose only answer is the next move.
    """
    attacker = rules.to_play(state)
    for number in range(len(line)):
        action = int(line[number])
        count = rules.legal_actions(state, legal)
        is_legal = False
        for i in range(count):
            is_legal |= legal[i] == action
            if number % 2 == 1 and only_fours and rules.wins_at(state, 1 - attacker, int(legal[i])):
                return False
        if not is_legal:
            return False
        if number % 2 == 1 and only_fours and not rules.wins_at(state, attacker, action):
            return False
        rules.step(state, action)
    if state.winner != IN_PLAY or not only_fours:
        return len(line) % 2 == 1 and state.winner in (attacker, IN_PLAY)
    if attacker == 0:
        return False
    for cell in range(rules.num_actions()):  # a four that black may not answer
        is_empty = rules.owner(state, cell) == EMPTY
        if is_empty and rules.wins_at(state, attacker, cell) and rules.is_forbidden(state, cell):
            return True
    return False


compiled_is_winning_line: Final = CompiledFunction(is_winning_line, "threats")
