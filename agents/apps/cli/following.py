"""What a tournament shows while its games are played: a bar, the table, and a page."""

import time
from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.progress import Progress
from rich.table import Table

from agents.apps.cli import shared
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
        page: The page's file, which a browser loads anew while games are played; None: none.
        shows: Whether anything is shown on the terminal.
    """

    def __init__(
        self,
        run: TournamentRun,
        page: str | None,
        shows: bool,
    ) -> None:
        self._run, self._page = run, page
        self._console = Console(stderr=True, quiet=not shows)
        self._due = time.perf_counter() + SECONDS

    def play(self, games: Iterator[object]) -> None:
        """Play all games."""
        bar = Progress(console=self._console)
        task = bar.add_task("games", total=self._run.count_missing())
        has_table = self._console.is_terminal and not self._console.quiet
        is_followed = has_table or self._page is not None
        try:
            with Live(bar, console=self._console) as live:
                for _ in games:
                    bar.advance(task)
                    if is_followed and time.perf_counter() >= self._due:
                        found = self._look()
                        if has_table:
                            live.update(Group(bar, ratings_table(found)))
                live.update(bar)
        finally:
            if self._page is not None:
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


def text_rows(standings: Standings) -> list[list[str]]:
    """A header and a row for each agent, the best first.

    "los" is the likelihood that an agent is better than the next.
    """
    heads = ["agent", "Elo", "95 %", "los", "points", "won", "drawn", "lost", "illegal", "ms/move"]
    order = [standings.labels.index(agent.agent) for agent in standings.agents]
    rows: list[list[str]] = []
    for place, agent in enumerate(standings.agents):
        los = ""
        after = standings.agents[place + 1 :]
        if after and agent.games and after[0].games:
            los = f"{100 * standings.superiority[order[place]][order[place + 1]]:.0f} %"
        rows.append(
            [
                agent.agent,
                f"{agent.elo:.0f}" if agent.interval else "-",
                interval_text(agent.interval),
                los,
                f"{agent.points:g}/{agent.games}",
                str(agent.wins),
                str(agent.draws),
                str(agent.losses),
                str(agent.illegal_moves),
                f"{1000 * agent.seconds_per_move:.2f}",
            ]
        )
    return [heads, *rows]


def ratings_table(standings: Standings, names: Mapping[str, str] | None = None) -> Table:
    """These rows for the terminal, with other names of the agents if they are given."""
    heads, *rows = text_rows(standings)
    table = shared.new_table("", *heads[1:])
    for agent, *cells in rows:
        table.add_row(agent if names is None else names[agent], *cells)
    return table


def page_of(found: Standings, reload_seconds: int | None) -> str:
    """Standings as a page."""
    heads, *rows = text_rows(found)
    game = found.tournament["game"]
    about = (
        f"{' '.join([game, *found.tournament['options']])}: {found.played} of {found.wanted} games"
    )
    return html_page(about, [f"<h1>{escape(about)}</h1>", html_of("", heads, rows)], reload_seconds)
