"""What pages show, as JSON, and the pages themselves, each as one HTML file.

A *frame* is one position of a game: its stones, the move that led there, whose turn it is, and what
the player to move found in a search. A page has a list of them, from the start of the game on.

Styles, scripts and data are within the page, and nothing else is loaded. The sources are in
``static``; the pages share `head.html`, `viewer.html`, `tools.html`, `agent.html` and
`SHARED_SCRIPTS`. Texts from records are only data for the scripts, which show them as text and
never as HTML.
"""

import base64
import hashlib
import html
import json
import math
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final

from agents.apps.play.cells import arrow_of, cell_of, cells_of
from agents.apps.play.titles import title_of
from agents.records import GameRecord, Search
from agents.records.explaining import Candidate, Choice, Explanation, Step
from agents.records.films import positions_of
from agents.records.review import ReviewedMove
from hexenv.games import base
from hexenv.games.base import EMPTY, NO_ACTION, Game, State
from hexenv.games.notation import SYMBOLS
from hexenv.render.drawing import (
    ARROW,
    ARROW_LABEL,
    DISC_OPACITY,
    DISC_RADIUS,
    PATH,
    figure_size,
)
from hexenv.render.geometry import geometry_of
from hexenv.render.look import DEFAULT_LOOK, THEMES, Theme, luminance, paints_of
from hexenv.render.svg import FILL, LINE, board_svg, theme_css

PAGE_THEMES: Final = ("auto", *THEMES)
SHARED_SCRIPTS: Final = ("overlays.js", "board.js", "curve.js", "viewer.js")
NO_NETWORK: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'"
NO_ICON: Final = '<link rel="icon" href="data:,">'
"""So that the browser asks the server for none."""
MIDDLE_LUMINANCE: Final = 0.179
"""A colour of this luminance has the same contrast with black as with white."""
ARTICLES: Final = {"inaccuracy": "an inaccuracy", "mistake": "a mistake", "blunder": "a blunder"}
MAX_CANDIDATES: Final = 8
"""Children of a node whose scores are shown."""
MAX_LINE: Final = 20
"""Moves of a principal variation that are shown."""

Values = dict[str, Any]
"""An object of JSON."""

# ---- the pages -----------------------------------------------------------------------------------


def replay_page(
    record: GameRecord,
    *,
    env: Any = None,
    theme: str = "auto",
    errors: Sequence[ReviewedMove] = (),
) -> str:
    """A game as a page to step through, with what the searches found.

    The page needs no server and no network; it opens from a file. Its theme is of `PAGE_THEMES`;
    ``auto`` is light or dark, as the reader's system. `env`, a `BoardEnv`, plays a game again that
    is not of `hexenv`. `errors` of a review are a list under the board, each a click away from the
    position before it, and the reader may look for better moves there.

    Raises:
        ValueError: If there is no such theme, or as `replay_data`.
    """
    check_theme(theme)
    data = replay_data(record, env)
    title = f"{data['title']}: {data['names'][0]} - {data['names'][1]}"
    game, states = positions_of(record, env)
    notes = [_note_view(game, states[error.ply], error) for error in errors]
    more = {"theme": theme, "notes": notes}
    return _page("replay.html", ("player.js", "lesson.js", "replay.js"), title, {**data, **more})[0]


def explain_page(found: Explanation, *, theme: str = "auto") -> str:
    """A search as a page to step through, simulation by simulation; see `replay_page`."""
    check_theme(theme)
    data = {"title": found.title, "theme": theme, **explain_data(found)}
    return _page("explain.html", ("player.js", "explain.js"), found.title, data)[0]


def analysis_page(offered: Values) -> tuple[str, str]:
    """The analysis board, for what `choices` offers, and its Content-Security-Policy."""
    data = {"theme": "auto", "offered": offered}
    scripts = ("connection.js", "form.js", "variations.js", "analysis.js")
    return _page("analysis.html", scripts, "Analysis - hexenv", data, "; connect-src 'self'")


def play_page(offered: Values) -> tuple[str, str]:
    """The page to play on, for what `choices` offers, and its Content-Security-Policy."""
    data = {"theme": "auto", "offered": offered}
    scripts = ("connection.js", "form.js", "play.js")
    return _page("play.html", scripts, "hexenv", data, "; connect-src 'self'")


def check_theme(theme: str) -> None:
    """Refuse a theme that pages do not have, with a ValueError."""
    if theme not in PAGE_THEMES:
        raise ValueError(f"expected a theme of {', '.join(PAGE_THEMES)}, got {theme!r}")


def _page(
    template: str, scripts: tuple[str, ...], title: str, data: Values, more_policy: str = ""
) -> tuple[str, str]:
    """A page and its Content-Security-Policy, which allows only the page's own script.

    A page with `more_policy` is served with its policy as a header; any other has it within.
    """
    code = "\n".join(_source(name) for name in (*SHARED_SCRIPTS, *scripts))
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    policy = f"{NO_NETWORK}; script-src 'sha256-{digest}'{more_policy}"
    rule = f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">'
    parts = {
        "lead": NO_ICON if more_policy else rule,
        "title": html.escape(title),
        "style": _source("style.css"),
        "tools": _source("tools.html").rstrip(),
        "agent": _source("agent.html").rstrip(),
        "viewer": _source("viewer.html"),
        "data": json_for_html(data),
        "script": code,
    }
    text = _source(template).replace("{{head}}\n", _source("head.html"))
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], text)
    return page, policy


def _source(name: str) -> str:
    return (files("agents.apps.web") / "static" / name).read_text(encoding="utf-8")


def json_for_html(data: Any) -> str:
    """JSON for a ``<script>`` element: no text in it can end the element or begin another."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", text)


# ---- the data of the pages -----------------------------------------------------------------------


def replay_data(record: GameRecord, env: Any = None) -> Values:
    """The data of the replay page; the arguments are those of `replay_page`.

    Returns:
        ``title``, ``names``, ``result``, ``board`` (`board_data`) and ``frames`` (`frame_view`).

    Raises:
        ValueError: If the record breaks the rules of its game, or the game is not of `hexenv` and
            there is no environment for it.
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
        "title": title_of(record.game, record.options, game),
        "names": names,
        "result": result_text(record.outcome, record.reason, (names[0], names[1])),
        "board": board_data(game),
        "frames": frames,
    }


def _note_view(game: Game, state: State, error: ReviewedMove) -> Values:
    """An error: its ``ply``, a ``text``, its ``mark``, the ``best`` action with its ``line``.

    ``choices`` are what could be played there (`choices_view`).
    """
    mark = ARTICLES[error.mark]
    return {
        "ply": error.ply,
        "text": f"{error.move} is {mark}; better: {' '.join(error.line)}",
        "mark": mark,
        "best": game.parse_action(error.best),
        "line": error.line,
        "choices": choices_view(game, state, base.legal_actions(game, state)),
    }


def board_data(game: Game) -> Values:
    """The empty board and how stones and marks are drawn on it.

    Returns:
        ``svg``, ``css`` (the colours of all ``themes``, and of text on stones), ``fill`` and
        ``line`` (prefixes of classes) from `hexenv.render.svg`; ``path``, ``disc``, ``opacity``,
        ``arrow``, ``arrow_label`` and ``figure`` from `hexenv.render.drawing`.
    """
    return {
        "svg": board_svg(game, DEFAULT_LOOK),
        "css": "\n".join(
            theme_css(game.style, theme) + _text_css(game.style, theme) for theme in THEMES
        ),
        "themes": THEMES,
        "fill": FILL,
        "line": LINE,
        "path": PATH,
        "disc": DISC_RADIUS,
        "opacity": DISC_OPACITY,
        "arrow": ARROW,
        "arrow_label": ARROW_LABEL,
        "figure": figure_size(geometry_of(game, DEFAULT_LOOK)),
    }


def _text_css(style: str, theme: Theme) -> str:
    """The rule with the colours of text on stones: black or white, whichever is easier to read."""
    paints = paints_of(theme, style)
    inks = {
        player: "#000" if luminance(paints[f"stone-{player}"]) > MIDDLE_LUMINANCE else "#fff"
        for player in (0, 1)
    }
    values = "".join(f"--on-stone-{player}:{ink};" for player, ink in inks.items())
    return f".hexenv.{style}.{theme}{{{values}}}"


def frame_view(game: Game, state: State, move: Values | None = None) -> Values:
    """A position, and the move that led there (a `move_view`).

    Returns:
        ``owners``: a text of ``X``, ``O`` and ``.``, a letter for each cell; ``player``: who is to
        move, None if the game is over; ``outcome``: then 1, 0 or -1 for player 0; ``last`` and
        ``winning``: cells to mark; ``move``; ``search``: None, to be filled by `search_view`.
    """
    owners = base.cell_owners(game, state).ravel().tolist()
    last = game.last_cell(state)
    return {
        "owners": "".join("." if owner == EMPTY else SYMBOLS[owner] for owner in owners),
        "player": None if game.is_terminal(state) else int(game.to_play(state)),
        "outcome": int(game.outcome(state, 0)) if game.is_terminal(state) else None,
        "last": None if last == NO_ACTION else int(last),
        "winning": [int(cell) for cell in game.winning_cells(state)],
        "move": move,
        "search": None,
    }


def move_view(game: Game, state: State, action: int, seconds: float | None) -> Values:
    """An action (``action``, ``text``, ``player``, ``seconds``) in the position before it."""
    text, player = game.action_text(action), int(game.to_play(state))
    return {"action": action, "text": text, "player": player, "seconds": seconds}


def search_view(game: Game, state: State, search: Search) -> Values:
    """A search from a position.

    Returns:
        ``seconds``, ``simulations``, ``value`` and ``proven`` as in `Search`; ``actions``, the most
        visited first, each with ``action``, ``text``, ``cell``, ``arrow`` (two cells), ``visits``,
        ``value`` and ``prior`` (None if unknown), and ``proven``, whether the value is; ``line``:
        the principal variation (`line_view`);
        ``ends``: whether the game is over after it.
    """
    known = {**search.visits, **search.values, **search.priors}
    actions = [
        {
            "action": action,
            "text": game.action_text(action),
            "cell": cell_of(game, state, action),
            "arrow": arrow_of(game, state, action),
            "visits": search.visits.get(action),
            "value": search.values.get(action),
            "prior": search.priors.get(action),
            "proven": action in search.proven_actions,
        }
        for action in sorted(known, key=lambda action: (-search.visits.get(action, 0), action))
    ]
    line, ends = line_view(game, state, search.principal_variation)
    return {
        "seconds": search.seconds,
        "simulations": search.simulations,
        "value": search.value,
        "proven": search.proven,
        "actions": actions,
        "line": line[:MAX_LINE],
        "ends": ends and len(line) <= MAX_LINE,
    }


def line_view(game: Game, state: State, actions: tuple[int, ...]) -> tuple[list[Values], bool]:
    """A sequence of moves from a position, and whether it ends the game.

    Of each move: ``text``, ``cell`` and ``player``.
    """
    state = base.clone(game, state)
    line: list[Values] = []
    for action in actions:
        text, cell = game.action_text(action), cell_of(game, state, action)
        line.append({"text": text, "cell": cell, "player": int(game.to_play(state))})
        game.step(state, action)
    return line, bool(game.is_terminal(state))


def explain_data(found: Explanation) -> Values:
    """The data of the page that explains a search.

    Returns:
        ``parts``, as those of an `Explanation`; ``board`` (`board_data`); ``root`` (`frame_view`);
        and ``steps``, each with ``way`` (`line_view`), ``end`` (of a `frame_view`, or
        None), ``reward``, ``isExpanded``, ``after`` (visits, value and proof of each node on the
        way), and ``choices``, whose ``candidates`` are the best ones of ``count``.
    """
    game, root = found.game, found.root
    return {
        "parts": found.parts,
        "board": board_data(game),
        "root": frame_view(game, root),
        "steps": [_step_view(game, root, step) for step in found.steps],
    }


def _step_view(game: Game, root: State, step: Step) -> Values:
    way, _ = line_view(game, root, step.actions)
    end = None if step.end is None else frame_view(game, step.end)
    after = zip(step.visits, map(_short, step.values), step.proofs, strict=True)
    return {
        "way": way,
        "end": end and {key: end[key] for key in ("owners", "winning", "outcome")},
        "reward": _short(step.reward),
        "isExpanded": step.is_expanded,
        "after": list(after),
        "choices": [
            {
                "text": game.action_text(choice.action),
                "reason": choice.reason,
                "count": len(choice.candidates),
                "candidates": [_candidate_view(game, one) for one in _shown(choice)],
                "others": [(factor, game.action_text(one)) for factor, one in choice.others],
            }
            for choice in step.choices
        ],
    }


def _shown(choice: Choice) -> list[Candidate]:
    """The first candidates, and the one that was chosen."""
    first = list(choice.candidates[:MAX_CANDIDATES])
    chosen = [one for one in choice.candidates[len(first) :] if one.action == choice.action]
    return first[: MAX_CANDIDATES - len(chosen)] + chosen


def _candidate_view(game: Game, one: Candidate) -> Values:
    return {
        "text": game.action_text(one.action),
        "visits": one.visits,
        "value": _short(one.value),
        "score": _short(one.score),
        "parts": list(map(_short, one.parts)),
        "isLeftOut": one.is_left_out,
    }


def _short(number: float | None) -> float | None:
    """A number with few digits, of which a page has many; None for what JSON cannot say."""
    return None if number is None or not math.isfinite(number) else round(number, 4)


def choices_view(game: Game, state: State, legal: list[int]) -> Values:
    """What a player may click, from the legal actions.

    Returns:
        ``cells``: for each cell that plays an action the ``action``, its ``text`` and the ``cell``
        that it fills; ``others``: ``action`` and ``text`` of the actions without a cell;
        ``refused``: for each other cell why it may not be played.
    """
    found: Values = {"cells": {}, "others": [], "refused": {}}
    for action in set(range(game.num_actions())) - set(legal):
        found["refused"] |= dict.fromkeys(
            cells_of(game, state, action), game.why_illegal(state, action)
        )
    for action in legal:
        text, cell = game.action_text(action), cell_of(game, state, action)
        choice = {"action": action, "text": text, "cell": cell}
        if cell is None:
            found["others"].append({"action": action, "text": text})
        else:
            found["cells"] |= dict.fromkeys(cells_of(game, state, action), choice)
    return found


def result_text(outcome: int | None, reason: str | None, names: tuple[str, str]) -> str:
    """How a game ended; an empty text while it goes on.

    The outcome is that for player 0, None for a game without an end.
    """
    if outcome is None:
        return "" if reason is None else f"stopped: {reason}"
    if outcome == 0:
        words = "a draw"
    else:
        name = names[0 if outcome > 0 else 1]
        words = f"{name} {'win' if name == 'you' else 'wins'}"
    return words if reason is None else f"{words} ({reason})"
