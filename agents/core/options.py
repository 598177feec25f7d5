"""The types of agents' options: what each may be."""

import math
from typing import Annotated, Final, TypeAlias

from hexenv.common.options import Within

DEFAULT_SIMULATIONS: Final = 1_000
MOST_SIMULATIONS: Final = 10**12
"""Of a move: days of the fastest search."""

NonNegative: TypeAlias = Annotated[float, Within()]
"""A number from 0, such as the weight of exploration."""
Share: TypeAlias = Annotated[float, Within(0.0, 1.0)]
Simulations: TypeAlias = Annotated[int | None, Within(1, MOST_SIMULATIONS)]
Seconds: TypeAlias = Annotated[float | None, Within(1e-9)]
FirstPlayUrgency: TypeAlias = Annotated[float, Within(-1e9, math.inf)]


def with_default(simulations: int | None, seconds: float | None) -> int | None:
    """The simulations of a move; `DEFAULT_SIMULATIONS` where there is no budget."""
    return DEFAULT_SIMULATIONS if simulations is None and seconds is None else simulations
