"""A person against an agent, in a terminal, with moves as text."""

from typing import Any

import click

from agents.agent import Agent, ForfeitError
from agents.arena import is_legal
from agents.search.foreign import is_over
from hexenv.games import notation

HELP = """\
Type a move ({example}), or
  undo   take back your last move and the answer to it
  hint   ask the agent what it would play for you
  moves  show the moves so far
  quit   stop
"""


class HumanPlayer:
    """A game between a person and an agent.

    Args:
        env: An environment of `hexenv` after `reset`, with ``render_mode="ansi"``.
        opponent: The agent.
        player: The person's side, 0 or 1.
    """

    def __init__(self, env: Any, opponent: Agent, player: int) -> None:
        self.env = env
        self.opponent = opponent
        self.player = player
        self._earlier: list[Any] = []  # the environment before each move of the person

    def run(self) -> None:
        """Play until the game is over or the person stops."""
        click.echo(f"you are {notation.SYMBOLS[self.player]}; type help for help")
        try:
            while not is_over(self.env):
                if self._to_play() == self.player:
                    click.echo(f"\n{self.env.render()}")
                    self._take_turn()
                else:
                    self._play(self.opponent.act(self.env), "the agent")
        except (click.Abort, EOFError, KeyboardInterrupt):
            click.echo("\nstopped")
        except ForfeitError as forfeit:
            click.echo(f"the agent forfeits: {forfeit.reason}")
        else:
            click.echo(f"\n{self.env.render()}")
            self._say_result()
        click.echo(f"moves: {self.env.unwrapped.moves}")

    def _to_play(self) -> int:
        raw = self.env.unwrapped
        return raw.game.to_play(raw.state)

    def _play(self, action: int, who: str) -> None:
        if not is_legal(self.env, action):
            raise click.ClickException(f"{who} chose an illegal action: {action!r}")
        click.echo(f"{who} played {self.env.unwrapped.game.action_text(action)}")
        self.env.step(action)

    def _take_turn(self) -> None:
        """Ask until there is a move, or until a command has changed the turn."""
        raw = self.env.unwrapped
        question = raw.game.question(raw.state) if hasattr(raw.game, "question") else ""
        prompt = f"your move ({question})" if question else "your move"
        while True:
            word = click.prompt(prompt, prompt_suffix=": ").strip().lower()
            if word in ("quit", "exit", "q"):
                raise click.Abort
            if word == "undo":
                if self._undo():
                    return
            elif word == "hint":
                self._hint()
            elif word == "moves":
                click.echo(raw.moves or "none yet")
            elif word in ("help", "?"):
                click.echo(HELP.format(example=raw.game.action_text(raw.game.num_actions() // 2)))
            else:
                try:
                    action = notation.parse_move(raw.game, raw.state, word)
                except ValueError as error:
                    click.echo(f"{error}; type help for help")
                    continue
                self._earlier.append(self.env.clone())
                self._play(action, "you")
                return

    def _undo(self) -> bool:
        if not self._earlier:
            click.echo("nothing to take back")
            return False
        self.env = self._earlier.pop()
        return True

    def _hint(self) -> None:
        action = self.opponent.act(self.env)
        text = self.env.unwrapped.game.action_text(action)
        statistics = self.opponent.statistics
        value = f" (value {statistics.values[action]:+.2f})" if statistics else ""
        click.echo(f"the agent would play {text}{value}")

    def _say_result(self) -> None:
        raw = self.env.unwrapped
        outcome = raw.game.outcome(raw.state, self.player)
        click.echo({1: "you have won", 0: "a draw", -1: "the agent has won"}[outcome])
