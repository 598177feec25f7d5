"""The pictures of the site: films of games, and positions with what was thought of them."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from agents.records import GameRecord, load_record
from agents.records.films import Film, OverlayName, film_of, write_gif
from agents.registry import make_environment
from hexenv.games import base
from hexenv.render.look import Look, Theme
from hexenv.render.overlay import Overlay
from hexenv.render.svg import render_svg

RECORDS = Path(__file__).parents[1] / "records"
"""A game for each page, ``GAME.json``; a game without one is played at random."""


@cache
def recorded(game: str) -> GameRecord:
    """The game that is shown on the page of `game`."""
    path = RECORDS / f"{game}.json"
    return load_record(path) if path.exists() else random_game(game)


def random_game(game: str) -> GameRecord:
    """A game of random moves, the same at every build."""
    rules = make_environment(game).unwrapped.game
    state = base.new_state(rules)
    rng = np.random.default_rng(1)
    actions: list[int] = []
    while not rules.is_terminal(state):
        actions.append(int(rng.choice(base.legal_actions(rules, state))))
        rules.step(state, actions[-1])
    return GameRecord.of(game, (), actions)


def gif(game: str) -> bytes:
    """The recorded game as a film."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "game.gif"
        write_gif(path, film_of(recorded(game)))
        return path.read_bytes()


def end_of(game: str, theme: Theme) -> str:
    """The end of the recorded game with the numbers of its moves, as SVG."""
    film = film_of(recorded(game), look=Look(theme), numbered=True)
    return film.svg(len(film) - 1)


def searched(game: str, overlay: OverlayName) -> str | None:
    """A position of the recorded game with what its search found, as SVG; None without a search."""
    plies = [ply for ply, search in enumerate(recorded(game).searches) if search]
    return film_of(recorded(game), overlay=overlay).svg(plies[0]) if plies else None


def as_text(game: str) -> str:
    """The end of the recorded game as text."""
    film: Film = film_of(recorded(game))
    return film.text(len(film) - 1)


def numbered_board(game: str, theme: Theme) -> str:
    """The empty board of the defaults with the number of the action on every cell, as SVG."""
    rules = make_environment(game).unwrapped.game
    state = base.new_state(rules)
    labels = [""] * (rules.rows * rules.columns)
    for action in base.legal_actions(rules, state):
        for cell in rules.cells_of_action(state, action):
            labels[cell] = str(action)
    overlay = Overlay(np.zeros(len(labels)), labels)
    return render_svg(rules, state, look=Look(theme), overlay=overlay)
