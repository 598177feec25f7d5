"""The Tournament of Progressive Policies, which shows whether the networks of a run get better.

Every saved network of a run plays every other, by its policy alone and, on demand, with a search.
It is an `agents.arena.Tournament` of agents that the command line knows too (``network:net=...``).
This module chooses the participants, and makes the table of their ratings over the iterations.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, cast

from agents.arena import Entrant, Standings, Tournament
from agents.arena.results import PlayedGame, Result
from agents.arena.specification import digest
from agents.arena.standings import end_or_none
from agents.core.files import write_bytes
from agents.core.reading import MOST_BYTES, as_object, parse_json, read_object
from agents.learning.configuration import Configuration, GuidedSearchOptions, make

Plays = Literal["policy", "search"]

LEAST_PLIES: Final = 2
"""Of an opening: without openings, deterministic policies would repeat one game."""


@dataclass(frozen=True)
class Participant:
    """A network in the tournament."""

    iteration: int
    plays: Plays
    label: str
    """Its name in the file of results, with the beginning of a hash of its file: a run that went
    back some iterations may have written another network of the same name."""
    agent: str
    """Its text for the command line."""


@dataclass(frozen=True)
class Topp:
    """A Tournament of Progressive Policies."""

    tournament: Tournament
    participants: tuple[Participant, ...]
    """In the order of the tournament: policies by iteration, then searches."""


@dataclass(frozen=True)
class Rating:
    """A network in the table; see `agents.arena.AgentStanding`.

    Attributes:
        elo: Its rating; that of the first policy is 0.
        low: Lower end of its 95 % interval, which is that of the rating beside the mean of all, as
            in every tournament here; -inf if it lost all its games, None without a game.
        high: Upper end; inf if it won all its games.
        better: Likelihood that it is better than the network before it that plays the same way;
            None for the first, and without a game.
    """

    iteration: int
    plays: Plays
    elo: float
    low: float | None
    high: float | None
    better: float | None
    points: float
    games: int
    wins: int
    draws: int
    losses: int
    seconds_per_move: float

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of its rating; None without a game."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def as_json(self) -> dict[str, Any]:
        """As a dictionary for JSON, where an open end of the interval is None."""
        return asdict(self) | {"low": end_or_none(self.low), "high": end_or_none(self.high)}


# ---- participants --------------------------------------------------------------------------------


def new_topp(
    directory: str | os.PathLike[str],
    most: int = 8,
    pairs: int = 20,
    simulations: int = 0,
    search: str | None = None,
    opening_plies: int | None = None,
    temperature: float = 0.0,
    seed: int = 0,
) -> Topp:
    """The tournament of a run's networks.

    Args:
        directory: Of the run.
        most: How many networks, evenly spread over the run, with the first and the last.
        pairs: Pairs of games in each pairing.
        simulations: Of the search for a move; 0 for policies alone.
        search: ``"gumbel"`` or ``"alphazero"``; None for the run's own. Its parameters are the
            run's, without noise.
        opening_plies: Length of the random openings; None for the run's own, at least 2.
        temperature: Of the policies; 0: each plays its most likely action.
        seed: Of all chance.

    Raises:
        ValueError: If there is no run with two networks, or a value is wrong.
        OSError: If a file cannot be read.
    """
    paths = evenly_spread(saved_networks(directory), most)
    configuration = make(read_object(Path(directory) / "config.json"))
    if opening_plies is None:
        opening_plies = max(LEAST_PLIES, configuration.self_play.opening_plies)
    if opening_plies < LEAST_PLIES and temperature == 0.0:
        raise ValueError(
            f"expected opening_plies from {LEAST_PLIES} at temperature 0, where policies play "
            f"every game from one opening alike, got {opening_plies}"
        )
    # Networks and games of the user's own are imported, as training itself does.
    is_own = configuration.network.is_own or ":" in configuration.game
    participants = [
        participant(path, "policy", policy_agent(path, temperature, is_own)) for path in paths
    ]
    if simulations:
        kind = search or ("gumbel" if configuration.search.method == "gumbel" else "alphazero")
        participants += [
            participant(
                path, "search", search_agent(path, kind, simulations, configuration.search, is_own)
            )
            for path in paths
        ]
    tournament = Tournament(
        configuration.game,
        [Entrant(each.label, each.agent) for each in participants],
        pairs=pairs,
        opening_plies=opening_plies,
        seed=seed,
        options=options_of(configuration),
    )
    return Topp(tournament, tuple(participants))


def saved_networks(directory: str | os.PathLike[str]) -> list[Path]:
    """The networks of a run by iteration, two at least, as absolute paths."""
    run = Path(directory).resolve()
    if not (run / "config.json").is_file():
        raise ValueError(f"expected the directory of a run of hexenv train, got {directory}")
    if "," in str(run):  # it separates the parameters of an agent
        raise ValueError(f"expected the directory of a run without a comma, got {run}")
    found = (path for path in run.glob("networks/*.safetensors") if path.stem.isdecimal())
    paths = sorted(found, key=lambda path: int(path.stem))
    if len(paths) < 2:
        raise ValueError(f"expected two saved networks in {run / 'networks'}, got {len(paths)}")
    return paths


def evenly_spread(paths: Sequence[Path], most: int) -> list[Path]:
    """At most this many of a list, with the first and the last."""
    if most < 2:
        raise ValueError(f"expected two networks at least, got most={most}")
    count = min(most, len(paths))
    return [paths[round(number * (len(paths) - 1) / (count - 1))] for number in range(count)]


def participant(path: Path, plays: Plays, agent: str) -> Participant:
    """The participant of a network's file."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    iteration = int(path.stem)
    return Participant(iteration, plays, f"{plays} {iteration} ({digest})", agent)


def policy_agent(path: Path, temperature: float, is_own: bool = False) -> str:
    """The agent that plays a network's policy."""
    name = "own-network:file" if is_own else "network:net"
    return f"{name}={path}" + (f",temperature={temperature}" if temperature else "")


def search_agent(
    path: Path, kind: str, simulations: int, options: GuidedSearchOptions, is_own: bool = False
) -> str:
    """The agent that searches with a network, with the parameters of a run."""
    if kind == "gumbel":
        return (
            f"gumbel:policy={policy_agent(path, 0, is_own)},simulations={simulations},"
            f"considered={options.considered},c_visit={options.c_visit},c_scale={options.c_scale}"
        )
    if kind == "alphazero":
        net = f"puct:policy={policy_agent(path, 0, True)}" if is_own else f"alphazero:net={path}"
        return f"{net},simulations={simulations},c={options.c},fpu={options.fpu}"
    raise ValueError(f"expected a search of gumbel, alphazero, got {kind!r}")


def options_of(configuration: Configuration) -> list[str]:
    """The options of a run's game as texts ``key=value``."""

    def text(value: Any) -> str:
        if isinstance(value, (list, tuple)):  # as a board's size is written
            return "x".join(map(str, cast("Sequence[Any]", value)))
        return str(value)

    return [f"{key}={text(value)}" for key, value in configuration.options.items()]


def check_results(path: str | os.PathLike[str], tournament: Tournament) -> None:
    """Check that a file of results is not of another tournament, for a short message.

    The message of `agents.arena` would list all agents. It reports all other mistakes. Where only
    the folder of the networks is another one, as the run was moved, the file gets the new one.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8") as file:
            header = as_object(parse_json(file.readline(MOST_BYTES)))
        theirs, wanted = header["tournament"], tournament.description()
        others = [key for key in wanted if key != "pairs" and theirs[key] != wanted[key]]
        is_moved = others == ["agents"] and in_folder(theirs["agents"]) == in_folder(
            wanted["agents"]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return
    if is_moved:
        moved = {**theirs, "agents": wanted["agents"]}
        _, _, games = path.read_bytes().partition(b"\n")
        first = json.dumps({**header, "tournament": moved, "hash": digest(moved)})
        write_bytes(path, first.encode() + b"\n" + games)
    elif others:
        raise ValueError(
            f"expected {path} with results of the same networks and options, got other "
            f"{', '.join(others)} (has the run gone on? take the file away, or name another one "
            "with --results)"
        )


def in_folder(agents: Any) -> Any:
    """The agents of a description, with networks by their places in their run's directory.

    Labels tell networks apart, as they have a part of the hash of each network's file.
    """
    return [
        {label: re.sub(r"=[^=,]*(networks)[/\\](\d+\.safetensors)", r"=\1/\2", text)}
        for agent in agents
        for label, text in agent.items()
    ]


# ---- results -------------------------------------------------------------------------------------

SHARED: Final = ("points", "games", "wins", "draws", "losses", "seconds_per_move")
"""What a rating takes from a standing."""


def ratings(topp: Topp, table: Standings) -> list[Rating]:
    """The table: policies by iteration, then searches."""
    standing = {agent.agent: agent for agent in table.agents}
    anchor = standing[topp.participants[0].label].elo
    found: list[Rating] = []
    for number, each in enumerate(topp.participants):
        agent = standing[each.label]
        low, high = agent.interval or (None, None)
        before = number > 0 and topp.participants[number - 1].plays == each.plays
        found.append(
            Rating(
                iteration=each.iteration,
                plays=each.plays,
                elo=agent.elo - anchor,
                low=None if low is None else low - anchor,
                high=None if high is None else high - anchor,
                better=table.superiority[number][number - 1] if before and agent.games else None,
                **{name: getattr(agent, name) for name in SHARED},
            )
        )
    return found


def chosen_games(topp: Topp, results: Mapping[int, Result], count: int) -> list[PlayedGame]:
    """Games for pictures: of the last network against the first, the middle one, and the others.

    They are games of the searches if there are any. The sides change from game to game.
    """
    plays = topp.participants[-1].plays
    *others, last = [n for n, each in enumerate(topp.participants) if each.plays == plays]
    middle = others[len(others) // 2]
    order = list(dict.fromkeys([others[0], middle, *reversed(others)]))
    rank = {number: place for place, number in enumerate(order)}

    def key(result: PlayedGame) -> tuple[int, int, int]:
        game = result.game
        side = game.agents[game.first] != last
        (place,) = (rank[number] for number in game.agents if number != last)
        return game.pair, (place + side) % 2, place

    fitting = [
        result
        for result in results.values()
        if isinstance(result, PlayedGame) and {last} < set(result.game.agents) <= {last, *rank}
    ]
    return sorted(fitting, key=key)[:count]


def file_name(topp: Topp, result: PlayedGame) -> str:
    """A name for a game's file: who moves first, the opponent, and the game's number."""
    game = result.game
    order = game.agents[game.first], game.agents[1 - game.first]
    first, second = (topp.participants[number] for number in order)
    return f"{first.plays}-{first.iteration:06}-{second.iteration:06}-game-{game.number}"
