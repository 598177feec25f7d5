"""What fixed seeds give: searches, a training run, a tournament, records, pictures and pages.

Two versions of the code that are the same for a user write the same file. Needs the extra `train`,
and a quarter of an hour where nothing is compiled yet.

    python tests/benchmarks/unchanged.py before.json
    python tests/benchmarks/unchanged.py after.json --compare before.json
    python tests/benchmarks/unchanged.py after.json --compare before.json --only "records,hex 9"
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from recorded import random_record, with_searches

from agents.apps.web.page import replay_data, replay_page
from agents.records import save_record
from agents.records.formats import save_games
from agents.registry import agent_classes, make_agent, make_environment, parameters

POSITIONS = {
    "tictactoe": ((), ("", "5", "1 5 9")),
    "connect4": ((), ("", "4", "4 4 5 3")),
    "connect4 small": (("rows=5", "columns=5"), ("", "3")),
    "hex 5": (("board_size=5", "swap=true"), ("", "c3", "a1 b2 c3")),
    "hex 5 plain": (("board_size=5",), ("", "c3")),
    "hex 9": (("board_size=9",), ("", "e5")),
    "gomoku 9": (("board_size=9",), ("", "e5 d4 f5", "e5 a1 f5 b1 g5 c9")),
    "gomoku renju": (("board_size=15", "rule=renju"), ("", "h8 h9 i10")),
    "gomoku swap2": (("board_size=15", "opening=swap2"), ("", "h8 h9 i10")),
}
"""Games with their options, and where searches begin."""
AGENTS = (
    "alphabeta:depth=2; distance; flat; grave; greedy; history; "
    "lgr; mast; nrpa; quality; random; rave; rave:playout=bridges; rhmcts; rhmcts:eager=true,n=5; "
    "solver; transposition; ucb1-tuned; uct; uct:transpositions=true; uct:workers=2; "
    "uct:threats=true; uct:implicit_minimax=0.3; uct:playout=decisive; uct:route=interpreted; "
    "uct:route=environment; rave:route=environment; network:net=NET; puct:policy=network:net=NET; "
    "gumbel:policy=network:net=NET; alphazero:net=NET; anet:policy=network:net=NET"
)
NETS = {"tictactoe": "tictactoe", "connect4": "connect4", "hex 5 plain": "hex5"}
TOO_LARGE = {"connect4", "connect4 small", "hex 9"}
"""Where the exact solver takes too long."""
SLOW_ROUTE = {"connect4", "hex 5 plain"}
"""Where searches go through the environment as well."""


def search(game, spec, moves):
    """Two acts of an agent, and what its second search found; the name of an error."""
    options, _ = POSITIONS[game]
    if "simulations" in parameters(agent_classes()[spec.partition(":")[0]]):
        spec += ("," if ":" in spec else ":") + "simulations=200"
    try:
        agent = make_agent(spec, 7)
        env = make_environment(game.split()[0], options)
        env.reset(seed=1, options={"moves": moves} if moves else None)
        acts = [int(agent.act(env))]
        env.step(acts[0])
        if not any(env.terminations.values()):
            acts.append(int(agent.act(env)))
    except Exception as error:
        return type(error).__name__
    found = agent.statistics
    if found is None:
        return {"acts": acts}
    return {
        "acts": acts,
        "visits": found.visits.tolist(),
        "values": [float(f"{value:.12g}") for value in found.values],
        "line": [int(action) for action in found.principal_variation],
        "proven": found.proven,
        "simulations": found.simulations,
        "priors": found.priors if found.priors is None else [f"{p:.12g}" for p in found.priors],
    }


def searches(game):
    """`search` of every agent at every position of a game."""
    found = {}
    for spec in AGENTS.split("; "):
        if (spec == "solver" and game in TOO_LARGE) or ("NET" in spec and game not in NETS):
            continue
        if "environment" in spec and game not in SLOW_ROUTE:
            continue
        named = spec.replace("NET", NETS.get(game, ""))
        found |= {f"{named} | {moves}": search(game, named, moves) for moves in POSITIONS[game][1]}
    return found


def hexenv(*arguments):
    """What a command prints."""
    command = [sys.executable, "-m", "agents.apps.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def digest(data):
    return hashlib.sha256(data).hexdigest()


def without_times(text):
    text = re.sub(r'"(seconds|date|cpu_seconds)": ?(\[[^\]]*\]|"[^"]*"|[0-9.e+-]+)', "", text)
    return re.sub(r"(?m) +\d+\.\d\d *$", "", text)  # milliseconds a move, in a table


def tournament(folder):
    """Twenty games: the table and the file of results."""
    agents = ["uct:simulations=50", "rave:simulations=50", "greedy", "mast:simulations=50"]
    flags = ["--pairs", "1", "--seed", "3", "--workers", "1", "--results", f"{folder}/games.jsonl"]
    table = hexenv("tournament", "connect4", *agents, "random", *flags)
    lines = (folder / "games.jsonl").read_text().splitlines()
    return {"table": without_times(table), "results": [without_times(line) for line in lines]}


def training(folder):
    """Two iterations: the digests of the networks' weights."""
    from training_runs import tiny, train

    from agents.learning.files import load_network

    train(folder / "run", tiny(iterations=2, seed=1))
    found = {}
    for path in sorted((folder / "run" / "networks").iterdir()):
        weights = load_network(path).network.state_dict().values()
        parts = [np.ascontiguousarray(tensor.numpy()).tobytes() for tensor in weights]
        found[path.name] = digest(b"".join(parts))
    return found


def match(folder):
    """The records of four games."""
    agents = ["uct:simulations=100", "rave:simulations=100"]
    flags = ["--games", "4", "--seed", "5", "--option", "board_size=5"]
    hexenv("match", "hex", *agents, *flags, "--records", str(folder / "games"))
    files = sorted((folder / "games").glob("*.json"))
    return {path.name: without_times(path.read_text()) for path in files}


def records(folder):
    """Ten random games: the digests of their files, pictures and pages."""
    found = {}
    games = (
        "tictactoe; connect4; hex board_size=5 swap=true; hex board_size=11; gomoku board_size=9; "
        "gomoku rule=renju; gomoku opening=swap2; connect4 rows=5 columns=10; hex board_size=4x6; "
        "gomoku board_size=19"
    )
    for number, (game, *options) in enumerate(map(str.split, games.split(";"))):
        record = with_searches(random_record(game, tuple(options), number + 1), number)
        path = folder / f"{number}.json"
        save_record(record, path)
        hexenv("render", str(path), "--to", str(path.with_suffix(".svg")))
        for suffix in (".sgf", ".psq", ".txt"):
            try:
                save_games([record], path.with_suffix(suffix))
            except ValueError:  # a format of other games
                continue
        for file in sorted(folder.glob(f"{number}.*")):
            found[file.name] = digest(file.read_bytes())
        found[f"{number} data"] = digest(json.dumps(replay_data(record), sort_keys=True).encode())
        found[f"{number} page"] = digest(replay_page(record).encode())
    return found


PARTS = (training, records, tournament, match)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--compare", help="the file of another version")
    parser.add_argument("--only", help="parts and games, with commas between")
    arguments = parser.parse_args()
    names = [part.__name__ for part in PARTS] + list(POSITIONS)
    found = {}
    for name in arguments.only.split(",") if arguments.only else names:
        print(name, file=sys.stderr)
        if name in POSITIONS:
            found[name] = searches(name)
        else:
            with tempfile.TemporaryDirectory() as folder:
                found[name] = globals()[name](Path(folder))
    Path(arguments.file).write_text(json.dumps(found, indent=1, sort_keys=True))
    if arguments.compare:
        before = json.loads(Path(arguments.compare).read_text())
        pairs = [(part, key) for part in found for key in {*found[part], *before[part]}]
        others = [(p, k) for p, k in sorted(pairs) if found[p].get(k) != before[p].get(k)]
        for part, key in others:
            print(f"{part}: {key}\n  {before[part].get(key)}\n  {found[part].get(key)}")
        print(f"{len(others)} of {len(pairs)} differ")
        raise SystemExit(bool(others))


if __name__ == "__main__":
    main()
