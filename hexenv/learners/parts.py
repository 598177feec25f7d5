"""The boards of a vector environment in parts, each stepped by a thread of its own."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hexenv.cpus import usable_cpus
from hexenv.envs.aec import BoardEnv
from hexenv.games.base import whole_number
from hexenv.learners.boards import Boards, Opponent
from hexenv.learners.learner import LearnerOptions

CELLS_PER_THREAD: Final = 200_000
"""Cells of all boards that make a step long enough to be worth a thread of its own: handing a part
to another thread and back takes about a fifth of a millisecond."""

T = TypeVar("T")


class Part(NamedTuple):
    """The boards that one thread steps, and where among all they are."""

    boards: Boards
    place: slice


class Parts:
    """Boards in parts of about one size.

    Args:
        env: Tells the game and how it is shown.
        count: How many boards.
        opponents: Who plays the other side; none: nobody.
        threads: In how many threads; None: as many as pay. With opponents that are not compiled it
            is one.
        options: The learner's.

    Attributes:
        masks: ``(count, num_actions) int8``: what the learner may play on all boards.

    Raises:
        ValueError: If an option is out of its range.
    """

    _pool: ThreadPoolExecutor | None = None

    def __init__(
        self,
        env: BoardEnv,
        count: int,
        opponents: Sequence[Opponent],
        threads: int | None,
        options: LearnerOptions,
    ) -> None:
        self.masks = np.ones((count, env.game.num_actions()), np.int8)
        if threads is None:
            worth = count * env.game.rows * env.game.columns // CELLS_PER_THREAD
            threads = max(1, min(usable_cpus(), worth))
        elif whole_number("threads", threads) < 1:
            raise ValueError(f"expected threads of at least 1, got {threads}")
        if not all(one.is_compiled for one in opponents):
            threads = 1
        borders = np.linspace(0, count, min(threads, count) + 1).astype(int)
        self._parts: list[Part] = []
        for start, stop in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
            boards = Boards(env, stop - start, start if count > 1 else None, **options)
            boards.set_opponents(opponents)
            self._parts.append(Part(boards, slice(start, stop)))
        self._share_masks()

    def _share_masks(self) -> None:
        """Let the boards of every part write their masks among those of all."""
        for part in self._parts:
            part.boards.masks = self.masks[part.place]

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    def each(self, step: Callable[[Part], T]) -> list[T]:
        """Call a function on every part, each in a thread of its own where that can be."""
        if len(self._parts) == 1:
            return [step(self._parts[0])]
        if not all(part.boards.is_compiled for part in self._parts):
            try:
                return [step(part) for part in self._parts]
            except BaseException:
                for part in self._parts:  # an opponent has failed: as if all were of one part
                    part.boards.idle[:] = True
                raise
        self._pool = self._pool or ThreadPoolExecutor(len(self._parts) - 1)
        rest = [self._pool.submit(step, part) for part in self._parts[1:]]
        try:
            first = step(self._parts[0])
        finally:
            wait(rest)  # whatever happens, nobody writes on once this returns
        return [first] + [one.result() for one in rest]

    @property
    def idle(self) -> NDArray[np.bool_]:
        """``(count,)``: the boards on which no episode is under way."""
        return np.concatenate([part.boards.idle for part in self._parts])

    @property
    def states(self) -> NDArray[Any]:
        """``(count,)`` positions, a copy."""
        states = np.zeros(len(self.masks), self._parts[0].boards.states.dtype)
        for part in self._parts:  # concatenate would make plain void of records
            states[part.place] = part.boards.states
        return states

    def new_planes(self) -> NDArray[Any]:
        """Room for what is seen on all boards."""
        return self._parts[0].boards.new_planes(len(self.masks))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}  # threads cannot be copied

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self._share_masks()  # copied, they are no longer parts of all

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
