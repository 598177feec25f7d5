"""Claims about a game that need no play: its names, the texts of its actions, its symmetries."""

from typing import get_args

import numpy as np

from hexenv.games.base import STATE_FIELDS, Game, Style
from hexenv.testing.log import fail


def check_names(game: Game) -> None:
    """The class's attributes, the margins, and that moves can be written and read."""
    if game.name != game.name.lower() or not game.name.isidentifier():
        fail(game, "name", "an identifier in lower case", repr(game.name))
    if game.style not in get_args(Style):
        fail(game, "style", f"one of {', '.join(get_args(Style))}", repr(game.style))
    fields = dict(game.state_dtype.fields or {})
    for field, kind in STATE_FIELDS:
        if field not in fields or fields[field][0] != kind:
            fail(game, "state_dtype", f"a field {field!r} of {kind.__name__}", game.state_dtype)
    for margin, labels, size in zip(
        ("columns", "rows"), game.labels(), (game.columns, game.rows), strict=True
    ):
        if len(labels) not in (0, size) or len(set(labels)) != len(labels):
            fail(game, f"labels of the {margin}", f"{size} different ones or none", labels)
    planes = game.planes()
    if len(planes) < 2 or len(set(planes)) != len(planes):
        fail(game, "planes", "own, opponent and others by different names", planes)
    _check_action_texts(game)


def _check_action_texts(game: Game) -> None:
    actions_of: dict[str, int] = {}
    for action in range(game.num_actions()):
        text = game.action_text(action)
        if text != text.lower() or not text or set(text) & set(" ,\t\n"):
            fail(game, f"action_text({action})", "lower case without blanks", repr(text))
        if text in actions_of:
            fail(game, f"action_text({action})", f"not that of {actions_of[text]}", repr(text))
        actions_of[text] = action
        read = _action_read(game, text)
        if read != action:
            fail(game, f"parse_action({text!r})", action, read)
    for text in ("", "?", "no move", "a-1", "zz99"):
        read = _action_read(game, text)
        if not isinstance(read, ValueError):
            fail(game, f"parse_action({text!r})", "a ValueError", read)


def _action_read(game: Game, text: str) -> int | ValueError:
    try:
        return game.parse_action(text)
    except ValueError as error:
        return error


def check_symmetry_group(game: Game) -> None:
    """Permutations of the actions, the identity first, with all that follows from them."""
    images = game.symmetries()
    actions = np.arange(game.num_actions())
    if images.ndim != 2 or images.shape[1] != len(actions) or images.dtype != np.int32:
        expected = f"(any, {len(actions)}) of int32"
        fail(game, "symmetries", expected, f"{images.shape} of {images.dtype}")
    for image in images:
        if not np.array_equal(np.sort(image), actions):
            fail(game, "symmetries", "permutations of the actions", image)
    if not np.array_equal(images[0], actions):
        fail(game, "symmetries", "the identity first", images[0])
    group = {image.tobytes() for image in images}
    if len(group) != len(images):
        fail(game, "symmetries", f"{len(images)} different ones", len(group))
    for first in images:
        for then in images:
            if then[first].tobytes() not in group:
                fail(game, "symmetries", f"{first} and then {then} among them", images)
