"""Games in texts of any known format: what people paste, and what a link says."""

import re
from typing import Any, Final

from agents.apps.protocols.analysis_engine import variations_of
from agents.core.reading import as_object, parse_json
from agents.records import GameRecord
from agents.records.files import record_of
from agents.records.psq import read_psq
from agents.records.record import StartPosition
from agents.records.sgf import read_variations
from agents.records.variations import Variations
from agents.registry import make_environment
from hexenv.games import notation

HEXWORLD: Final = re.compile(r"#(\d{1,2})(?:x(\d{1,2}))?[a-z]*\d*,(\S*)")
HEXWORLD_MOVE: Final = re.compile(r"[a-z]\d{1,2}|:s")
"""Stones and the swap; games with a pass or a resignation are refused."""


def read_pasted(text: str, game: str, options: tuple[str, ...]) -> Variations:
    """The game that a text tells, with its variations.

    Args:
        text: Moves (``4453``, ``a1 b2``), a board of ``X``, ``O`` and ``.``, SGF, psq, a link of
            hexworld.org, a record of this project, or a query of KataGo's analysis engine.
        game: A game of `hexenv`, where the text does not say.
        options: ``key=value`` texts for it.

    Raises:
        ValueError: If it is none of these, or a move is not legal.
    """
    text = text.strip()
    if text.startswith("("):
        return next(iter(read_variations(text)))
    if text.startswith("{"):
        said = as_object(parse_json(text))
        if "format" in said:
            return Variations.of(record_of(said))
        return variations_of(said, game, options)
    if text.lower().startswith("piskvorky"):
        return Variations.of(read_psq(text, ()))
    if found := HEXWORLD.search(text):  # after the files, whose comments may have a link
        return _of_hexworld(found[1], found[2] or found[1], found[3])
    if set(text) <= set("XO./ \r\n") and set(text) & set("XO."):
        rules = make_environment(game, options).unwrapped.game
        state = notation.parse_board(rules, text, None, notation.OUT_OF_TURN)
        return Variations(game, options, start=StartPosition.of(rules, state))
    return _played(game, options, text)


def _of_hexworld(columns: str, rows: str, moves: str) -> Variations:
    parts = re.findall(HEXWORLD_MOVE, moves)
    if "".join(parts) != moves:
        raise ValueError(f"expected moves such as a10d4:s in the link, got {moves[:40]}")
    size = columns if rows == columns else f"{rows}x{columns}"
    options = (f"board_size={size}", f"swap={'true' if ':s' in parts else 'false'}")
    return _played("hex", options, " ".join("swap" if part == ":s" else part for part in parts))


def _played(game: str, options: tuple[str, ...], words: str) -> Variations:
    """The game after moves in its own notation."""
    env: Any = make_environment(game, options)
    env.reset(options={"moves": words})
    return Variations.of(GameRecord.of(game, options, env.unwrapped.actions))
