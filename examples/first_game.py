"""A game of Hex between two tree searches, and a picture of its end: the home page shows both."""

from pathlib import Path

from agents import RAVE, UCT
from hexenv import hex_v0

env = hex_v0.env(board_size=7, render_mode="svg")
env.reset()
rave = RAVE(simulations=1_000, seed=1)
uct = UCT(simulations=1_000, seed=2)
for player in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    agent = rave if player == "player_0" else uct
    done = termination or truncation
    env.step(None if done else agent.act(env))
Path("first_game.svg").write_text(str(env.render()))
print("first_game.svg shows the end:", env.unwrapped.moves)
