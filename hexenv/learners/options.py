"""What learners' environments are made of: their options, the game behind them, and actions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Annotated, Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.common.messages import expect_parameters, shortened
from hexenv.common.options import NO_BOUND, AtLeastOne, Within, check_fields
from hexenv.envs.aec import BoardEnv
from hexenv.games import notation
from hexenv.games.base import Game

Side = Literal["first", "second", "random"]
Illegal = Literal["terminate", "raise", "penalise"]


@dataclass(frozen=True)
class LearnerOptions:
    """The options that the single-agent and the vector environments share.

    Attributes:
        side: The learner's side: ``"first"`` to move, ``"second"``, or ``"random"``, drawn from the
            seed for every episode.
        illegal: The effect of an illegal action. ``"terminate"``: the episode ends, with reward -1.
            ``"raise"``: `hexenv.IllegalActionError`, and nothing changes. ``"penalise"``: the
            reward is `penalty`, the learner is to move again, and the `max_illegal`-th illegal
            action of an episode truncates it.
        penalty: Reward of an illegal action with ``"penalise"``, at most 0.
        max_illegal: See `illegal`.

    Raises:
        ValueError: If an option is out of its range.
    """

    side: Side = "random"
    illegal: Illegal = "terminate"
    penalty: Annotated[float, Within(-NO_BOUND, 0.0)] = -0.1
    max_illegal: AtLeastOne = 10

    def __post_init__(self) -> None:
        check_fields(self)


def take_options(
    game: str | Callable[..., BoardEnv], options: dict[str, Any], also: Iterable[str] = ()
) -> tuple[BoardEnv, LearnerOptions]:
    """The environment behind a Gymnasium one, and the learner's options, of all options.

    Args:
        game: A function that makes the environment, or its name.
        options: Those of the learner and of that function.
        also: Further options that there are, for messages.

    Raises:
        TypeError: If the function does not have one of the options, naming those that there are.
        ValueError: If an option is out of its range, or there is no such function.
    """
    if isinstance(game, str):
        module, _, name = game.partition(":")
        try:
            game = cast("Callable[..., BoardEnv]", getattr(import_module(module), name))
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(f"expected a game as module:function, got {game!r}: {error}") from None
    if not callable(game):
        raise TypeError(f"expected a function that makes an environment, got {shortened(game)}")
    make: Any = game
    made_by = getattr(make, "func", make)  # of a `functools.partial`
    title = getattr(made_by, "__module__", "").rpartition(".")[2] or "environment"
    names = [field.name for field in fields(LearnerOptions)]
    of_learner = {name: options[name] for name in names if name in options}
    of_game = {name: value for name, value in options.items() if name not in of_learner}
    expect_parameters(title, make, (), of_game, ("opponent", *also, *names))
    env = make(**of_game)
    unwrapped: Any = getattr(env, "unwrapped", None)
    if not isinstance(unwrapped, BoardEnv):
        got = shortened(env)
        raise TypeError(f"{title}: expected a function that makes a BoardEnv, got one of {got}")
    return env, LearnerOptions(**of_learner)


def action_array(actions: Any, shape: tuple[int, ...], game: Game) -> NDArray[np.int64]:
    """Actions as an array of integers; ValueError if they are none, or of another shape."""
    array = np.asarray(actions)
    if array.shape != shape or array.dtype.kind not in "iu":
        expected = f"actions of shape {shape} as integers" if shape else "an action as an integer"
        got = f", shape {array.shape} of {array.dtype}" if array.ndim or shape else ""
        raise ValueError(
            f"expected {expected} from 0 to {game.num_actions() - 1}, "
            f"got {shortened(actions)}{got}{notation.action_of_move(game, actions)}"
        )
    return np.ascontiguousarray(array, np.int64)  # compiled code assumes no strides
