"""What a tournament shows while its games are played: a bar, the table, and a page."""

import time
from collections.abc import Callable, Iterator
from html import escape
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.progress import Progress
from rich.table import Table

from agents.arena.running import TournamentRun
from agents.arena.standings import Standings, interval_text
from agents.core.files import write_text
from agents.core.tables import html_page
from agents.records.analysis import html_of

SECONDS: Final = 2
"""Between two looks at the standings, at least,"""
SHARE: Final = 0.05
"""and such that they take no more of the time, as many games make them slow."""


class Follower:
    """Plays the games of a run and shows how it stands: the table on a terminal, and a page.

    Args:
        run: The tournament.
        table: The table of some standings for the terminal.
        page: The page's file, which a browser loads anew while games are played; None: none.
        shows: Whether anything is shown on the terminal.
    """

    def __init__(
        self,
        run: TournamentRun,
        table: Callable[[Standings], Table],
        page: str | None,
        shows: bool,
    ) -> None:
        self._run, self._table, self._page = run, table, page
        self._console = Console(stderr=True, quiet=not shows)
        self._due = time.perf_counter() + SECONDS

    def play(self, games: Iterator[object]) -> None:
        """Play all games."""
        bar = Progress(console=self._console)
        task = bar.add_task("games", total=self._run.count_missing())
        has_table = self._console.is_terminal and not self._console.quiet
        try:
            with Live(bar.get_renderable(), console=self._console) as live:
                for _ in games:
                    bar.advance(task)
                    if time.perf_counter() >= self._due:
                        found = self._look()
                        live.update(Group(bar, self._table(found)) if has_table else bar)
                    elif not has_table:
                        live.update(bar)
                live.update(bar)
        finally:
            self._write(self._run.standings(), is_over=True)

    def _look(self) -> Standings:
        """The standings now, which the page gets, too."""
        started = time.perf_counter()
        found = self._run.standings()
        self._write(found, is_over=False)
        ended = time.perf_counter()
        self._due = ended + max(SECONDS, (ended - started) / SHARE)
        return found

    def _write(self, found: Standings, is_over: bool) -> None:
        if self._page is not None:
            write_text(self._page, page_of(found, None if is_over else SECONDS))


def text_rows(found: Standings) -> list[list[str]]:
    """A header and a row for each agent, the best first."""
    heads = ["agent", "Elo", "95 %", "points", "won", "drawn", "lost", "ms/move"]
    rows = [
        [
            agent.agent,
            f"{agent.elo:.0f}" if agent.interval else "",
            interval_text(agent.interval),
            f"{agent.points:g}/{agent.games}",
            f"{agent.wins}",
            f"{agent.draws}",
            f"{agent.losses}",
            f"{1000 * agent.seconds_per_move:.2f}",
        ]
        for agent in found.agents
    ]
    return [heads, *rows]


def page_of(found: Standings, reload_seconds: int | None) -> str:
    """Standings as a page."""
    heads, *rows = text_rows(found)
    game = found.tournament["game"]
    about = (
        f"{' '.join([game, *found.tournament['options']])}: {found.played} of {found.wanted} games"
    )
    return html_page(about, [f"<h1>{escape(about)}</h1>", html_of("", heads, rows)], reload_seconds)
