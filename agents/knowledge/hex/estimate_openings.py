"""Makes the table of `agents.knowledge.hex.openings`; each run adds one size, or replaces it.

    python -m agents.knowledge.hex.estimate_openings 11 --agent hexpert:simulations=200 --games 20

Each first move, up to half turns, is estimated by games of an agent against itself: how many of
them the first player wins. (The value that one search finds is no good: it is near one half for
all first moves of a large board.) On boards that `HexSolver` takes, `--solve` adds who wins.
"""

import json
from pathlib import Path
from typing import Any

import click
import msgspec

from agents.core.files import write_text
from agents.knowledge.hex.openings import FORMAT, TABLE, Board, load_openings
from agents.knowledge.hex.solver import HexSolver
from agents.registry import make_agent
from agents.solvers.questions import Clock
from hexenv import hex_v0
from hexenv.games import hex


def estimated(env: Any, agents: list[Any], cell: int, games: int) -> float:
    """How many of some games the player of a first stone wins, as a share."""
    wins = 0
    for number in range(games):
        env.reset(options={"moves": env.unwrapped.game.action_text(cell)})
        for side, agent in enumerate(agents):
            agent.reset(2 * (games * cell + number) + side)
        turn = 1
        while not any(env.terminations.values()):
            env.step(int(agents[turn].act(env)))
            turn = 1 - turn
        wins += turn  # the one who moved last has won
    return round(wins / games, 4)


def board_of(size: int, agent: str, games: int, solve: bool) -> Board:
    """What is found of a board."""
    env, cells = hex_v0.env(board_size=size), size * size
    half = range((cells + 1) // 2)
    agents = [make_agent(agent) for _ in range(2)]
    estimates = [estimated(env, agents, cell, games) for cell in half]
    wins = ""
    if solve:
        solver, clock = HexSolver(hex.Hex(size, size)), Clock()
        wins = "".join(str(1 - solver.solve(1 << cell, 0, 1, clock)[0]) for cell in half)
        wins += wins[: cells // 2][::-1]
    command = f"{size} --agent {agent} --games {games}" + (" --solve" if solve else "")
    return Board(size, command, estimates + estimates[: cells // 2][::-1], wins)


def save(boards: list[Board], path: Path) -> None:
    """Write a table, a line for each board."""
    lines = ",\n".join(json.dumps(msgspec.to_builtins(board)) for board in boards)
    head = json.dumps(FORMAT.head(boards=[])).removesuffix("[]}")
    write_text(path, f"{head}[\n{lines}\n]}}\n")


@click.command()
@click.argument("size", type=click.IntRange(1, 19))
@click.option("--agent", default="hexpert:simulations=200", show_default=True)
@click.option("--games", default=20, show_default=True, type=click.IntRange(1))
@click.option("--solve", is_flag=True, help="Find who wins, too.")
def main(size: int, agent: str, games: int, solve: bool) -> None:
    """Estimate the first moves on a board of a SIZE, and add them to the table."""
    boards = load_openings(TABLE) if TABLE.exists() else {}
    boards[size] = board_of(size, agent, games, solve)
    save([boards[known] for known in sorted(boards)], TABLE)


if __name__ == "__main__":
    main()
