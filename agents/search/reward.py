from typing import Any, NamedTuple
from hexenv.compiled import compiled

@compiled
class WinLoss(NamedTuple):
    draw: float = 0.5

    def shape(self, game: Any, state: Any, player: int) -> float:
        outcome = game.outcome(state, player)
        if outcome == 0:
            return self.draw
        return 1.0 if outcome > 0 else 0.0
