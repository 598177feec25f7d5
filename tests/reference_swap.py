"""The swap of Hex as MoHex and HexGui have it, written without ours: players exchange colours.

The stone stays. White is next after the swap too, and is then who began. The other reading, by
which the players keep their colours and the stone goes to its mirror cell, is `as_pieces`.
"""


class ExchangeGame:
    """A game in which moves are texts such as ``c2`` and ``swap-pieces``."""

    def __init__(self, size):
        self.size = size
        self.stones = {}  # colours by (column, row)
        self.to_move = "black"
        self.player_of = {"black": 0, "white": 1}

    def free(self):
        cells = [(column, row) for column in range(self.size) for row in range(self.size)]
        return [f"{chr(97 + column)}{row + 1}" for column, row in cells
                if (column, row) not in self.stones]  # fmt: skip

    def play(self, move):
        if move == "swap-pieces":
            assert list(self.stones.values()) == ["black"]
            assert self.player_of["black"] == 0
            self.player_of = {"black": 1, "white": 0}
            return
        assert move in self.free(), move
        self.stones[ord(move[0]) - 97, int(move[1:]) - 1] = self.to_move
        self.to_move = {"black": "white", "white": "black"}[self.to_move]

    def drawn(self):
        """The stones as `showboard` draws them, row by row."""
        letters = {"black": "B", "white": "W", None: "."}
        each = range(self.size)
        return ["".join(letters[self.stones.get((column, row))] for column in each) for row in each]

    def as_pieces(self):
        """The same with each player's stones as B for who began, where the pieces move."""
        rows = self.drawn()
        if self.player_of["black"] == 1:
            rows = ["".join(column) for column in zip(*rows, strict=True)]
            rows = [row.translate(str.maketrans("BW", "WB")) for row in rows]
        return rows

    def winner(self):
        """The player whose colour has joined its sides, or None."""
        for colour, axis in (("white", 0), ("black", 1)):
            own = {cell for cell, owner in self.stones.items() if owner == colour}
            waiting = [cell for cell in own if cell[axis] == 0]
            own -= set(waiting)
            while waiting:
                column, row = waiting.pop()
                if (column, row)[axis] == self.size - 1:
                    return self.player_of[colour]
                for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)):
                    beside = (column + dx, row + dy)
                    if beside in own:
                        own.remove(beside)
                        waiting.append(beside)
        return None
