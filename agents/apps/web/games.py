"""The games of a server: each has an id, its pages, and an agent that searches on a thread."""

import asyncio
import secrets
import time
from asyncio import wrap_future
from collections.abc import Callable
from typing import Any, Final

from agents.apps.play.session import Task
from agents.apps.web.choices import NOTHING_MORE, Offer, start
from agents.apps.web.game import Messages, ServedGame
from agents.apps.web.protocol import Message, MessageError, Setup
from agents.arena.match import close
from agents.core.background import in_background
from agents.records import Search

MAX_QUEUE: Final = 256
"""Messages that wait for a page; a page that takes none for longer has to connect again."""
GONE: Final = (
    "this game is not on the server: the server was restarted, or the game was left for too long"
)


class UnknownGameError(LookupError):
    """There is no game of this id."""


class FullError(Exception):
    """The server has as many games as it may have, and pages show all of them."""


class PageQueue:
    """The messages that wait to be sent to one page."""

    def __init__(self) -> None:
        self.waiting: asyncio.Queue[Any] = asyncio.Queue(MAX_QUEUE)
        self.is_lost = False

    def send(self, messages: Messages) -> None:
        """Add messages; if there are too many, the page is lost."""
        for message in messages:
            if self.waiting.full():
                self.is_lost = True
                return
            self.waiting.put_nowait(message)


class GameRoom:
    """A game with its agent and its pages; all rooms share the threads for searches."""

    def __init__(
        self,
        game: ServedGame,
        agent: Any,
        threads: asyncio.Semaphore,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.game = game
        self.pages: set[PageQueue] = set()
        self._seen: set[PageQueue] = set()  # those that their readers can see
        self.last_used = clock()
        self._agent, self._threads, self._clock = agent, threads, clock
        self._is_closed = False
        self._running: set[asyncio.Task[None]] = set()
        game.hold_clock(is_away=True)

    def join(self) -> PageQueue:
        """Add a page; the state of the game waits for it."""
        page = PageQueue()
        self._note_seen(page, True)
        self.pages.add(page)
        page.send(self.game.greeting())
        self.last_used = self._clock()
        self._go_on()
        return page

    def leave(self, page: PageQueue) -> None:
        self.pages.discard(page)
        self._note_seen(page, False)
        self.last_used = self._clock()

    def _note_seen(self, page: PageQueue, is_seen: bool) -> None:
        """The person's clock stands still while no page of the game can be seen."""
        if is_seen:
            self._seen.add(page)
        else:
            self._seen.discard(page)
        self._send(self.game.hold_clock(is_away=not self._seen))

    def receive(self, message: Message, page: PageQueue) -> None:
        """Do what a page asks for.

        Raises:
            MessageError: If it is not possible now.
        """
        self.last_used = self._clock()
        if message.type in ("away", "back"):
            self._note_seen(page, message.type == "back")
            return
        self._send(self.game.handle(message))
        self._go_on()

    def close(self) -> None:
        """Stop the agent. A search that does not report goes on until its budget is used up."""
        self._is_closed = True
        self.game.session.abandon()
        if not self._running:
            close([self._agent])

    def _send(self, messages: Messages) -> None:
        for page in self.pages:
            page.send(messages)

    def _go_on(self) -> None:
        task = None if self._is_closed else self.game.session.next_task()
        if task is not None:
            running = asyncio.create_task(self._run(task))
            self._running.add(running)
            running.add_done_callback(self._running.discard)

    async def _run(self, task: Task) -> None:
        loop = asyncio.get_running_loop()

        def report(search: Search) -> None:  # on the thread that searches
            loop.call_soon_threadsafe(lambda: self._send(self.game.show_search(task, search)))

        def tell_compiling(begins: bool) -> None:
            loop.call_soon_threadsafe(lambda: self._send(self.game.note_compiling(task, begins)))

        try:
            async with self._threads:
                result = await wrap_future(in_background(lambda: task.run(report, tell_compiling)))
            messages = self.game.finish(task, result)
        except Exception as error:  # whatever an agent may raise, or find
            messages = self.game.finish(task, error)
        self._send(messages)
        if self._is_closed:
            close([self._agent])
        self._go_on()


class Games:
    """All games of a server, in memory.

    What is in `offer` is allowed besides what `agents.apps.web.choices` has, and
    `threads` is the number of searches that run at the same time. At most `max_games` are kept, a
    game that no page shows for `idle_seconds`.
    """

    def __init__(
        self,
        offer: Offer = NOTHING_MORE,
        max_games: int = 32,
        idle_seconds: float = 7200.0,
        threads: int = 4,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.offer = offer
        self.max_games, self.idle_seconds, self._clock = max_games, idle_seconds, clock
        self._threads = asyncio.Semaphore(threads)
        self._starting = asyncio.Lock()
        self._rooms: dict[str, GameRoom] = {}

    def __len__(self) -> int:
        return len(self._rooms)

    async def create(self, setup: Setup) -> str:
        """Begin a game; returns its id.

        Raises:
            MessageError: If there is no such game or agent, or it is not for pages.
            FullError: If there is no space for another game.
        """
        async with self._starting:  # loading a network needs time and memory
            self._expect_space()
            try:
                env, agent = await wrap_future(in_background(lambda: start(setup, self.offer)))
            except (ValueError, OSError, ImportError) as error:
                raise MessageError(str(error)) from None
            try:
                self._make_space()
            except FullError:
                close([agent])
                raise
            name = secrets.token_urlsafe(9)
            game = ServedGame(setup, env, agent, self._clock)
            self._rooms[name] = GameRoom(game, agent, self._threads, self._clock)
            return name

    def room(self, name: str) -> GameRoom:
        """The room of a game, by its id, or else `UnknownGameError`."""
        self._forget_idle()
        if name not in self._rooms:
            raise UnknownGameError(GONE)
        return self._rooms[name]

    def close(self) -> None:
        for name in list(self._rooms):
            self._forget(name)

    def _forget(self, name: str) -> None:
        self._rooms.pop(name).close()

    def _idle(self) -> list[str]:
        """The games that no page shows, the longest unused first."""
        left = [name for name, room in self._rooms.items() if not room.pages]
        return sorted(left, key=lambda name: self._rooms[name].last_used)

    def _forget_idle(self) -> None:
        now = self._clock()
        for name in self._idle():
            if now - self._rooms[name].last_used > self.idle_seconds:
                self._forget(name)

    def _expect_space(self) -> None:
        """Refuse another game if the limit is reached and pages show all games."""
        self._forget_idle()
        if len(self._rooms) >= self.max_games and not self._idle():
            raise FullError(f"there are {self.max_games} games already; leave one of them first")

    def _make_space(self) -> None:
        """Forget the game that is the longest unused, if the limit is reached."""
        self._expect_space()
        if len(self._rooms) >= self.max_games:
            self._forget(self._idle()[0])
