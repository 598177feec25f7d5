"""The documented PettingZoo loop over Hex, with random legal moves and the board at the end."""

from hexenv import hex_v0

env = hex_v0.env(board_size=5, swap=True, render_mode="ansi")
env.reset(seed=42)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    if termination or truncation:
        action = None
        print(f"{agent} got {reward:+.0f}")
    else:
        action = int(env.action_space(agent).sample(info["action_mask"]))
    env.step(action)
print(env.render())
env.close()
