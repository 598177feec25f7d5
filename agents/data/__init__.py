"""Data from games of agents: positions with what the searches found, in files for learning.

`make_data` plays the games and writes them (`hexenv data`), `Data` reads them again, and
`agents.data.positions.Positions` says what there is of each position and whose side it is on.
`agents.learning.data` has a dataset of PyTorch.
"""

from agents.data.folder import Data
from agents.data.making import make_data
from agents.data.playing import Recipe
from agents.data.positions import Positions

__all__ = ["Data", "Positions", "Recipe", "make_data"]
