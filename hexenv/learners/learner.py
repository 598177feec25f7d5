"""What the environments of one learner have in common: their options, and the game behind them."""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, Literal, TypedDict, cast, get_args

import numpy as np
from numpy.typing import NDArray

from hexenv.envs.aec import BoardEnv, ViewOptions

SIDES: Final = ("first", "second", "random")
ILLEGAL: Final = ("terminate", "raise", "penalise")


class LearnerOptions(TypedDict, total=False):
    """The options that the single-agent and the vector environments share.

    Attributes:
        side: The learner's: ``"first"`` to move, ``"second"``, or (default) ``"random"``, drawn
            from the seed for every episode.
        illegal: What an illegal action does. ``"terminate"`` (default): the episode ends, with
            reward -1. ``"raise"``: `hexenv.IllegalActionError`, and nothing has changed.
            ``"penalise"``: the reward is `penalty`, the learner is to move again, and the
            `max_illegal`-th of an episode truncates it.
        penalty: Reward of an illegal action with ``"penalise"``, at most 0; -0.1 by default.
        max_illegal: 10 by default.
    """

    side: Literal["first", "second", "random"]
    illegal: Literal["terminate", "raise", "penalise"]
    penalty: float
    max_illegal: int


OF_LEARNER = tuple(LearnerOptions.__annotations__)


def split_options(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The options of `LearnerOptions`, and those for the game."""
    of_learner = {key: options[key] for key in options if key in OF_LEARNER}
    return of_learner, {key: options[key] for key in options if key not in OF_LEARNER}


def make_raw_env(game: str | Callable[..., BoardEnv], options: dict[str, Any]) -> BoardEnv:
    """The environment behind a Gymnasium one.

    Args:
        game: A function that makes it, or its name, as in ``"hexenv.hex_v0:raw_env"``.
        options: Arguments for the function.

    Raises:
        TypeError: If there is no such option.
    """
    if isinstance(game, str):
        module, _, name = game.partition(":")
        game = cast("Callable[..., BoardEnv]", getattr(import_module(module), name))
    parameters = inspect.signature(game).parameters.values()
    # Without these at its end it takes what it likes, and says itself what it does not.
    if any(get_args(one.annotation) == (ViewOptions,) for one in parameters):
        own = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]
        known = [*own, *ViewOptions.__annotations__]
        for name in set(options).difference(known):
            known += ["opponent", *OF_LEARNER]
            raise TypeError(f"expected an option of {', '.join(known)}, got {name!r}")
    return game(**options)


def action_array(actions: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Actions as an array of integers.

    Raises:
        ValueError: If they are none, or of another shape.
    """
    array = np.asarray(actions)
    if array.shape != shape or array.dtype.kind not in "iu":
        expected = f"actions of shape {shape}" if shape else "an action"
        got = f"shape {array.shape} of {array.dtype}" if array.ndim or shape else repr(actions)
        raise ValueError(f"expected {expected} as integers, got {got}")
    return np.ascontiguousarray(array, np.int64)  # compiled code looks at no strides
