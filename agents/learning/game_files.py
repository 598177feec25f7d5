"""The games of a training run in files, as long as its replay buffer has them."""

from agents.learning.replay import Games, ReplayBuffer, load_games, save_games
from agents.learning.run_directory import RunDirectory


class GameFiles:
    """A file for each iteration in which games ended.

    Args:
        directory: Of the run.
        buffer: What the games are for.

    Attributes:
        shards: The iterations that have a file, and how many positions there were before each.
    """

    def __init__(self, directory: RunDirectory, buffer: ReplayBuffer) -> None:
        self._directory = directory
        self._buffer = buffer
        self.shards: list[tuple[int, int]] = []

    def add(self, number: int, games: Games) -> None:
        """Add an iteration's games to the buffer, and write them to their file."""
        about = {"iteration": number, "first": self._buffer.total}
        save_games(self._directory.file("games", number, "npz"), games, self._buffer.game, about)
        self.shards.append((number, self._buffer.total))
        self._buffer.add(games)

    def drop(self, oldest: int, keep: bool) -> None:
        """Forget the files that the buffer does not need any more, as it was after an iteration.

        Args:
            oldest: The iteration.
            keep: Whether the files are left where they are.
        """
        later = [first for number, first in self.shards if number > oldest]
        total = later[0] if later else self._buffer.total  # positions after that iteration
        needed = self._needed(total, self._buffer.total)
        while self.shards and self.shards[0] not in needed:
            number, _ = self.shards.pop(0)
            if not keep:
                self._directory.file("games", number, "npz").unlink(missing_ok=True)

    def _needed(self, total: int, end: int) -> list[tuple[int, int]]:
        """The shards from the oldest that the buffer has after so many positions to the end."""
        ends = [*(first for _, first in self.shards[1:]), end]
        oldest = total - self._buffer.capacity
        return [shard for shard, last in zip(self.shards, ends, strict=False) if last > oldest]

    def refill(self, total: int) -> None:
        """Fill the buffer from the files.

        Args:
            total: The positions that there were so far.

        Raises:
            OSError: If a file cannot be read.
            ValueError: If one is damaged, or not that of this run.
        """
        buffer, shards = self._buffer, self._needed(total, total)
        buffer.total = shards[0][1] if shards else 0
        ends = [*(first for _, first in shards[1:]), total]
        for (number, first), end in zip(shards, ends, strict=False):
            path = self._directory.file("games", number, "npz")
            buffer.add(load_games(path, buffer.game))
            if buffer.total != end:
                count = buffer.total - first
                raise ValueError(f"expected {end - first} positions in {path}, got {count}")
