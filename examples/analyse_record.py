"""A game is recorded, read again, and each of its moves compared with perfect play."""

from pathlib import Path

from agents import UCT
from agents.arena import play_game
from agents.records import Recorder, load_record, save_record
from agents.records.films import film_of
from agents.solvers import solver
from hexenv import hex_v0

env = hex_v0.env(board_size=5)
env.reset()
players = [UCT(simulations=30, seed=2), UCT(simulations=300, seed=1)]
recorder = Recorder("hex", ["board_size=5"], ["hasty", "careful"], players)
result = play_game(env, players, on_move=recorder.on_move)
save_record(recorder.record(result), "game.json")

record = load_record("game.json")  # checked against the rules as it is read
env.reset()
for ply, (action, search) in enumerate(zip(record.actions, record.searches, strict=True)):
    best = solver.best_actions(env)  # all moves that keep what the position is worth
    move = env.unwrapped.game.action_text(action)
    thought = f"{search.value:+.2f}" if search and search.value is not None else "     "
    mistake = "" if action in best else f"  loses what {len(best)} others keep"
    print(f"{ply + 1:2} {record.agents[ply % 2]:8} {move}  thought it {thought}{mistake}")
    env.step(action)

film = film_of(record, overlay="visits")  # what the search looked at is drawn on each board
Path("game.svg").write_text(film.svg(4))
