r"""Proves wins of freestyle Gomoku, for `agents.knowledge.gomoku.check_proof`.

    python -m agents.knowledge.gomoku.proofs FOLDER --moves "h8 g8" --seconds 3000

tries to prove that black wins after these moves, and writes a proof for every answer of white that
it comes to. The same command goes on with a folder.

A proof is a strategy, as numbers. Where the player who wins is to move there are either a line of
continuous fours, ``n`` and ``n`` moves of both sides; or ``0``, his move, how many answers follow,
a line as before (which wins as if the other side had passed, `n` is 0 without one), and for each
answer its cell and a strategy. Against an answer that is not listed, the line wins. A file has the
proof of one position:

    {"format": "hexenv proof of Gomoku", "version": 1, "rows": 15, "columns": 15,
     "moves": [112, 96], "quiet": 1, "strategy": [0, 127, ...]}

`moves` lead to the position, as numbers of cells. A `strategy` of null says that none was found
with so many `quiet` moves; it is looked for again with more.
"""

import json
import time
from pathlib import Path
from typing import Any, Final

import click
import numpy as np

from agents.core.files import write_text
from agents.knowledge.gomoku import board
from agents.knowledge.gomoku.check_proof import FIVE, FORMAT, MOST_SIDE, Checker
from agents.knowledge.gomoku.engine import GomokuEngine
from agents.knowledge.gomoku.proof_search import (
    FOURS,
    PROVEN,
    look_at_answers,
    new_proof_search,
    numbers_of,
    place_of,
    prove,
)
from agents.knowledge.gomoku.threats import compiled_fours
from hexenv import gomoku_v0
from hexenv.compiled import CompiledFunction
from hexenv.games import base, gomoku, notation
from hexenv.games.gomoku import FREESTYLE, Gomoku

compiled_prove: Final = CompiledFunction(prove, "proofs")
compiled_answers: Final = CompiledFunction(look_at_answers, "proofs")


class Prover:
    """Finds strategies that win on one board.

    Args:
        rules: Five in a row, freestyle, on a square board.
        budget: Positions of each search that are looked at.
        tries: How many quiet moves are tried in a position.

    Raises:
        ValueError: If the rules are others.
    """

    def __init__(self, rules: Gomoku, budget: int = 20_000, tries: int = 2) -> None:
        if rules.rule != FREESTYLE or rules.connect != FIVE or rules.rows != rules.columns:
            raise ValueError(f"expected five in a row, freestyle, on a square board, got {rules}")
        self.rules, self.budget, self.tries = rules, budget, tries
        self._attacker = 0  # whose wins are in the table
        self.game: Any = board.new(rules)
        self.search = new_proof_search(self.game)
        state = self.game.start[0]
        self._prove = compiled_prove.specialise(self.game, state, self.search, 1)
        self._answers = compiled_answers.specialise(self.game, state, self.search)
        self._fours = compiled_fours.specialise(
            self.game, state, self.search.threats.fours, 1, True
        )
        self._engine = GomokuEngine(positions=20_000, lines=tries)

    def find(self, moves: list[int], quiet: int) -> list[int] | None:
        """A strategy of the player to move that wins, with so many moves that threaten nothing."""
        state = board.state_of(self.game, notation.play(self.rules, moves))
        if self.game.is_terminal(state):
            return None
        if self._attacker != len(moves) % 2:
            self._attacker = len(moves) % 2
            self.search.keys[:] = 0
            self.search.numbers[:] = 1
        if self._prove(self.game, state, self.search, self.budget) == PROVEN:
            return self.strategy(state)
        if quiet == 0:
            return None
        for move in self.promising(moves):
            parts = [0, move, 0, 0]
            answers = self.answers([*moves, move])
            for answer in answers:
                found = self.find([*moves, move, answer], quiet - 1)
                if found is None:
                    break
                parts += [answer, *found]
                parts[2] += 1
            if 0 < parts[2] == len(answers):
                return parts
        return None

    def strategy(self, state: Any) -> list[int]:
        """The strategy in a position that was proven."""
        game, search = self.game, self.search
        if (length := self._fours(game, state, search.threats.fours, FOURS, True)) > 0:
            return [length, *search.threats.fours.line[:length].tolist()]
        key = game.position_hash(state)
        if numbers_of(search, key)[0] != 0:  # its place in the table was taken
            found = self._prove(game, state, search, 100 * self.budget)
            assert found == PROVEN
        move = int(search.best[place_of(search, key)])
        after = self._after(state, move)
        self._answers(game, after, search)
        answers = search.moves[1, : search.listed[1]].tolist()
        length = int(search.line[0])
        parts = [0, move, len(answers), length, *search.line[1 : length + 1].tolist()]
        for answer in answers:
            parts += [answer, *self.strategy(self._after(after, answer))]
        return parts

    def promising(self, moves: list[int]) -> list[int]:
        """The moves that the engine likes best, the best first."""
        env = gomoku_v0.env(board_size=self.rules.rows)
        env.reset(options={"moves": notation.moves_text(self.rules, moves)})
        self._engine.reset()
        self._engine.act(env)
        statistics = self._engine.statistics
        assert statistics is not None
        order = np.argsort(-np.where(statistics.visits > 0, statistics.values, -np.inf))
        return order[: min(self.tries, int((statistics.visits > 0).sum()))].tolist()

    def answers(self, moves: list[int]) -> list[int]:
        """All moves after some, those nearest to the stones first."""
        columns = self.rules.columns
        stones = np.array([divmod(cell, columns) for cell in moves])
        free = [cell for cell in range(self.rules.num_actions()) if cell not in moves]

        def distance(cell: int) -> int:
            return int(np.abs(stones - divmod(cell, columns)).max(axis=1).min())

        return sorted(free, key=distance)

    def _after(self, state: Any, move: int) -> Any:
        after = base.clone(self.game, state)
        self.game.step(after, move)
        return after


def write(prover: Prover, folder: Path, moves: list[int], quiet: int) -> bool:
    """Write the proof of a position, if the folder has none yet; whether there is one.

    Raises:
        ValueError: If the folder is of another board, or a proof is wrong (a bug in the search).
    """
    rules = prover.rules
    path = folder / f"{'-'.join(rules.action_text(move) for move in moves)}.json"
    about = {"rows": rules.rows, "columns": rules.columns, "moves": moves}
    if path.exists():
        kept = FORMAT.read_json(path, **about)
        if kept["strategy"] is not None or kept["quiet"] >= quiet:
            return kept["strategy"] is not None
    found = prover.find(moves, quiet)
    if found is not None:
        Checker(rules.rows, rules.columns).check(moves, found)
    content = FORMAT.head(**about, quiet=quiet, strategy=found)
    write_text(path, json.dumps(content, separators=(",", ":")) + "\n")
    return found is not None


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--moves", default="h8 g8", show_default=True, help="After which black is to move.")
@click.option("--size", type=click.IntRange(FIVE, MOST_SIDE), default=15, show_default=True)
@click.option("--quiet", type=click.IntRange(0, 4), default=1, show_default=True,
              help="Moves without a threat, in a proof.")  # fmt: skip
@click.option("--seconds", default=3000.0, show_default=True, help="After which no search begins.")
def main(folder: Path, moves: str, size: int, quiet: int, seconds: float) -> None:
    """Prove that black wins after MOVES, one answer to each of his best moves after another."""
    end = time.monotonic() + seconds
    try:
        prover = Prover(gomoku.new(board_size=size))
        played = list(notation.parse_moves(prover.rules, moves))
        if len(played) % 2:
            raise ValueError(f"expected moves after which black is to move, got {len(played)}")
        folder.mkdir(parents=True, exist_ok=True)
        if write(prover, folder, played, 0):
            print(f"{moves}: proven")
            return
        for move in prover.promising(played):
            if prove_answers(prover, folder, [*played, move], quiet, end):
                return
    except (OSError, ValueError) as error:
        raise click.ClickException(str(error)) from None


def prove_answers(prover: Prover, folder: Path, moves: list[int], quiet: int, end: float) -> bool:
    """Look at all answers to the last move until a time; whether all are proven to lose."""
    looked_at, every = list[bool](), prover.answers(moves)
    for answer in every:
        if time.monotonic() > end:
            break
        looked_at.append(write(prover, folder, [*moves, answer], quiet))
    name = notation.moves_text(prover.rules, moves)
    found = f"{sum(looked_at)} of {len(looked_at)} answers are proven to lose"
    print(f"{name}: {found}, of {len(every)}", flush=True)
    return sum(looked_at) == len(every)


if __name__ == "__main__":
    main()
