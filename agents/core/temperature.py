"""Actions that are drawn: the higher the temperature, the more evenly."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def draw_action(visits: NDArray[np.int64], temperature: float, rng: np.random.Generator) -> int:
    """An action with probability in proportion to ``visits ** (1 / temperature)``."""
    return int(draw_actions(visits[None], temperature, np.array([rng.random()]))[0])


def draw_actions(
    weights: NDArray[Any], temperature: float, draws: NDArray[np.float64]
) -> NDArray[np.int32]:
    """An action for each row, with probability in proportion to ``weight ** (1 / temperature)``.

    `weights` are ``(N, num_actions)``, with something above 0 in every row; `draws` are ``(N,)``,
    from [0, 1); `temperature` is above 0.
    """
    relative = weights / weights.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore", over="ignore"):  # to -inf
        logits = np.log(relative, dtype=np.float64) / temperature
    shares: NDArray[np.float64] = np.cumsum(np.exp(logits), axis=1)
    return (shares <= draws[:, None] * shares[:, -1:]).sum(axis=1).astype(np.int32)
