"""Players that speak: language models, people and programs that are asked in words.

How a game is put to them and how their answers are read follows public harnesses: the list of legal
moves is told only if it is asked for, and an answer is read leniently, but never by guessing
between two moves.
"""

import inspect
import json
import os
import re
import sys
import urllib.request
from collections.abc import Callable
from typing import Annotated, Any, Final, Literal, NamedTuple

from agents.core.agent import ForfeitError, SeededAgent
from agents.planning.environment import check_in_play, legal_actions
from hexenv.common.options import OneOf, Within, checks_options
from hexenv.envs.aec import BoardEnv
from hexenv.games import notation

LONGEST: Final = 100_000
"""Characters of an answer that are read, from its end."""
MARKED: Final = re.compile(r"^\W*move\W*[:=]\W*([a-z0-9]+)", re.IGNORECASE | re.MULTILINE)
"""A line such as ``move: d4``, as the prompt asks for."""
WORD: Final = re.compile(r"[a-z0-9]+", re.IGNORECASE)
MOST_BYTES: Final = 1 << 22
"""Of what an endpoint sends."""

Otherwise = Annotated[Literal["forfeit", "random"], OneOf(("forfeit", "random"))]


class Exchange(NamedTuple):
    """One question to a player, and what came back.

    Attributes:
        prompt: What was asked.
        answer: What came.
        action: The move in it; None where there was none that is legal, or more than one.
    """

    prompt: str
    answer: str
    action: int | None


class TextAgent(SeededAgent):
    r"""Plays what a function answers to a text: that of a language model, a person or a program.

    Examples:
        >>> env.reset(options={"moves": "5"})
        >>> agent = TextAgent(lambda prompt: "I take a corner.\nmove: 1")
        >>> agent.act(env)
        0
        >>> agent.exchanges[-1].action, agent.refused
        (0, 0)

    Args:
        ask: From the prompt to the answer.
        legal_moves: Whether the prompt lists the legal moves.
        attempts: How often one move is asked for; each time the last mistake is told.
        otherwise: What follows then: ``forfeit`` loses the game, ``random`` plays any legal move.
        rules: The rules in words; by default those of the game's module.
        seed: Of the random moves.

    Attributes:
        exchanges: All questions and answers since `reset`.
        refused: How many answers since then had no legal move, or more than one.
        replaced: How many moves since then were random instead.
    """

    name = "text"

    @checks_options
    def __init__(
        self,
        ask: Callable[[str], str],
        legal_moves: bool = False,
        attempts: Annotated[int, Within(1, 100)] = 3,
        otherwise: Otherwise = "forfeit",
        rules: str | None = None,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed)
        self.ask, self.legal_moves, self.attempts = ask, legal_moves, attempts
        self.otherwise, self.rules = otherwise, rules
        self._forget()

    def _forget(self) -> None:
        self.exchanges: list[Exchange] = []
        self.refused, self.replaced = 0, 0

    def reset(self, seed: int | None = None) -> None:
        super().reset(seed)
        self._forget()

    def act(self, env: Any) -> int:
        """The move that is answered.

        Raises:
            ForfeitError: If no attempt had a legal move, and `otherwise` says so.
            ValueError: If the game is over, or not by rules as those of `hexenv`.
        """
        check_in_play(env)
        if not isinstance(env.unwrapped, BoardEnv):
            raise ValueError(f"expected a game by the rules of hexenv, to put in words, got {env}")
        asked = question(env, self.rules, self.legal_moves)
        prompt = asked
        for _ in range(self.attempts):
            answer = self.ask(prompt)
            found = moves_in(env, answer)
            action = found.pop() if len(found) == 1 else None
            self.exchanges.append(Exchange(prompt, answer, action))
            if action is not None:
                return action
            self.refused += 1
            why = "more than one legal move" if found else "no legal move"
            prompt = f"{asked}\n\nYour answer had {why}. Write one line: move: <your move>"
        if self.otherwise == "forfeit":
            raise ForfeitError(f"expected a legal move in {self.attempts} answers, got none")
        self.replaced += 1
        actions = legal_actions(env)
        return int(actions[int(self._rng.random() * len(actions))])


def question(env: Any, rules: str | None = None, legal_moves: bool = False) -> str:
    """A position in words: the rules, the moves so far, the board, and what to answer."""
    raw: BoardEnv = env.unwrapped
    game, state = raw.game, raw.state
    player = int(game.to_play(state))
    parts = [
        rules or rules_in_words(game),
        f"The board is {game.rows} x {game.columns}.",
        f"Moves so far: {notation.moves_text(game, raw.actions) or 'none'}",
        notation.board_text(game, state),
        f"You are player {player}, {notation.SYMBOLS[player]}, and it is your turn.",
    ]
    if legal_moves:
        moves = " ".join(game.action_text(action) for action in legal_actions(env))
        parts.append(f"Legal moves: {moves}")
    parts.append("Think as long as you like, and end with one line: move: <your move>")
    return "\n\n".join(parts)


def rules_in_words(game: Any) -> str:
    """What the module of a game says of it, up to how it keeps positions."""
    module = sys.modules.get(type(game).__module__)
    text = inspect.cleandoc(getattr(module, "__doc__", None) or game.name)
    return text.partition("A state ")[0].rstrip()


def moves_in(env: Any, answer: str) -> set[int]:
    """The legal moves that an answer names: in its lines ``move: ...``, else anywhere."""
    answer = answer[-LONGEST:]
    words = MARKED.findall(answer) or WORD.findall(answer)
    game, state = env.unwrapped.game, env.unwrapped.state
    found: set[int] = set()
    for word in {word.lower() for word in words}:
        try:
            found.add(notation.parse_move(game, state, word))
        except ValueError:
            continue
    return found


class ChatAgent(TextAgent):
    """A language model behind an endpoint of the common chat-completions protocol.

    Examples:
        >>> agent = ChatAgent("http://127.0.0.1:8080/v1", "some-model", otherwise="random")

    Args:
        url: Of the endpoint, without ``/chat/completions``.
        model: Its name there.
        key: The environment variable that has the key, if one is needed. It is written nowhere.
        timeout: Seconds for an answer. Where none comes the game is lost.
        legal_moves: See `TextAgent`.
        attempts: See `TextAgent`.
        otherwise: See `TextAgent`.
        seed: See `TextAgent`.
    """

    name = "chat"

    @checks_options
    def __init__(
        self,
        url: str,
        model: str,
        key: str = "HEXENV_CHAT_KEY",
        timeout: Annotated[float, Within(0.1, 3600)] = 120.0,
        legal_moves: bool = False,
        attempts: Annotated[int, Within(1, 100)] = 3,
        otherwise: Otherwise = "forfeit",
        seed: int | None = None,
    ) -> None:
        super().__init__(self._complete, legal_moves, attempts, otherwise, seed=seed)
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"expected url as http:// or https://, got {url!r}")
        self.url, self.model, self.key, self.timeout = url.rstrip("/"), model, key, timeout

    def _complete(self, prompt: str) -> str:
        """What the endpoint answers."""
        body = {"model": self.model, "messages": [{"role": "user", "content": prompt}]}
        headers = {"Content-Type": "application/json"}
        if key := os.environ.get(self.key):
            headers["Authorization"] = f"Bearer {key}"
        request = urllib.request.Request(
            f"{self.url}/chat/completions", json.dumps(body).encode(), headers
        )
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                found = json.loads(response.read(MOST_BYTES))
            return str(found["choices"][0]["message"]["content"])
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ForfeitError(f"{self.url}: {type(error).__name__}: {error}") from None
