"""How long games last after one side has proven that it wins.

Of each game: the ply of the first proof, how many stones the winner then needed at least (were the
other side to pass), and how many plies were played from there to the end.

    python tests/benchmarks/endings.py hex hexpert:simulations=200 --options board_size=11
"""

import argparse
import statistics
import sys
from collections import deque
from collections.abc import Sequence
from typing import Any

from agents.registry import make_agent, make_environment


def stones_needed(env: Any, player: int) -> int | None:
    """The fewest stones with which a player of Hex joins both sides; None in other games."""
    game, board = env.unwrapped.game, env.unwrapped
    if game.name != "hex":
        return None
    from agents.knowledge.hex.h_search import new_grid
    from hexenv.games import base

    grid = new_grid(game.rows, game.columns)
    owners = base.cell_owners(game, board.state).ravel()
    cost: list[int] = [0 if owner == player else 1 for owner in owners]
    best: dict[int, int] = {}
    queue = deque(
        (cost[cell], cell)
        for cell in range(len(owners))
        if grid.sides[player, cell] == 1 and owners[cell] != 1 - player
    )
    while queue:
        so_far, cell = queue.popleft()
        if best.get(cell, 10**6) <= so_far:
            continue
        best[cell] = so_far
        near: int
        for near in grid.around[cell].tolist():
            if near >= 0 and owners[near] != 1 - player:
                queue.append((so_far + cost[near], near))
    return min(best[cell] for cell in best if grid.sides[player, cell] == 2)


def play(game: str, options: Sequence[str], specs: Sequence[str], seed: int) -> dict[str, Any]:
    """One game, with the first move drawn: when it was proven and ended, and who won."""
    env = make_environment(game, options)
    env.reset(seed=seed)
    agents = [make_agent(spec, seed + side) for side, spec in enumerate(specs)]
    import numpy as np

    legal = np.flatnonzero(env.observe(env.agent_selection)["action_mask"])
    env.step(int(legal[int(np.random.default_rng(seed).random() * len(legal))]))
    found: dict[str, Any] = {"proof": None, "winner": None, "needed": None}
    while not any(env.terminations.values()):
        state = env.unwrapped.state
        mover = int(env.unwrapped.game.to_play(state))
        action = agents[mover].act(env)
        shown = agents[mover].statistics
        if found["proof"] is None and shown is not None and shown.proven:
            found["proof"] = int(state.ply)
            found["winner"] = mover if shown.proven > 0 else 1 - mover
            found["needed"] = stones_needed(env, found["winner"])
        env.step(action)
    state = env.unwrapped.state
    won = int(env.unwrapped.game.outcome(state, 0))
    found["end"] = int(state.ply)
    found["kept"] = found["winner"] is None or won == (1 if found["winner"] == 0 else -1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game")
    parser.add_argument("agents", nargs="+", help="one or two")
    parser.add_argument("--options", nargs="*", default=[])
    parser.add_argument("--games", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    specs = (given.agents * 2)[:2]
    print("game  proof  needed  end  plies after  kept")
    after: list[int] = []
    lost = 0
    for number in range(given.games):
        pair = specs if number % 2 == 0 else specs[::-1]
        one = play(given.game, given.options, pair, given.seed + 2 * number)
        if one["proof"] is not None:
            after.append(one["end"] - one["proof"])
            lost += not one["kept"]
        plies = after[-1] if one["proof"] is not None else "-"
        print(
            f"{number:4}  {one['proof']!s:>5}  {one['needed']!s:>6}  {one['end']:3}  {plies!s:>11}"
            f"  {one['kept']}",
            flush=True,
        )
    if after:
        print(
            f"{len(after)} of {given.games} games proven; plies after the proof: median "
            f"{statistics.median(after):g}, most {max(after)}; proofs lost: {lost}"
        )
    sys.exit(lost > 0)


if __name__ == "__main__":
    main()
