"""Self-play in positions a second: ``python tests/benchmarks/self_play.py``.

Gumbel AlphaZero with 100 simulations a move on Connect4, by our lockstep games and by Pgx with
mctx, with untrained networks of the same layers, in turn, each in a process of its own on the same
core and thread; processor time, and the median of the ratios. Ours is timed with its cache of
evaluations ("asked": how many simulations needed the network then) and without; the tree's share is
the time in our compiled halves of the search. Needs ``torch``, and for the peer ``pgx`` and
``mctx``, which no extra installs.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from typing import Any

from rich.console import Console

from agents.apps.cli.shared import new_table

CHANNELS, BLOCKS = 32, 5
SIZES = [16, 64, 256]


def begin_process() -> None:
    """Before anything of JAX or PyTorch is imported: one thread on the first core."""
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


_made: dict[Any, Any] = {}
"""What a process has compiled, by its arguments."""


def ours(games: int, simulations: int, plies: int, cache: int, net: str) -> dict[str, float]:
    """Our self-play: positions a second of processor time, and the share of the tree's work."""
    import numpy as np
    import torch

    from agents.learning.configuration import make
    from agents.learning.files import load_network
    from agents.learning.saved import find_network
    from agents.learning.self_play import SelfPlay, Task, Unfinished
    from agents.search.evaluated import EvaluatedSearch

    torch.set_num_threads(1)
    key = games, simulations, cache, net
    if key not in _made:
        saved = load_network(find_network(net)) if net else None
        network = {"channels": CHANNELS, "blocks": BLOCKS, "pooling": False}
        settings: dict[str, Any] = {
            "game": "connect4",
            "network": saved.about["configuration"]["network"] if saved else network,
            "search": {"simulations": simulations, "considered": 7, "cache": cache},
            "self_play": {"games": games, "plies": plies, "opening_plies": 0},
        }
        worker = SelfPlay(make(settings))
        rng: Any = np.random.default_rng(1).bit_generator.state
        if saved:
            worker.share(saved.network.state_dict())
        task = Task(Unfinished.none(worker.game, games), rng, 0.0)
        _made[key] = worker, worker.do(task)  # compiles
    worker, before = _made[key]
    task = Task(before.unfinished, before.rng, 0.0)
    in_tree = 0.0
    call = EvaluatedSearch._call

    def timed(self: Any, *arguments: Any) -> Any:
        nonlocal in_tree
        started = time.process_time()
        result = call(self, *arguments)
        in_tree += time.process_time() - started
        return result

    EvaluatedSearch._call = timed
    started = time.process_time()
    result = worker.do(task)
    seconds = time.process_time() - started
    EvaluatedSearch._call = call
    _made[key] = worker, result
    return {
        "rate": result.figures["positions"] / seconds,
        "tree": in_tree / seconds,
        "evaluations": result.figures["evaluations"] / result.figures["simulations"],
    }


def theirs(games: int, simulations: int, plies: int) -> dict[str, float]:
    """The same by Pgx and mctx."""
    import jax

    key = games, simulations
    if key not in _made:
        _made[key] = pgx_player(games, simulations)
        jax.block_until_ready(_made[key](jax.random.PRNGKey(0), plies))
    started = time.process_time()
    jax.block_until_ready(_made[key](jax.random.PRNGKey(1), plies))
    return {"rate": games * plies / (time.process_time() - started)}


def pgx_player(games: int, simulations: int) -> Any:
    """A compiled function that plays so many plies of so many games."""
    from functools import partial

    import jax
    import jax.numpy as jnp
    import mctx
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make("connect_four")
    keys = iter(jax.random.split(jax.random.PRNGKey(7), 100))

    def weight(*shape: int) -> Any:
        fan_in = shape[0] if len(shape) == 2 else shape[0] * shape[1] * shape[2]
        return jax.random.normal(next(keys), shape) * (2.0 / fan_in) ** 0.5

    filters = [weight(3, 3, 2, CHANNELS)]
    filters += [weight(3, 3, CHANNELS, CHANNELS) for _ in range(2 * BLOCKS)]
    policy, value = weight(1, 1, CHANNELS, 16), weight(1, 1, CHANNELS, 16)
    dense = weight(16 * 42, 7), weight(16 * 42, 64), weight(64, 1)

    def convolved(x: Any, kernel: Any) -> Any:
        dims = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=dims)

    def network(observation: Any) -> Any:
        x = jax.nn.relu(convolved(observation.astype(jnp.float32), filters[0]))
        for i in range(BLOCKS):
            y = jax.nn.relu(convolved(x, filters[1 + 2 * i]))
            x = jax.nn.relu(x + convolved(y, filters[2 + 2 * i]))
        p = jax.nn.relu(convolved(x, policy)).reshape(len(x), -1)
        v = jax.nn.relu(convolved(x, value)).reshape(len(x), -1)
        v = jnp.tanh(jax.nn.relu(v @ dense[1]) @ dense[2])
        return p @ dense[0], v[:, 0]

    step, step_and_reset = jax.vmap(env.step), jax.vmap(auto_reset(env.step, env.init))

    def recurrent(params: Any, key: Any, action: Any, state: Any) -> Any:
        player = state.current_player
        state = step(state, action)
        logits, v = network(state.observation)
        logits = jnp.where(state.legal_action_mask, logits, jnp.finfo(logits.dtype).min)
        reward = state.rewards[jnp.arange(len(player)), player]
        v = jnp.where(state.terminated, 0.0, v)
        discount = jnp.where(state.terminated, 0.0, -1.0 * jnp.ones_like(v))
        out = mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=v)
        return out, state

    def ply(carry: Any, _: Any) -> Any:
        state, key = carry
        key, one, other = jax.random.split(key, 3)
        logits, v = network(state.observation)
        found = mctx.gumbel_muzero_policy(
            params=(),
            rng_key=one,
            root=mctx.RootFnOutput(prior_logits=logits, value=v, embedding=state),
            recurrent_fn=recurrent,
            num_simulations=simulations,
            invalid_actions=~state.legal_action_mask,
            max_num_considered_actions=7,
        )
        state = step_and_reset(state, found.action, jax.random.split(other, games))
        return (state, key), found.action_weights

    @partial(jax.jit, static_argnums=1)
    def play(key: Any, plies: int) -> Any:
        state = jax.vmap(env.init)(jax.random.split(key, games))
        return jax.lax.scan(ply, (state, key), None, length=plies)

    return play


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--simulations", type=int, default=100)
    parser.add_argument("--plies", type=int, default=4, help="of every game, in a timing")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="games in lockstep")
    parser.add_argument("--net", default="", help="ours plays with this network (no ratio then)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    peer = bool(find_spec("pgx") and find_spec("mctx")) and not options.net
    bare = "no cache"
    table = new_table("games", "ours", bare, "Pgx + mctx", "ratio", bare, "tree", bare, "asked")
    found: list[dict[str, Any]] = []
    for games in options.sizes:
        work = games, options.simulations, options.plies
        rows: list[dict[str, Any]] = []
        with (
            ProcessPoolExecutor(1, context, begin_process) as us,
            ProcessPoolExecutor(1, context, begin_process) as them,
        ):
            for _ in range(options.rounds):
                row = {"ours": us.submit(ours, *work, 1 << 16, options.net).result()}
                row["bare"] = us.submit(ours, *work, 0, options.net).result()
                if peer:
                    row["theirs"] = them.submit(theirs, *work).result()
                rows.append(row)

        def median(kind: str, key: str = "rate", rows: list[Any] = rows) -> float:
            return statistics.median(row[kind][key] for row in rows)

        ratios = ["", ""]
        if peer:
            ratios = [
                f"{statistics.median(r[kind]['rate'] / r['theirs']['rate'] for r in rows):.2f}x"
                for kind in ("ours", "bare")
            ]
        table.add_row(
            str(games),
            f"{median('ours'):.1f}",
            f"{median('bare'):.1f}",
            f"{median('theirs'):.1f}" if peer else "",
            *ratios,
            *(f"{100 * median(kind, 'tree'):.1f} %" for kind in ("ours", "bare")),
            f"{100 * median('ours', 'evaluations'):.0f} %",
        )
        found.append({"games": games, "rounds": rows})
    if options.json:
        print(json.dumps(found))
    else:
        Console().print(table)


if __name__ == "__main__":
    main()
