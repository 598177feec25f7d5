"""The games of a server: each has an id, its pages, and an agent that thinks on a thread."""

import asyncio
import secrets
import time
from asyncio import wrap_future
from collections.abc import Callable, Sequence
from typing import Any, Final

from agents.arena.match import close
from agents.core.background import in_background
from agents.records import Search
from agents.web.choices import start
from agents.web.game import Messages, ServedGame, Task
from agents.web.protocol import Message, MessageError, Setup

MOST_WAITING: Final = 256
"""Messages that wait for a page that does not take them; then it has to come again."""
GONE: Final = "this game is not on the server: it was started anew, or the game was left for long"


class UnknownGameError(LookupError):
    """There is no game of this id."""


class FullError(Exception):
    """There are as many games as may be, all of them looked at."""


class Page:
    """The messages that wait for one page."""

    def __init__(self) -> None:
        self.waiting: asyncio.Queue[Any] = asyncio.Queue(MOST_WAITING)
        self.is_lost = False

    def send(self, messages: Messages) -> None:
        """Put messages in the queue; a page that takes none is lost."""
        for message in messages:
            if self.waiting.full():
                self.is_lost = True
                return
            self.waiting.put_nowait(message)


class Table:
    """A game, with the pages that show it.

    Args:
        game: The game.
        agent: Its agent.
        threads: How many searches may run at the same time, over all tables.
        clock: Seconds.
    """

    def __init__(
        self,
        game: ServedGame,
        agent: Any,
        threads: asyncio.Semaphore,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.game = game
        self.pages: set[Page] = set()
        self._agent = agent
        self._threads = threads
        self._clock = clock
        self._is_closed = False
        self._running: set[asyncio.Task[None]] = set()
        self.last_used = clock()

    def join(self) -> Page:
        """A new page, which gets all there is to see."""
        page = Page()
        self.pages.add(page)
        page.send(self.game.greeting())
        self.last_used = self._clock()
        self._go_on()
        return page

    def leave(self, page: Page) -> None:
        """Forget a page."""
        self.pages.discard(page)
        self.last_used = self._clock()

    def receive(self, message: Message) -> None:
        """Do what a page asks for.

        Raises:
            MessageError: If it cannot be done now.
        """
        self.last_used = self._clock()
        self._tell(self.game.handle(message))
        self._go_on()

    def close(self) -> None:
        """End what runs. A search that cannot be watched ends with its budget."""
        self._is_closed = True
        self.game.close()
        if not self._running:
            close([self._agent])

    def _tell(self, messages: Messages) -> None:
        for page in self.pages:
            page.send(messages)

    def _go_on(self) -> None:
        """Let the agent do what there is to do."""
        task = None if self._is_closed else self.game.next_task()
        if task is not None:
            running = asyncio.create_task(self._run(task))
            self._running.add(running)
            running.add_done_callback(self._running.discard)

    async def _run(self, task: Task) -> None:
        loop = asyncio.get_running_loop()

        def report(search: Search) -> None:  # on the thread that searches
            loop.call_soon_threadsafe(lambda: self._tell(self.game.thought(task, search)))

        try:
            async with self._threads:
                answer = await wrap_future(in_background(lambda: task.run(report)))
            self._tell(self.game.finished(task, answer))
        except Exception as error:  # whatever an agent may raise
            self._tell(self.game.failed(task, error))
        if self._is_closed:
            close([self._agent])
        self._go_on()


class Games:
    """All games of a server, in memory.

    Args:
        extra: Agents, as texts, that are allowed besides those of `agents.web.choices`.
        most: How many games are kept at the same time.
        idle_seconds: How long a game is kept that no page shows.
        threads: How many searches run at the same time.
        clock: Seconds.
    """

    def __init__(
        self,
        extra: Sequence[str] = (),
        most: int = 32,
        idle_seconds: float = 7200.0,
        threads: int = 4,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.extra = tuple(extra)
        self.most = most
        self.idle_seconds = idle_seconds
        self._threads = asyncio.Semaphore(threads)
        self._starting = asyncio.Lock()
        self._clock = clock
        self._tables: dict[str, Table] = {}

    def __len__(self) -> int:
        return len(self._tables)

    async def create(self, setup: Setup) -> str:
        """A new game; returns its id.

        Raises:
            MessageError: If there is no such game or agent, or it is not for pages.
            FullError: If there are too many games.
        """
        async with self._starting:  # a network takes its time, and memory, to load
            self._expect_room()
            try:
                env, agent = await wrap_future(in_background(lambda: start(setup, self.extra)))
            except (ValueError, OSError, ImportError) as error:
                raise MessageError(str(error)) from None
            try:
                self._make_room()
            except FullError:
                close([agent])
                raise
            name = secrets.token_urlsafe(9)
            game = ServedGame(setup, env, agent, self._clock)
            self._tables[name] = Table(game, agent, self._threads, self._clock)
            return name

    def table(self, name: str) -> Table:
        """A game by its id.

        Raises:
            UnknownGameError: If there is none.
        """
        self._forget_idle()
        if name not in self._tables:
            raise UnknownGameError(GONE)
        return self._tables[name]

    def close(self) -> None:
        """End all games."""
        for name in list(self._tables):
            self._forget(name)

    def _forget(self, name: str) -> None:
        self._tables.pop(name).close()

    def _idle(self) -> list[str]:
        """The games that no page shows, those left first before the others."""
        left = [name for name, table in self._tables.items() if not table.pages]
        return sorted(left, key=lambda name: self._tables[name].last_used)

    def _forget_idle(self) -> None:
        now = self._clock()
        for name in self._idle():
            if now - self._tables[name].last_used > self.idle_seconds:
                self._forget(name)

    def _expect_room(self) -> None:
        """Refuse a game that would be one too many, where none can be forgotten for it."""
        self._forget_idle()
        if len(self._tables) >= self.most and not self._idle():
            raise FullError(f"there are {self.most} games already; leave one of them first")

    def _make_room(self) -> None:
        """Forget the game that was left first, where there is one too many."""
        self._expect_room()
        if len(self._tables) >= self.most:
            self._forget(self._idle()[0])
