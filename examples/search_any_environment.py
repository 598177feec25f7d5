"""UCT over an environment it has never heard of: PettingZoo's own Connect Four (needs pygame).

The same search that runs compiled over the games of `hexenv` runs interpreted here, through the
environment's own step and a copy of it.
"""

from importlib import import_module

from agents import UCT, RandomAgent
from agents.arena import play_game

env = import_module("pettingzoo.classic.connect_four.connect_four").env()
env.reset()
result = play_game(env, [UCT(simulations=50, seed=1), RandomAgent(seed=2)])
print(f"UCT {'won' if result.outcome > 0 else 'did not win'} after {len(result.actions)} plies")
assert result.illegal is None
