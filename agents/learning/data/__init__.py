"""Data from games of agents: positions with what the searches found, in files for learning.

`make_data` plays the games and writes them (`hexenv data`), `Data` reads them again, and
`agents.learning.data.positions.Positions` says what there is of each position and whose side it is
on.
`agents.learning.dataset` has a dataset of PyTorch.
"""

from typing import TYPE_CHECKING

from hexenv.common.importing import import_on_demand

if TYPE_CHECKING:  # imported when they are asked for
    from agents.learning.data.folder import Data
    from agents.learning.data.making import make_data
    from agents.learning.data.playing import Recipe
    from agents.learning.data.positions import Positions

__all__ = ["Data", "Positions", "Recipe", "make_data"]

__getattr__ = import_on_demand(
    __name__,
    {
        "Data": "agents.learning.data.folder:Data",
        "Positions": "agents.learning.data.positions:Positions",
        "Recipe": "agents.learning.data.playing:Recipe",
        "make_data": "agents.learning.data.making:make_data",
    },
)
