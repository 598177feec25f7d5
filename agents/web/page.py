"""Pages as one HTML file each: styles, scripts and data are within, and nothing else is loaded.

The sources are in ``static``: `viewer.html`, `tools.html` and the scripts before the last belong to
both pages. What comes from records is data for the scripts, which put it in the page as text alone.
"""

import base64
import hashlib
import html
import json
import re
from importlib.resources import files
from typing import Any, Final

from agents.pictures.films import positions_of
from agents.records import GameRecord
from agents.web.view import Values, frame_view, move_view, result_text, search_view
from hexenv.games.base import Game
from hexenv.render.drawing import DISC_OPACITY, DISC_RADIUS, PATH, figure_size
from hexenv.render.geometry import geometry_of
from hexenv.render.look import DEFAULT_LOOK, THEMES
from hexenv.render.svg import FILL, LINE, board_svg, theme_css

PAGE_THEMES: Final = ("auto", *THEMES)
SHARED_SCRIPTS: Final = ("board.js", "curve.js", "viewer.js")
NO_NETWORK: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"


def replay_page(record: GameRecord, *, env: Any = None, theme: str = "auto") -> str:
    """A game as a page to step through, with what the searches thought.

    The page is whole in itself: it needs no server and no network, and opens from a file.

    Args:
        record: The game.
        env: Where a game that is not of `hexenv` is played again; see `agents.pictures.films.film_of`.
        theme: The colours at first, one of `PAGE_THEMES`; ``auto``: light or dark as the reader's
            system is.

    Raises:
        ValueError: If the game is not of `hexenv` and there is no environment for it, or the record
            breaks its rules, or there is no such theme.
    """
    if theme not in PAGE_THEMES:
        raise ValueError(f"expected a theme of {', '.join(PAGE_THEMES)}, got {theme!r}")
    data = replay_data(record, env)
    title = f"{data['title']}: {data['names'][0]} - {data['names'][1]}"
    return _page("replay.html", "replay.js", title, {**data, "theme": theme})[0]


def play_page(offered: Values) -> tuple[str, str]:
    """The page to play on, and its Content-Security-Policy.

    Args:
        offered: See `agents.web.choices.choices`.
    """
    boards = {"theme": "auto", "offered": offered}
    return _page("play.html", "play.js", "hexenv", boards, "; connect-src 'self'")


# ---- data ----------------------------------------------------------------------------------------


def replay_data(record: GameRecord, env: Any = None) -> Values:
    """What the script of the replay page gets.

    Args:
        record: See `replay_page`.
        env: See `replay_page`.

    Returns:
        ``title``, ``names``, ``about`` (lines on the game), ``result``, ``board`` (`board_data`),
        ``frames`` (`agents.web.view`).

    Raises:
        ValueError: See `replay_page`.
    """
    record.check()
    game, states = positions_of(record, env)
    frames: list[Values] = []
    move: Values | None = None
    for ply, state in enumerate(states):
        frame = frame_view(game, state, move)
        frames.append(frame)
        if ply == len(record.actions):
            break
        search = record.searches[ply] if record.searches else None
        if search is not None:
            frame["search"] = search_view(game, state, search)
        seconds = record.seconds[ply] if record.seconds else None
        move = move_view(game, state, record.actions[ply], seconds)
    names = tuple(name or f"player {player}" for player, name in enumerate(record.agents))
    return {
        "title": title_of(record.game, record.options),
        "names": names,
        "result": result_text(record.outcome, record.reason, (names[0], names[1])),
        "board": board_data(game),
        "frames": frames,
    }


def title_of(game: str, options: tuple[str, ...]) -> str:
    """A game with its options, as a headline."""
    return " ".join((game, *options))


def board_data(game: Game) -> Values:
    """The empty board and how things are drawn on it.

    Returns:
        ``svg``, ``css`` (its colours in all themes), ``fill`` and ``line`` (how classes begin): see
        `hexenv.render.svg`; ``path``, ``disc``, ``opacity`` and ``figure``: see
        `hexenv.render.drawing`.
    """
    return {
        "svg": board_svg(game, DEFAULT_LOOK),
        "css": "\n".join(theme_css(game.style, theme) for theme in THEMES),
        "themes": THEMES,
        "fill": FILL,
        "line": LINE,
        "path": PATH,
        "disc": DISC_RADIUS,
        "opacity": DISC_OPACITY,
        "figure": figure_size(geometry_of(game, DEFAULT_LOOK)),
    }


# ---- the file ------------------------------------------------------------------------------------


def _page(
    template: str, script: str, title: str, data: Values, policy: str = ""
) -> tuple[str, str]:
    """A page and its Content-Security-Policy, which lets nothing run but its own script."""
    code = "\n".join(_source(name) for name in (*SHARED_SCRIPTS, script))
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = f"{NO_NETWORK}; script-src 'sha256-{digest}'{policy}"
    parts = {
        "policy": html.escape(policy),
        "title": html.escape(title),
        "style": _source("style.css"),
        "tools": _source("tools.html").rstrip(),
        "viewer": _source("viewer.html"),
        "data": json_for_html(data),
        "script": code,
    }
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _source(template))
    return page, policy


def _source(name: str) -> str:
    return (files("agents.web") / "static" / name).read_text(encoding="utf-8")


def json_for_html(data: Any) -> str:
    """JSON that may stand in a ``<script>``: nothing in it ends the element, or begins another."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)
