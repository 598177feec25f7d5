"""How long pictures take: frames, documents, text and films, of games played at random.

    python tests/benchmarks/rendering.py

The first frame of a board draws the empty board and its stones; those that follow reuse them.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from agents.records.films import Film, write_gif, write_mp4
from hexenv.games import base, connect4, gomoku, hex, tictactoe
from hexenv.render.ansi import render_text
from hexenv.render.overlay import move_numbers, overlay_of_shares
from hexenv.render.rgb import render_rgb
from hexenv.render.svg import render_svg

GAMES = {
    "hex 11": hex.new(11),
    "connect4": connect4.new(),
    "tictactoe": tictactoe.new(),
    "gomoku 15": gomoku.new(15),
}
PLIES = 60


def random_game(game, plies, rng):
    """The positions of a game that does not end within so many plies, if there is any."""
    while True:
        states, actions = [base.new_state(game)], []
        while len(actions) < plies and not game.is_terminal(states[-1]):
            actions.append(int(rng.choice(base.legal_actions(game, states[-1]))))
            states.append(base.clone(game, states[-1]))
            game.step(states[-1], actions[-1])
        if len(actions) == min(plies, game.max_plies() // 2):
            return states, actions


def milliseconds(draw: Callable[[], object], repeat: int = 50) -> float:
    """The median time of a call."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        draw()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def pictures(name, rng):
    """Print how long one position in the middle of a game takes in each form."""
    game = GAMES[name]
    states, actions = random_game(game, min(PLIES, game.max_plies() // 2), rng)
    state, numbers = states[-1], move_numbers(game, actions)
    overlay = overlay_of_shares(game, state, rng.random(game.num_actions()))
    over = {"overlay": overlay, "numbers": numbers}
    first = milliseconds(lambda: render_rgb(game, state), 1)
    found = {
        "rgb, first": first,
        "rgb": milliseconds(lambda: render_rgb(game, state)),
        "rgb, all over": milliseconds(lambda: render_rgb(game, state, **over)),
        "svg": milliseconds(lambda: render_svg(game, state)),
        "svg, all over": milliseconds(lambda: render_svg(game, state, **over)),
        "text": milliseconds(lambda: render_text(game, state)),
    }
    print(f"{name:10} " + "  ".join(f"{what} {taken:.2f} ms" for what, taken in found.items()))


def films(rng):
    """Print how long films of a game of Hex of 60 moves take."""
    game = GAMES["hex 11"]
    states, _ = random_game(game, PLIES, rng)
    film = Film(game, states, [None] * len(states), [None] * len(states))
    with tempfile.TemporaryDirectory() as directory:
        for suffix, write in ((".gif", write_gif), (".mp4", write_mp4)):
            path = Path(directory, f"film{suffix}")
            taken = milliseconds(lambda write=write, path=path: write(path, film), 3)
            print(f"{suffix} of {PLIES} moves: {taken:.0f} ms, {path.stat().st_size // 1000} kB")
    document = film.animation()
    taken = milliseconds(film.animation, 5)
    print(f".svg of {PLIES} moves: {taken:.0f} ms, {len(document) // 1000} kB")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    rng = np.random.default_rng(parser.parse_args().seed)
    for name in GAMES:
        pictures(name, rng)
    films(rng)


if __name__ == "__main__":
    main()
