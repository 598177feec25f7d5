"""The table of a tournament on a terminal and as CSV."""

from dataclasses import asdict
from math import isinf
from typing import Any, Final

from rich import box
from rich.table import Table

from agents.arena.standings import Standings, end_or_none
from agents.cli.shared import wide_console

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def print_standings(standings: Standings) -> None:
    """Print ratings, cross table, and what is to be known about the games."""
    names = short_names(standings)
    console = wide_console()
    console.print(f"{standings.played} of {standings.wanted} games played", highlight=False)
    for label, short in names.items():
        console.print(f"{short} = {label}", highlight=False, markup=False, soft_wrap=True)
    console.print(_ratings_table(standings, names))
    if len(names) > 2:
        console.print(_cross_table(standings, names))
    for line in remarks(standings):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def short_names(standings: Standings) -> dict[str, str]:
    """A letter for each agent by its label, or a number where there are too many."""
    count = len(standings.labels)
    short = LETTERS if count <= len(LETTERS) else [str(number) for number in range(1, count + 1)]
    return dict(zip(standings.labels, short, strict=False))


def _table(*columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _ratings_table(standings: Standings, names: dict[str, str]) -> Table:
    """The agents, the best first; "los": likelihood that one is better than the next."""
    table = _table("", "Elo", "95 %", "los", "points", "won", "drawn", "lost", "illegal", "ms/move")
    order = [standings.labels.index(agent.agent) for agent in standings.agents]
    for place, agent in enumerate(standings.agents):
        los = ""
        after = standings.agents[place + 1 :]
        if after and agent.games and after[0].games:
            los = f"{100 * standings.superiority[order[place]][order[place + 1]]:.0f} %"
        table.add_row(
            names[agent.agent],
            f"{agent.elo:.0f}" if agent.interval else "-",
            interval_text(agent.interval),
            los,
            f"{agent.points:g}/{agent.games}",
            str(agent.wins),
            str(agent.draws),
            str(agent.losses),
            str(agent.illegal_moves),
            f"{1000 * agent.seconds_per_move:.2f}",
        )
    return table


def interval_text(interval: tuple[float, float] | None) -> str:
    """An interval of ratings: ``-20 to 35``, or ``over 158``, or ``-`` without a game."""
    if interval is None:
        return "-"
    low, high = interval
    if isinf(low):
        return f"under {high:.0f}"
    return f"over {low:.0f}" if isinf(high) else f"{low:.0f} to {high:.0f}"


def _cross_table(standings: Standings, names: dict[str, str]) -> Table:
    """Points of the agent at the left against the one above, out of their games."""
    order = [standings.labels.index(agent.agent) for agent in standings.agents]
    short = [names[standings.labels[number]] for number in order]
    table = _table("", *short)
    points = standings.cross_table
    for number, name in zip(order, short, strict=True):
        cells: list[str] = []
        for other in order:
            own, theirs = points[number][other], points[other][number]
            cells.append("-" if own is None or theirs is None else f"{own:g}/{own + theirs:g}")
        table.add_row(name, *cells)
    return table


def remarks(standings: Standings) -> list[str]:
    """What is to be known about the games, a line each."""
    found: list[str] = []
    if standings.sprt is not None:
        test, lower_upper = standings.tournament["sprt"], standings.sprt.bounds
        found.append(
            f"sprt of Elo {test['elo0']:g} against {test['elo1']:g}: log-likelihood ratio "
            f"{standings.sprt.llr:.2f} ({lower_upper[0]:.2f} to {lower_upper[1]:.2f}) after "
            f"{standings.sprt.pairs} pairs, "
            + (f"accepted {standings.sprt.accepted}" if standings.sprt.accepted else "open")
        )
    if standings.is_biased:
        found.append("the match was stopped by its test: score, Elo and intervals are biased")
    if standings.separated:
        found.append(
            "some agents scored no point against the others: the prior of the ratings, not the "
            "games, decides how far apart the two groups are, and so where the mean of all is"
        )
    if standings.beyond_stop:
        found.append(f"{standings.beyond_stop} games played after the decision are not counted")
    for pairing in standings.pairings:
        if pairing.repeated:
            found.append(
                f"{' - '.join(pairing.agents)}: {pairing.repeated} repeated games are counted once "
                f"({pairing.distinct} different ones; these agents leave nothing to chance)"
            )
    for agent in standings.agents:
        if agent.assumed is not None:
            found.append(
                f"{agent.agent} assumed {agent.assumed}: it knew more than a player can know"
            )
    for forfeit in standings.forfeited:
        found.append(
            f"game {forfeit['game']} of {' - '.join(forfeit['agents'])}: {forfeit['by']} forfeits: "
            f"{forfeit['reason']}"
        )
    for failure in standings.failed:
        found.append(
            f"game {failure['game']} of {' - '.join(failure['agents'])} failed and is not counted: "
            f"{failure['reason']}"
        )
    return found


def table_rows(standings: Standings) -> list[dict[str, Any]]:
    """A row for each agent, the best first, as for `agents.core.files.write_csv`."""
    rows: list[dict[str, Any]] = []
    for agent in standings.agents:
        row = asdict(agent)
        row["low"], row["high"] = map(end_or_none, row.pop("interval") or (None, None))
        row["biased"] = standings.is_biased
        rows.append(row)
    return rows
