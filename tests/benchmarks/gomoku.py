"""Speed of the patterns and threats of Gomoku: ``python tests/benchmarks/gomoku.py``.

Positions are from random games whose stones lie near each other, 15 x 15. Times are of the
processor; of several rounds the median counts, and the range is given.

* "update": a move on the game with patterns, beside classifying the whole board from its stones;
* "cells": evaluations of single cells, both sides and four directions each, from the stones;
* "fours", "threats": positions a second of the searches for wins by fours, and by threats.
"""

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console

from agents.apps.cli.shared import new_table
from agents.knowledge.gomoku import board
from agents.knowledge.gomoku.board import PatternGame
from agents.knowledge.gomoku.candidates import nearby_columns
from agents.knowledge.gomoku.threat_search import new_four_search, new_threat_search
from agents.knowledge.gomoku.threats import compiled_fours, compiled_threats
from hexenv.compiled import CompiledFunction, kernel
from hexenv.games import base, gomoku


@kernel
def play_near(game: Any, state: Any, rng: np.random.Generator, moves: Any) -> bool:
    """Kernel: play a random game in which stones lie near another; whether it still goes on."""
    game.initial(state)
    columns = game.rules.columns
    for ply in range(len(moves)):
        cell = game.num_actions() // 2
        while ply > 0:
            cell = int(rng.random() * game.num_actions())
            row, column = cell // columns, cell % columns
            if (nearby_columns(game, state, row, 2) >> column) & 1:
                break
        moves[ply] = cell
        game.step(state, cell)
        if game.is_terminal(state):
            return False
    return True


compiled_play_near = CompiledFunction(play_near)


def random_game(game: PatternGame, state: Any, rng: np.random.Generator, plies: int) -> Any:
    """Moves of a game that goes on after them; `state` receives the position."""
    moves = np.zeros(plies, np.int32)
    while not compiled_play_near(game, state, rng, moves):
        pass
    return moves


@kernel
def play_games(game: Any, start: Any, state: Any, moves: Any) -> int:
    """Kernel: play games, a row of moves each."""
    played = 0
    for number in range(moves.shape[0]):
        game.copy(start, state)
        for i in range(moves.shape[1]):
            game.step(state, int(moves[number, i]))
            played += 1
    return played


@kernel
def study_positions(game: Any, positions: Any) -> int:
    """Kernel: classify whole boards."""
    for number in range(len(positions)):
        game.classify_all(positions[number])
    return len(positions)


def seconds_each(run: Callable[[], int]) -> float:
    """Processor time of one of the things that a function does."""
    started, count = time.process_time(), 0
    while time.process_time() - started < 0.5:
        count += run()
    return (time.process_time() - started) / count


def measure(game: PatternGame, rounds: int) -> dict[str, list[float]]:
    """The figures of every round."""
    rng = np.random.default_rng(0)
    start, state = base.new_state(game), base.new_state(game)
    moves = np.stack([random_game(game, state, rng, 40) for _ in range(50)])
    positions = base.new_states(game, 50)
    for position in positions:
        random_game(game, position, rng, 30)
    play, study = CompiledFunction(play_games), CompiledFunction(study_positions)
    play(game, start, state, moves[:1]), study(game, positions[:1])
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        found["update"].append(seconds_each(lambda: play(game, start, state, moves)))
        found["whole"].append(seconds_each(lambda: study(game, positions)))
        found["cells"].append(game.num_actions() / found["whole"][-1])
        found["fours"].append(fours_a_second(game))
        found["threats"].append(threats_a_second(game))
    return found


def fours_a_second(game: PatternGame) -> float:
    """Positions a second of the search for wins by fours, where it tries 50 of them or more.

    From random positions after 60 plies, each with an empty memory; most others have no four, and
    would measure how long a call takes.
    """
    rng = np.random.default_rng(1)
    search = new_four_search(game, 1 << 10)
    by_fours = compiled_fours.specialise(game, base.new_state(game), search, 1, True)
    hard: list[Any] = []
    while len(hard) < 50:
        state = base.new_state(game)
        random_game(game, state, rng, 60)
        search.failures[:] = search.spent[0] = 0
        by_fours(game, state, search, 20_000, True)
        if search.spent[0] >= 50:
            hard.append(state)

    def solve_all() -> int:
        search.spent[0] = 0
        for state in hard:
            search.failures[:] = 0
            by_fours(game, state, search, 20_000, True)
        return int(search.spent[0])

    return 1 / seconds_each(solve_all)


def threats_a_second(game: PatternGame) -> float:
    """Positions a second of the search by all threats, four of them deep, after 30 plies."""
    rng = np.random.default_rng(1)
    state, search = base.new_state(game), new_threat_search(game)
    by_threats = compiled_threats.specialise(game, state, search, 1, 1, 1, True)
    seconds, spent = 0.0, search.fours.spent
    while spent[0] < 300_000:
        random_game(game, state, rng, 30)
        started = time.process_time()
        by_threats(game, state, search, 4, 20_000, 2_000, True)
        seconds += time.process_time() - started
    return int(spent[0]) / seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    columns = ("rule", "update", "whole board", "ratio", "cells / s", "fours / s", "threats / s")
    table = new_table(*columns)

    def shown(values: list[float], scale: float, digits: int) -> str:
        low, high = min(values) * scale, max(values) * scale
        middle = statistics.median(values) * scale
        return f"{middle:,.{digits}f} ({low:,.{digits}f}-{high:,.{digits}f})"

    for rule in ("freestyle", "standard", "renju"):
        found = measure(board.new(gomoku.new(15, rule=rule)), rounds)
        ratios = list(np.divide(found["whole"], found["update"]))
        table.add_row(
            rule,
            shown(found["update"], 1e9, 0) + " ns",
            shown(found["whole"], 1e6, 2) + " us",
            shown(ratios, 1, 1),
            shown(found["cells"], 1e-6, 1) + " M",
            shown(found["fours"], 1e-6, 2) + " M",
            shown(found["threats"], 1e-6, 2) + " M",
        )
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
