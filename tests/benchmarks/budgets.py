"""How exactly agents keep to their seconds: ``python tests/benchmarks/budgets.py``.

Every agent of the registry that has a budget in seconds plays in every game it knows, from random
positions of the first eighth of a game: one move, a random reply, and a second move, for which it
may go on with its tree. A move is too late or too early where it is off by more than 10 ms or 5 %
of the budget, whichever is larger. It may be early where the search has proven the position, where
only one move is legal, or where the best move's value is that of a certain win or loss. Compilation
is no part of a budget: each agent prepares, and plays some moves that are not counted, before.

Any machine stops a program now and then, and a fault comes back. So a move that is off is searched
again in the same position, by a copy of the agent as it was, twice at most, and the best of the
three counts. The table has the time of the clock: the median of how much later moves were than
their budget, the worst of the first searches, and the worst that came back; and the worst in time
of the processor, which no other program can make longer. The command ends with 1 where a move
was off thrice.

With ``--clock processor`` seconds are those of the processor, for the agents as well: on a machine
with other work a fault shows all the same. (Not for workers, which use several at once.)

    python tests/benchmarks/budgets.py --results budgets.jsonl
    python tests/benchmarks/budgets.py --agents alphabeta uct --games "gomoku 15" --moves 6

The results file has a line for each move, and a later run goes on from there. All of it is some
hours: 50 moves of all agents in six games, with 0.05, 0.3 and 1 second.
"""

import argparse
import copy
import gc
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from agents import PolicyAgent
from agents.planning.environment import legal_actions
from agents.registry import agent_classes, make_agent, make_environment, parameters

GAMES = {
    "tictactoe": ("tictactoe",),
    "connect4": ("connect4",),
    "hex 7": ("hex", "board_size=7"),
    "hex 11": ("hex", "board_size=11"),
    "gomoku 9": ("gomoku", "board_size=9"),
    "gomoku 15": ("gomoku", "board_size=15"),
}
NETS = {"tictactoe": "tictactoe", "connect4": "connect4", "hex 7": "hex7", "hex 11": "hex11"}
VARIANTS = (
    "alphabeta:route=environment",
    "distance:workers=2",
    "hex-alphabeta:evaluation=two-distance",
    "nrpa:mode=cooperative",
    "rhmcts:n=5,depth=20,eager=true",
    "uct:implicit_minimax=0.3",
    "uct:playout=decisive",
    "uct:route=environment",
    "uct:route=interpreted",
    "uct:threats=true",
    "uct:transpositions=true",
    "uct:workers=2",
)
"""Agents whose options choose another search than the one of the agent's name."""
ONLY_IN = {
    "hex-alphabeta": "hex",
    "hexpert": "hex",
    "hexzero": "hex",
    "htp": "hex",
    "distance": "hex",
    "gomocup": "gomoku",
    "rhmcts": "gomoku tictactoe",
    "uct:threats=true": "gomoku tictactoe",
    "uct:implicit_minimax=0.3": "gomoku tictactoe",
    "gomoku-engine": "gomoku tictactoe",
}
"""The games of an agent that does not play all of them."""
ENGINES = {"gomocup": "rhmcts", "htp": "rave"}
"""What plays behind the protocols: `hexenv`'s own server. An engine may be early, as the server
keeps some of the time for other work; by the HTP no time below a second can be told."""
TRIES = 3
WARM_UP = (0.02, 0.1)
ROOT = Path(__file__).parents[2]


class Case(NamedTuple):
    """What is measured: an agent in a game with a budget, by a clock."""

    agent: str
    game: str
    seconds: float
    clock: str

    @property
    def tolerance(self) -> float:
        """By how many seconds a move may be off."""
        return max(0.010, 0.05 * self.seconds)


class Search(NamedTuple):
    """How much later than its budget a search was, by the clock and by the processor's time."""

    clock: float
    processor: float


# ---- agents and positions ------------------------------------------------------------------------


def all_agents() -> list[str]:
    """The agents with a budget in seconds, and variants of them."""
    timed = [name for name, kind in agent_classes().items() if "seconds" in parameters(kind)]
    return sorted((*timed, *VARIANTS))


def plays(agent: str, game: str) -> bool:
    """Whether an agent is for a game."""
    family = game.split()[0]
    only_in = ONLY_IN.get(agent, ONLY_IN.get(agent.partition(":")[0], family))
    return family in only_in.split() and (agent != "alphazero" or game in NETS)


def new_agent(case: Case) -> Any:
    """The agent of a case; in a game without a shipped network a function in place of one."""
    name, _, options = case.agent.partition(":")
    if name in ENGINES:
        command = f"{sys.executable} -m agents.apps.cli {name} --agent {ENGINES[name]}:seconds=1"
        return make_agent(f"{name}:command={command},seconds={case.seconds}")
    kind = agent_classes()[name]
    if "policy" in parameters(kind) and case.game not in NETS:
        return kind(PolicyAgent(all_alike), seconds=case.seconds)
    given = [f"seconds={case.seconds}", *filter(None, [options])]
    if "policy" in parameters(kind):
        given.append(f"policy=network:net={NETS[case.game]}")
    elif name == "alphazero":
        given.append(f"net={NETS[case.game]}")
    return make_agent(f"{name}:{','.join(given)}", seed=1)


def all_alike(seen: Any, masks: Any) -> Any:
    """A policy that likes all legal moves alike."""
    return masks / masks.sum(axis=1, keepdims=True)


def position(game: str, number: int) -> Any:
    """An environment after random moves of the first eighth of a game that goes on."""
    name, *options = GAMES[game]
    env, rng = make_environment(name, options), np.random.default_rng(number)
    while True:
        env.reset()
        most = max(4, env.unwrapped.game.num_cells() // 8)
        for _ in range(int(rng.integers(1, most))):
            if len(legal_actions(env)) > 0:
                env.step(int(rng.choice(legal_actions(env))))
        if len(legal_actions(env)) > 0:
            return env


# ---- measuring -----------------------------------------------------------------------------------


def measure(case: Case, done: int, moves: int) -> Iterator[dict[str, Any]]:
    """Search the moves of a case from number `done` on."""
    if not (agent := warmed_up(case)):
        return
    for number in range(done - done % 2, moves, 2):
        env = position(case.game, number)
        agent.reset(number)
        for move in (number, number + 1):
            before = copy.deepcopy(agent) if case.agent not in ENGINES else agent
            action, end, found = search(agent, env, case)
            tries = [found]
            while is_off(case, found, end) and len(tries) < TRIES and before is not agent:
                (other := copy.deepcopy(before)).prepare(env)  # it has no arrays yet
                _, again, found = search(other, env, case)
                tries.append(found)
                end = end or again
            if done <= move < moves:
                yield {**case._asdict(), "move": move, "tries": tries, "end": end}
            env.step(action)
            if len(replies := legal_actions(env)) == 0:
                break
            env.step(int(np.random.default_rng(number).choice(replies)))
            if len(legal_actions(env)) == 0:
                break


def warmed_up(case: Case) -> Any:
    """The agent with all that it needs compiled; None where it does not play."""
    try:
        agent = new_agent(case)
        env = position(case.game, 0)
        if hasattr(agent, "prepare"):
            agent.prepare(env)
        if case.agent not in ENGINES:
            for seconds in WARM_UP:
                agent.seconds = seconds
                agent.act(env)
            agent.seconds = case.seconds
        agent.reset(0)
    except ValueError as error:
        print(f"{case.agent} does not play {case.game}: {error}", file=sys.stderr)
        return None
    return agent


def search(agent: Any, env: Any, case: Case) -> tuple[int, str, Search]:
    """The action, why a search may have ended early ("" for no reason), and its times."""
    gc.collect()
    workers = getattr(agent, "workers", 1)
    clock, processor = time.perf_counter(), time.process_time()
    action = int(agent.act(env))
    clock = time.perf_counter() - clock
    processor = (time.process_time() - processor) / workers
    end, found = "", agent.statistics
    if len(legal_actions(env)) == 1:
        end = "forced"
    elif case.agent in ENGINES:
        end = "engine"
    elif found.proven is not None:
        end = "proven"
    elif abs(found.values[action]) == 1.0 and "alphabeta" in case.agent:
        end = "decided"  # among the moves that it looks at
    return action, end, Search(clock - case.seconds, processor - case.seconds)


def is_off(case: Case, found: Search, end: str) -> bool:
    """Whether a move was too late, or too early without a reason."""
    return found.clock > case.tolerance or (found.clock < -case.tolerance and not end)


# ---- the table -----------------------------------------------------------------------------------


def row(case: Case, moves: list[dict[str, Any]]) -> tuple[str, bool]:
    """A row of the table, and whether all moves were within the bounds."""
    firsts = [Search(*move["tries"][0]) for move in moves]
    best = [
        min((Search(*one) for one in move["tries"]), key=lambda one: abs(one.clock))
        for move in moves
    ]
    full = [one.clock for one, move in zip(firsts, moves, strict=True) if not move["end"]]
    late = max(one.clock for one in best)
    early = sum(
        one.clock < -case.tolerance and not move["end"]
        for one, move in zip(best, moves, strict=True)
    )
    ended = sum(
        one.clock < -case.tolerance and bool(move["end"])
        for one, move in zip(best, moves, strict=True)
    )
    is_right = late <= case.tolerance and early == 0
    cells = [
        case.agent,
        case.game,
        f"{case.seconds:g}",
        str(len(moves)),
        f"{1000 * statistics.median(full):.1f}" if full else "-",
        f"{1000 * max(one.clock for one in firsts):.1f}",
        f"{1000 * late:.1f}",
        f"{1000 * max(one.processor for one in best):.1f}",
        str(ended),
        str(early),
        "" if is_right else "off",
    ]
    return f"| {' | '.join(cells)} |", is_right


HEAD = (
    "| agent | game | seconds | moves | median | worst | worst again | of the processor "
    "| ended | too early | |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def main() -> int:
    """Measure what is missing, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agents", nargs="*", default=all_agents())
    parser.add_argument("--games", nargs="*", default=list(GAMES), choices=GAMES)
    parser.add_argument("--seconds", nargs="*", type=float, default=[0.05, 0.3, 1.0])
    parser.add_argument("--moves", type=int, default=50, help="of each agent, game and budget")
    parser.add_argument("--clock", default="wall", choices=["wall", "processor"])
    parser.add_argument("--results", type=Path, help="a JSON line for each move; goes on from it")
    given = parser.parse_args()
    if given.clock == "processor":
        time.perf_counter = time.process_time  # for the agents as well
    moves: dict[Case, list[dict[str, Any]]] = {}
    if given.results is not None and given.results.exists():
        for line in given.results.read_text().splitlines():
            read = json.loads(line)
            moves.setdefault(Case(*(read[name] for name in Case._fields)), []).append(read)
    print(f"`python tests/benchmarks/budgets.py {' '.join(sys.argv[1:])}`: milliseconds\n\n{HEAD}")
    wrong = 0
    for game in given.games:
        for agent in given.agents:
            for seconds in given.seconds:
                case = Case(agent, game, seconds, given.clock)
                if not plays(agent, game) or (agent == "htp" and seconds < 1):
                    continue
                known = moves.setdefault(case, [])
                done = max((move["move"] + 1 for move in known), default=0)
                for move in measure(case, done, given.moves) if done < given.moves else ():
                    known.append(move)
                    if given.results is not None:
                        with given.results.open("a") as file:
                            print(json.dumps(move), file=file)
                if known:
                    text, is_right = row(case, known)
                    print(text, flush=True)
                    wrong += not is_right
    print(f"\n{wrong} outside of 10 ms or 5 %")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
