"""A game between a person and an agent, whoever asks for the moves and however it is shown."""

import time
from dataclasses import dataclass
from typing import Any

from agents.arena import is_legal
from agents.core.agent import Agent, ForfeitError
from agents.protocols.cells import cell_of, is_by_column, question_of
from agents.records import GameRecord, Recorder
from agents.search.environment import is_over, legal_actions
from hexenv.games import notation
from hexenv.games.base import Game, State


@dataclass(frozen=True)
class Hint:
    """What the agent would play for the person.

    Attributes:
        action: The action.
        cell: The cell that it would fill, or None.
        text: The hint in words.
    """

    action: int
    cell: int | None
    text: str


class Session:
    """The moves of a person and an agent: played, taken back, asked for.

    It is over when the game is, or when the agent has forfeited.

    Args:
        env: An environment of `hexenv` after `reset`.
        opponent: The agent.
        player: The person's side, 0 or 1.
        recorder: Of the person as agent 0 and the agent as 1; None keeps no record.

    Attributes:
        env: The environment as it is now; another one after `undo`.
        forfeit: Why the agent has lost before the game's end, or None.
    """

    def __init__(
        self, env: Any, opponent: Agent, player: int, recorder: Recorder | None = None
    ) -> None:
        self.env = env
        self.opponent = opponent
        self.player = player
        self.forfeit: str | None = None
        self._earlier: list[Any] = []  # the environment before each move of the person
        self._recorder = recorder
        self._since = time.monotonic()  # the last move

    # ---- how it stands -----------------------------------------------------------------------

    @property
    def game(self) -> Game:
        """The rules."""
        return self.env.unwrapped.game

    @property
    def state(self) -> State:
        """The position."""
        return self.env.unwrapped.state

    @property
    def moves(self) -> str:
        """The moves since the start, as text."""
        return self.env.unwrapped.moves

    @property
    def is_over(self) -> bool:
        """Whether nobody is to move."""
        return self.forfeit is not None or is_over(self.env)

    @property
    def is_persons_turn(self) -> bool:
        """Whether the person is to move."""
        return not self.is_over and self.game.to_play(self.state) == self.player

    @property
    def greeting(self) -> str:
        """Who the person is."""
        return f"you are {notation.SYMBOLS[self.player]}"

    @property
    def prompt(self) -> str:
        """What the person is asked for: ``your move``, with the game's question if it has one."""
        question = question_of(self.game, self.state)
        return f"your move ({question})" if question else "your move"

    @property
    def result(self) -> str:
        """How the session has ended, in words: ``stopped`` where it is not over."""
        if self.forfeit is not None:
            return f"the agent forfeits: {self.forfeit}"
        if not self.is_over:
            return "stopped"
        outcome = self.game.outcome(self.state, self.player)
        return {1: "you have won", 0: "a draw", -1: "the agent has won"}[outcome]

    # ---- actions, moves and cells ------------------------------------------------------------

    @property
    def legal_actions(self) -> list[int]:
        """The legal actions; none when the session is over."""
        return [] if self.is_over else legal_actions(self.env).tolist()

    @property
    def choices(self) -> list[int]:
        """The legal actions that fill no cell, such as the swap of Hex."""
        return [action for action in self.legal_actions if self.cell_of(action) is None]

    def text(self, action: int) -> str:
        """An action as people write it."""
        return self.game.action_text(action)

    def parse(self, text: str) -> int:
        """The legal action of a move's text; of a choice the start of its name is enough.

        Raises:
            ValueError: If it is no move, or not legal here.
        """
        word = text.strip().lower()
        try:
            return notation.parse_move(self.game, self.state, word)
        except ValueError:
            choices = [action for action in self.choices if self.text(action).startswith(word)]
            if len(choices) != 1 or not word:
                raise
            return choices[0]

    def cell_of(self, action: int) -> int | None:
        """The cell that a legal action fills, or None."""
        return cell_of(self.game, self.state, action)

    def action_at(self, cell: int) -> int | None:
        """The action that a cell stands for, legal or not: its column's in a wall of holes."""
        column_labels, _ = self.game.labels()
        if is_by_column(self.game) and column_labels:
            return self.game.parse_action(column_labels[cell % self.game.columns])
        actions = range(self.game.num_actions())
        return next((action for action in actions if self.cell_of(action) == cell), None)

    # ---- what is done ------------------------------------------------------------------------

    def play(self, action: int) -> str:
        """Play for the person.

        Returns:
            What was played, in words.

        Raises:
            IllegalActionError: If the action is not legal; nothing has changed then.
        """
        notation.check_action(self.game, self.state, action)
        if not is_legal(self.env, action):  # a wrapper may allow less than the rules
            raise notation.IllegalActionError(f"illegal action {action}: not allowed here")
        self._earlier.append(self.env.clone())
        return self._step(action, is_agent=False)

    def think(self) -> int:
        """Ask the agent for an action in this position. Nothing changes but the agent.

        Returns:
            A legal action.

        Raises:
            ForfeitError: If the agent gives up, or chooses an illegal action.
        """
        action = self.opponent.act(self.env)
        if not is_legal(self.env, action):
            raise ForfeitError(f"illegal action {action!r}")
        return int(action)

    def reply(self, action: int) -> str:
        """Play for the agent what `think` has returned; what was played, in words."""
        return self._step(action, is_agent=True)

    def hint(self, action: int) -> Hint:
        """What `think` has just returned, as a hint."""
        statistics = self.opponent.statistics
        value = f" (value {statistics.values[action]:+.2f})" if statistics else ""
        text = f"the agent would play {self.text(action)}{value}"
        return Hint(action, self.cell_of(action), text)

    def undo(self) -> bool:
        """Take back the person's last move and what followed; whether there was one."""
        if not self._earlier:
            return False
        plies = len(self.env.unwrapped.actions)
        self.env = self._earlier.pop()
        self.forfeit = None
        self._since = time.monotonic()
        if self._recorder is not None:
            self._recorder.take_back(plies - len(self.env.unwrapped.actions))
        return True

    def record(self, seed: int | None = None) -> GameRecord | None:
        """The record of the game as far as it has come; None without a recorder.

        Args:
            seed: What the environment was reset with.
        """
        if self._recorder is None:
            return None
        lost: dict[str, Any] = {}
        if self.forfeit is not None:
            lost = {"outcome": 1 - 2 * self.player, "reason": f"forfeit: {self.forfeit}"}
        return self._recorder.record_of(self.env, first=self.player, seed=seed, **lost)

    def _step(self, action: int, is_agent: bool) -> str:
        played = f"{'the agent' if is_agent else 'you'} played {self.text(action)}"
        self.env.step(action)
        now = time.monotonic()
        if self._recorder is not None:
            self._recorder.on_move(self.env, int(is_agent), action, now - self._since)
        self._since = now
        return played
