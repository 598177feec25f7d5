"""The analysis board: what a page asks about positions, and the agents that answer it.

A page keeps its game with all variations itself; each question has the whole way from the start.
"""

import base64
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import RLock
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, to_builtins

from agents.apps.play.titles import title_of
from agents.apps.protocols.conversation import error_text
from agents.apps.protocols.pasted import read_pasted
from agents.apps.web import page
from agents.apps.web.choices import NOTHING_MORE, Offer
from agents.apps.web.page import Values
from agents.apps.web.protocol import MessageError, Whole
from agents.core.background import Slots, in_background
from agents.core.knowledge import knowledge_of
from agents.planning.environment import is_over
from agents.planning.view import planner_view
from agents.records.asking import Question, RunningAnalysis
from agents.records.explaining import explain
from agents.records.explorer import Explorer
from agents.records.files import as_text
from agents.records.films import film_of, write_gif
from agents.records.record import StartPosition
from agents.records.sgf import NUMBERS, write_variations
from agents.records.variations import Variation, Variations
from hexenv.compiled import on_compiling
from hexenv.games import base

MOST_MOVES: Final = 400
EXPLAINED: Final = 200
"""Simulations of a search that is explained."""
EVERY: Final = 0.2
"""Seconds between two answers of an agent."""
Texts = Annotated[tuple[str, ...], Meta(max_length=16)]


class Start(Struct, frozen=True, forbid_unknown_fields=True):
    """A position to begin from, as `StartPosition`."""

    board: str
    to_play: Literal[0, 1]


class Kept(Struct, frozen=True, forbid_unknown_fields=True):
    """A game with its variations, to be saved: as `Variations`, or its main line as a film."""

    moves: tuple[Variation, ...]
    comment: str = ""
    rest: str = ""
    film: bool = False


class Look(Struct, frozen=True, forbid_unknown_fields=True):
    """A question about a position.

    Attributes:
        number: Of the question; answers have the same.
        game: A game of `hexenv`.
        options: ``key=value`` texts for it.
        moves: The actions from the start.
        since: The first ply whose frame the page does not know.
        start: Where the game begins, if not at its start.
        agents: Who is asked, if anybody.
        lines: The most moves of an answer with a line.
        text: What somebody has pasted, to be read as a game (`read_pasted`). Then nothing else is
            asked.
        save: What is to be written as a file. Then nothing else is asked.
    """

    number: Whole
    game: str
    options: Texts
    moves: Annotated[tuple[Whole, ...], Meta(max_length=MOST_MOVES)] = ()
    since: Whole = 0
    start: Start | None = None
    agents: Annotated[tuple[str, ...], Meta(max_length=2)] = ()
    lines: Annotated[int, Meta(ge=1, le=5)] = 3
    text: str | None = None
    save: Kept | None = None


class Desk:
    """Answers one page.

    Args:
        send: Called with each answer, from any thread.
        offer: The agents and games that are allowed besides those of `agents.apps.web.choices`.
        slots: What the searches of all pages share.
        explorer: What was played before.
    """

    def __init__(
        self,
        send: Callable[[Values], None],
        offer: Offer = NOTHING_MORE,
        slots: Slots | None = None,
        explorer: Explorer | None = None,
    ) -> None:
        self._send, self._offer, self._slots = send, offer, slots
        self._explorer = explorer or Explorer([])
        self._lock = RLock()
        self._running: list[RunningAnalysis] = []
        self._agents: dict[int, tuple[str, Any]] = {}  # by their place, with their texts
        self._is_closed = False

    def close(self) -> None:
        """End the searches: the page has gone."""
        with self._lock:
            self._is_closed = True
            self._stop()

    def _stop(self) -> None:
        for one in self._running:
            one.stop()
        self._running = []

    def answer(self, asked: Look) -> None:
        """Answer a question, and let the agents of it search until the next one."""
        try:
            with self._lock:
                if asked.text is not None:
                    # A game that is not offered would be imported.
                    self._offer.environment(asked.game, asked.options)
                    tree = read_pasted(asked.text, asked.game, asked.options)
                    self._send({"type": "tree", "number": asked.number, **_tree_view(tree)})
                elif asked.save is not None:
                    file = _file_of(asked, asked.save)
                    self._send({"type": "file", "number": asked.number, **file})
                elif not self._is_closed:
                    self._look(asked)
        except (ValueError, OSError, ImportError) as error:
            self._send({"type": "error", "number": asked.number, "error": str(error)})

    def _look(self, asked: Look) -> None:
        self._stop()
        env = self._offer.environment(asked.game, asked.options)
        _begin(env, asked.start)
        raw, frames, move = env.unwrapped, list[Values](), None
        game = raw.game
        for ply in range(len(asked.moves) + 1):
            if ply >= asked.since:
                frames.append(page.frame_view(game, raw.state, move))
            if ply < len(asked.moves):
                move = page.move_view(game, raw.state, _play(env, asked.moves[ply], ply), None)
                env.step(asked.moves[ply])
        over = is_over(env)
        legal = [] if over else base.legal_actions(game, raw.state)
        self._send(
            {
                "type": "position",
                "number": asked.number,
                "about": _about(asked, game) if asked.since == 0 else None,
                "frames": frames,
                "choices": page.choices_view(game, raw.state, legal),
                "played": [
                    {**vars(move), "text": game.action_text(move.action)}
                    for move in self._explorer.moves(game, raw.state)
                ],
            }
        )
        if asked.agents and not over:
            in_background(partial(self._show_win, env.clone(), asked.number))
        for place, text in enumerate(() if over else asked.agents):
            agent, copy = self._agent(place, text), env.clone()
            running = RunningAnalysis(Question(copy, agent, asked.lines), None, EVERY, self._slots)
            self._running.append(running)
            in_background(partial(self._follow, running, agent, env, asked, place))

    def _show_win(self, env: Any, number: int) -> None:
        """Tell of a win that is seen without a search."""
        game = env.unwrapped.game
        win = knowledge_of(game).sure_win(planner_view(env, "auto"))
        if win is not None:
            line = [game.action_text(action) for action in win.line]
            self._send({"type": "win", "number": number, **vars(win), "line": line})

    def _agent(self, place: int, text: str) -> Any:
        """The agent of a place, the same as before if it has the same text."""
        known, agent = self._agents.get(place, ("", None))
        if known != text:
            agent = self._offer.agent(text)
            self._agents[place] = text, agent
        return agent

    def _follow(
        self, running: RunningAnalysis, agent: Any, env: Any, asked: Look, place: int
    ) -> None:
        """Begin a search, and send what it finds as long as it goes on."""
        raw, head = env.unwrapped, {"number": asked.number, "place": place}
        on_compiling.set(lambda begins: self._send({"type": "compiling", **head, "begins": begins}))
        try:
            if hasattr(agent, "prepare"):
                agent.prepare(env)
            running.start()
            for found in running:
                search = found.search
                view = None if search is None else page.search_view(raw.game, raw.state, search)
                lines = [
                    {
                        "move": line.move,
                        "value": line.value,
                        "isExact": line.is_exact,
                        "visits": line.visits,
                        "prior": line.prior,
                        "pliesLeft": line.plies_left,
                        "line": line.line,
                    }
                    for line in found.lines
                ]
                self._send({"type": "search", **head, "search": view, "lines": lines})
            self._send({"type": "done", **head})
        except Exception as error:  # whatever an agent raises
            self._send({"type": "error", "number": asked.number, "error": error_text(error)})


def _about(asked: Look, game: Any) -> Values:
    """What a page needs to know of a game once."""
    return {
        "title": title_of(asked.game, asked.options, game),
        "board": page.board_data(game),
        "columns": game.columns,
        "canSetUp": asked.game != "connect4",  # its stones need an order
    }


def explained(look: Look, offer: Offer = NOTHING_MORE) -> str:
    """The page that explains the search of the first agent of a question, step by step.

    Raises:
        ValueError: If the position is none, or the agent searches no tree.
    """
    env = offer.environment(look.game, look.options)
    _begin(env, look.start)
    for ply, action in enumerate(look.moves):
        env.step(_play(env, action, ply))
    text = look.agents[0] if look.agents else "uct"
    return page.explain_page(explain(env, offer.agent(text), EXPLAINED, text))


def _play(env: Any, action: int, ply: int) -> int:
    """An action that is legal, or a `MessageError`."""
    if is_over(env) or not env.unwrapped.is_legal(action):
        raise MessageError(f"expected a legal move at ply {ply + 1}, got {action}")
    return action


def _begin(env: Any, start: Start | None) -> None:
    """Reset an environment, to a start position if there is one."""
    env.reset()
    if start is not None:
        state = StartPosition(start.board, start.to_play).state(env.unwrapped.game)
        env.unwrapped.begin_at(state, [])


def _tree_view(tree: Variations) -> Values:
    """A game with its variations as the page has it."""
    start = tree.start and {"board": tree.start.board, "to_play": tree.start.to_play}
    about = {"game": tree.game, "options": tree.options, "start": start, "moves": tree.moves}
    texts = {"comment": tree.comment, "rest": tree.rest, "leftOut": tree.left_out}
    return to_builtins({**about, **texts})


def _file_of(asked: Look, kept: Kept) -> Values:
    """A game with its variations as a file: SGF, the record of its main line, or a film of it."""
    start = asked.start and StartPosition(asked.start.board, asked.start.to_play)
    texts = kept.comment, kept.rest
    tree = Variations(asked.game, asked.options, kept.moves, start, *texts)
    if kept.film:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"{asked.game}.gif"
            write_gif(path, film_of(tree.main_line()))
            return {"name": path.name, "base64": base64.b64encode(path.read_bytes()).decode()}
    if asked.game in NUMBERS:
        return {"name": f"{asked.game}.sgf", "text": write_variations(tree)}
    return {"name": f"{asked.game}.json", "text": as_text(tree.main_line())}
