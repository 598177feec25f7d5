"""Evaluators of positions, such as networks: what they say, and the check of it."""

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.common.messages import shortened
from hexenv.games.notation import board_text


class PolicyError(ValueError):
    """What a policy or an evaluator says and cannot be used; `row` is the board of the batch."""

    def __init__(self, message: str, row: int = 0) -> None:
        super().__init__(message)
        self.row = row


class Evaluator(Protocol):
    """Gives priors and values of positions, many at once."""

    def evaluate(self, game: Any, states: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Evaluate ``(n,)`` states, or a list of them, of which none is terminal.

        Returns:
            Priors ``(n, num_actions())``, finite and at least 0, of which those of illegal actions
            are ignored and the others scaled to add up to 1 (where all are 0, they are equal); and
            values ``(n,)`` in [-1, 1] for the player to move. A search refuses anything else by a
            `PolicyError` with the evaluator's `title`, `name` or class (see `evaluations`).
        """
        ...


EvaluatorSource: TypeAlias = Evaluator | Callable[[NDArray[Any]], Any] | str
"""What searches take as an evaluator; see `agents.policies.policy.as_evaluator`."""

LARGEST: Final = 1.001
"""The greatest size of a value: half precision may add to a 1. The search takes it as a 1."""


INFINITY: Final = 0x7F800000
"""The bits of an infinite float32."""


def evaluations(
    evaluator: Evaluator, game: Any, states: Any
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """An evaluator's priors and values of positions, checked.

    Raises:
        PolicyError: Naming the evaluator, how many numbers are wrong, and the first position with
            one, if the answer is not as `Evaluator` has it.
    """
    answer = evaluator.evaluate(game, states)
    try:
        return checked(answer, (len(states), game.num_actions()))
    except PolicyError as error:
        where = position_text(game, states[error.row])
        message = f"{name_of(evaluator)}: {error}, in a search ({where})"
        raise PolicyError(message, error.row) from None


def checked(answer: Any, shape: tuple[int, ...]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Priors of this shape, ``(n, num_actions)``, and as many values, or a `PolicyError`."""
    try:
        priors, values = map(_array, answer)
        if priors.shape != shape or values.size != len(priors):
            raise ValueError
    except (TypeError, ValueError):
        shapes = f"expected priors of shape {shape} and values of shape {shape[:1]}"
        raise PolicyError(f"{shapes}, got {_shapes_of(answer)}") from None
    values = values.reshape(-1)
    # As whole numbers, NaN, infinity and what is below 0 are the greatest: one look at all.
    if np.maximum.reduce(priors.view(np.uint32), None) >= INFINITY:
        wrong = ~(np.isfinite(priors) & (priors >= 0.0))
        refuse(wrong, "expected priors that are finite and at least 0", priors)
    if not all(-LARGEST <= value <= LARGEST for value in values.tolist()):
        refuse(~(np.abs(values) <= LARGEST), "expected values from -1 to 1", values)
    return priors, values


def _shapes_of(answer: Any) -> str:
    """What an answer is, for a message: shapes, if it is a pair of arrays."""
    parts: list[Any] = list(cast("Any", answer)) if isinstance(answer, (tuple, list)) else []
    shapes = [str(tuple(part.shape)) for part in parts if hasattr(part, "shape")]
    return f"shapes {' and '.join(shapes)}" if len(shapes) == 2 else shortened(answer)


def _array(numbers: Any) -> NDArray[np.float32]:
    """An array, also of a tensor of PyTorch."""
    if type(numbers) is not np.ndarray and hasattr(numbers, "detach"):
        numbers = numbers.detach().cpu()
    return np.ascontiguousarray(numbers, np.float32)


def refuse(wrong: Any, expected: str, given: Any = None) -> None:
    """Raise for the first row with something wrong, if there is one: what, and how many are."""
    if wrong.any():
        got = "none" if given is None else given[wrong][0]
        row = int(np.argwhere(wrong)[0, 0])
        raise PolicyError(f"{expected}, got {got} ({wrong.sum()} of {wrong.size})", row)


def name_of(evaluator: Any) -> str:
    """What to call an evaluator in a message."""
    named = getattr(evaluator, "title", None) or getattr(evaluator, "name", None)
    return str(named or type(evaluator).__name__)


def position_text(game: Any, state: Any) -> str:
    """A position in a search, for a message: ``ply 2: X . . / . O . / . . .``."""
    if hasattr(state, "env"):  # of a foreign environment
        return f"{state.env.agent_selection} to move in {state.env}"
    rows = board_text(game, state).splitlines()
    shown = " / ".join(rows) if len("".join(rows)) > 1 else shortened(state.tolist())
    return f"ply {state.ply}: {shown}"
