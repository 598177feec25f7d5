"""The tables of these pages, made from the results that are kept beside them.

    python tests/benchmarks/published.py                 # writes the tables anew
    python tests/benchmarks/published.py --keep FILE --command "hexenv ..." [--commit SHA]

A page names the table and its results above it: ``<!-- table gauntlet hex7 hex7-20ms -->``. Results
are in `results/`, compressed, and `results/index.json` says which command made them, of which
commit, and when.
"""

import argparse
import datetime
import functools
import json
import lzma
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena import AgentStanding, Standings, Tournament
from agents.arena.intervals import distinct_share, score_interval
from agents.arena.results import read_results
from agents.arena.standings import interval_text, standings
from agents.core.tables import markdown_table

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
INDEX = RESULTS / "index.json"
MARK = re.compile(r"^<!-- table (\w+) ([\w. -]+?) -->$")

Row = list[str]


# ---- results -------------------------------------------------------------------------------------


def keep(file: Path, command: str, commit: str) -> None:
    """Compress results into their place, and write down what made them."""
    data = file.read_bytes()
    (RESULTS / f"{file.name}.xz").write_bytes(lzma.compress(data, preset=9))
    index = json.loads(INDEX.read_text()) if INDEX.exists() else {}
    date = datetime.date.fromtimestamp(file.stat().st_mtime).isoformat()
    index[file.name] = {"command": command, "commit": commit, "date": date}
    INDEX.write_text(json.dumps(dict(sorted(index.items())), indent=1) + "\n")


def text_of(name: str) -> str:
    """The results of a name, as they were written."""
    (path,) = RESULTS.glob(f"{name}.json*.xz")
    return lzma.decompress(path.read_bytes()).decode()


@functools.cache
def standings_of(name: str) -> Standings:
    """The table of a tournament."""
    text = text_of(name)
    tournament = Tournament.from_description(json.loads(text.partition("\n")[0])["tournament"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.jsonl"
        path.write_text(text)
        results = read_results(path, tournament)
    return standings(tournament, {result.game.number: result for result in results})


def without_budget(label: str) -> str:
    """An agent's text without its simulations and seconds."""
    budget = r"(?<=[:,])(simulations|seconds)=[^,]*(,|$)"
    return re.sub(budget, "", label).rstrip(":,")


# ---- tables --------------------------------------------------------------------------------------


def gauntlet(name: str, timed: str | None = None) -> list[Row]:
    """What agents scored against the first one, at equal simulations and, if given, equal time."""
    rows = gauntlet_rows(standings_of(name))
    of_time = gauntlet_rows(standings_of(timed)) if timed else {}
    header = ["agent", "score at 1,000 simulations", "games (distinct)"]
    header += ["score at 20 ms", "games (distinct)"] if timed else []
    found = [header]
    for agent, cells in rows.items():
        found.append([f"`{agent}`", *cells, *(of_time.get(agent, ("", "")) if timed else ())])
    return found


def gauntlet_rows(table: Standings) -> dict[str, tuple[str, str]]:
    """By agent, the best first: its score against the first one, and the games."""
    found: dict[str, tuple[str, str]] = {}
    for pairing in sorted(table.pairings, key=lambda pairing: pairing.score or 0.0):
        label = pairing.agents[1]
        if pairing.score is None:
            continue
        score = 1 - pairing.score
        low, high = (1 - end for end in reversed(pairing.interval))
        games = f"{pairing.games} ({pairing.distinct})"
        found[without_budget(label)] = f"{score:.3f} ({low:.3f}-{high:.3f})", games
    return found


def points(name: str) -> list[Row]:
    """What the first agent scored against each other one, in points and per cent."""
    table = standings_of(name)
    found = [["agent", "against", "points", "share (95 %)"]]
    for pairing in table.pairings:
        low, high = pairing.interval
        share = f"{100 * (pairing.score or 0.0):.0f} % ({100 * low:.0f}-{100 * high:.0f})"
        scored = (pairing.score or 0.0) * pairing.games
        first, second = pairing.agents
        found.append([f"`{first}`", f"`{second}`", f"{scored:g} of {pairing.games}", share])
    return found


def ratings(*names: str) -> list[Row]:
    """The ratings of tournaments, one below the other."""
    found = [["agent", "Elo (95 %)", "points"]]
    for name in names:
        for agent in standings_of(name).agents:
            found.append([f"`{agent.agent}`", *rating_cells(agent)])
    return found


def duels(*names: str) -> list[Row]:
    """Tournaments of two agents: what the first scored, and its rating; the mean of both is 0."""
    found = [["first agent", "second agent", "points of the first", "Elo above the mean (95 %)"]]
    for name in names:
        table = standings_of(name)
        first, second = table.labels
        (agent,) = (agent for agent in table.agents if agent.agent == first)
        elo, scored = rating_cells(agent)
        found.append([f"`{first}`", f"`{second}`", scored, elo])
    return found


def rating_cells(agent: AgentStanding) -> Row:
    """The rating and the points of an agent."""
    elo = f"{agent.elo:.0f} ({interval_text(agent.interval)})"
    return [elo, f"{agent.points:g} of {agent.games}"]


def accuracy(name: str) -> list[Row]:
    """How often agents keep the value in solved positions, by simulations; the best first."""
    lines: dict[str, dict[int, dict[str, Any]]] = {}
    for row in json.loads(text_of(name)):
        lines.setdefault(without_budget(row["agent"]), {})[row["simulations"] or 0] = row
    counts = sorted({count for line in lines.values() for count in line})
    best = sorted(lines.items(), key=lambda line: -line[1][counts[-1]]["kept"])
    found = [["agent", *(f"{count:,}" for count in counts)]]
    for agent, line in best:
        found.append([f"`{agent}`", *(accuracy_cell(line[count]) for count in counts)])
    return found


def accuracy_cell(row: dict[str, Any]) -> str:
    """A share in per cent with its interval, from the positions."""
    shares = np.array(row["kept_by_position"]) / row["seeds"]
    low, high = score_interval(shares)
    return f"{100 * shares.mean():.1f} ({100 * low:.1f}-{100 * high:.1f})"


def openspiel(*names: str) -> list[Row]:
    """The matches of `openspiel_match.py`."""
    return match_rows(json.loads(line) for name in names for line in text_of(name).splitlines())


def match_rows(games: Iterable[dict[str, Any]]) -> list[Row]:
    """A row for each board and each form of the peer, from the games of `openspiel_match.py`."""
    boards = {"hex": "Hex 11 x 11", "gomoku": "Gomoku 15 x 15", "connect4": "Connect4"}
    times = ["ms a move, ours and theirs", "of a processor"]
    matches: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    for game in games:
        matches.setdefault((game["game"], game["solve"]), []).append(game)
    order = sorted(matches, key=lambda match: (list(boards).index(match[0]), match[1]))
    found = [["", "the peer's solver", "games (distinct)", "score of `UCT`", *times]]
    for name, solve in order:
        played = matches[name, solve]
        pairs: dict[int, list[float]] = {}
        for game in played:
            pairs.setdefault(game["pair"], []).append((game["outcome"] + 1) / 2)
        points = [sum(pair) for pair in pairs.values()]
        share = distinct_share((game["our_side"], game["moves"]) for game in played)
        low, high = score_interval(points, [len(pair) for pair in pairs.values()], share)
        used = [
            1000 * np.mean([[each or 0.0 for each in game[key]] for game in played], axis=0)
            for key in ("seconds", "processor_seconds")
        ]
        cells = [
            boards[name],
            "on" if solve else "off",
            f"{len(played)} ({share * len(played):.0f})",
        ]
        cells.append(f"{sum(points) / len(played):.3f} ({low:.3f}-{high:.3f})")
        found.append([*cells, *(f"{ours:.0f}, {theirs:.0f}" for ours, theirs in used)])
    return found


def mohex(*names: str) -> list[Row]:
    """The matches of `mohex_match.py`."""
    times = "processor time a move, the agent's and MoHex's"
    found = [["board", "agent", "points", "share (95 %)", times, "simulations a move"]]
    for name in names:
        about, *games = map(json.loads, text_of(name).splitlines())
        points = [sum(game["won"] for game in games[i : i + 2]) for i in range(0, len(games), 2)]
        share = distinct_share((game["first"], *game["actions"]) for game in games)
        low, high = score_interval(np.array(points, float), 2.0, share)
        moves, spent = (
            np.sum([game[key] for game in games], axis=0) for key in ("moves", "seconds")
        )
        simulations = sum(game["simulations"] for game in games) / moves[0]
        found.append([
            f"{about['size']} x {about['size']}", f"`{about['agent']}`",
            f"{sum(points)} of {len(games)}",
            f"{50 * np.mean(points):.0f} % ({100 * low:.0f}-{100 * high:.0f})",
            f"{spent[0] / moves[0]:.2f} s, {spent[1] / moves[1]:.2f} s", f"{simulations:.0f}",
        ])  # fmt: skip
    return found


TABLES: dict[str, Callable[..., list[Row]]] = {
    table.__name__: table
    for table in (gauntlet, points, ratings, duels, accuracy, openspiel, mohex)
}


# ---- pages ---------------------------------------------------------------------------------------


def made_anew(text: str) -> str:
    """A page with every table that has a mark made from its results."""
    found: list[str] = []
    is_old = False
    for line in text.splitlines():
        if is_old and (line.startswith("|") or not line):
            continue
        is_old = False
        found.append(line)
        if mark := MARK.match(line):
            header, *rows = TABLES[mark[1]](*mark[2].split())
            found += ["", *markdown_table(header, rows).splitlines(), ""]
            is_old = True
    return "\n".join(found).rstrip("\n") + "\n"


def pages() -> list[Path]:
    """The pages with tables that are made from results."""
    return [page for page in sorted(HERE.glob("*.md")) if "<!-- table " in page.read_text()]


def main() -> None:
    """Keep results, or write the tables anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, metavar="FILE")
    parser.add_argument("--command")
    parser.add_argument("--commit")
    arguments = parser.parse_args()
    if arguments.keep is not None:
        of_now = ("git", "rev-parse", "--short", "HEAD")
        commit = arguments.commit or subprocess.check_output(of_now, cwd=HERE, text=True).strip()
        keep(arguments.keep, arguments.command or "", commit)
        return
    for page in pages():
        page.write_text(made_anew(page.read_text()))


if __name__ == "__main__":
    main()
