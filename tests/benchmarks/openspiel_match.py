"""UCT against OpenSpiel's C++ MCTSBot at equal wall time.

    python tests/benchmarks/openspiel_match.py --results FILE

Paired games: each random opening is played twice with the sides swapped. Both have the same wall
time a move, on one thread; what each really used is printed. Needs the extra `test`.
"""

import argparse
import json
import multiprocessing
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from published import match_rows

from agents import UCT
from hexenv import connect4_v0, gomoku_v0, hex_v0
from hexenv.games import base, notation

GAMES = {  # module, options, OpenSpiel's name, plies of the openings
    "hex": (hex_v0, {"board_size": 11}, "hex(board_size=11)", 2),
    "gomoku": (gomoku_v0, {"board_size": 15}, "gomoku(size=15)", 4),
    "connect4": (connect4_v0, {}, "connect_four", 4),
}


def random_opening(game: Any, plies: int, seed: int) -> list[int]:
    """Random legal actions after which the game goes on."""
    rng = np.random.default_rng(seed)
    while True:
        state, actions = base.new_state(game), []
        while len(actions) < plies and not game.is_terminal(state):
            action = int(rng.choice(base.legal_actions(game, state)))
            game.step(state, action)
            actions.append(action)
        if not game.is_terminal(state):
            return actions


def play(task: tuple[str, int, int, bool, float]) -> dict[str, Any]:
    """Play one game; the result is ours."""
    name, pair, our_side, solve, seconds = task
    module, options, peer_name, plies = GAMES[name]
    env = module.raw_env(**options)
    opening = random_opening(env.game, plies, pair)
    env.reset(options={"moves": notation.moves_text(env.game, opening)})
    ours = UCT(seconds=seconds, seed=2 * pair + our_side)
    ours.prepare(env)
    peer_game = pyspiel.load_game(peer_name)
    peer_state = peer_game.new_initial_state()
    evaluator = pyspiel.RandomRolloutEvaluator(1, pair)
    theirs = pyspiel.MCTSBot(
        peer_game, evaluator, 2.0, 2**31 - 1, 8000, solve, pair, False, max_wall_clock_time=seconds
    )
    for action in opening:
        peer_state.apply_action(action)
    times: list[list[float]] = [[], []]
    processor: list[list[float]] = [[], []]
    while not env.game.is_terminal(env.state):
        side = int(env.game.to_play(env.state))
        started, started_here = time.perf_counter(), time.process_time()
        action = ours.act(env) if side == our_side else theirs.step(peer_state)
        times[int(side != our_side)].append(time.perf_counter() - started)
        processor[int(side != our_side)].append(time.process_time() - started_here)
        env.step(action)
        peer_state.apply_action(action)
    outcome = env.game.outcome(env.state, our_side)
    assert outcome == peer_state.returns()[our_side]
    return {
        "game": name,
        "pair": pair,
        "our_side": our_side,
        "solve": solve,
        "outcome": int(outcome),
        "moves": notation.moves_text(env.game, env.actions),
        "seconds": [float(np.mean(own)) if own else None for own in times],
        "processor_seconds": [float(np.mean(own)) if own else None for own in processor],
    }


def main() -> None:
    """Play, go on where the file of results stops, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", nargs="*", default=list(GAMES), metavar="GAME")
    parser.add_argument("--pairs", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--results", type=Path, required=True, help="JSON lines; goes on with it")
    arguments = parser.parse_args()
    done: list[dict[str, Any]] = []
    if arguments.results.exists():
        done = [json.loads(line) for line in arguments.results.read_text().splitlines()]
    known = {(row["game"], row["pair"], row["our_side"], row["solve"]) for row in done}
    tasks = [
        (name, pair, side, solve, arguments.seconds)
        for name in arguments.games
        for pair in range(arguments.pairs)
        for solve in (False, True)
        for side in (0, 1)
        if (name, pair, side, solve) not in known
    ]
    context = multiprocessing.get_context("spawn")
    with context.Pool(arguments.workers) as pool, arguments.results.open("a") as file:
        for row in pool.imap_unordered(play, tasks):
            print(json.dumps(row), file=file, flush=True)
            done.append(row)
    for row in match_rows(done):
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
