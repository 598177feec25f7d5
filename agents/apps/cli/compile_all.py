"""The command `hexenv compile`."""

import functools
import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, redirect_stderr
from multiprocessing import parent_process
from typing import Any, Final, NamedTuple

import click
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

from agents.apps.cli import shared
from agents.arena.match import close, prepare
from agents.core.workers import LocalPool, Lost, ProcessPool, StartError, Worker
from agents.planning.environment import action_mask
from agents.registry import AGENTS, environment_makers, make_agent, make_environment
from hexenv.common.messages import not_one_of
from hexenv.compiled import made, uses_machine_code
from hexenv.compiled.cache import cache_root
from hexenv.compiled.cpus import usable_cpus
from hexenv.compiled.numba_parts import HAS_NUMBA
from hexenv.learners.policies import POLICIES
from hexenv.learners.single import SingleEnv
from hexenv.learners.vector import BoardVectorEnv

COMMON: Final = ("uct", "greedy", "rave", "rhmcts", "solver")
"""The agents that are compiled where none are named."""


class Task(NamedTuple):
    """What one process compiles at a time: for an agent, or (None) for the environments."""

    game: str
    options: tuple[str, ...]
    agent: str | None

    def __str__(self) -> str:
        return f"{self.agent or 'environments'} for {self.game}"


class Outcome(NamedTuple):
    """What a task needed, each as the cache names it."""

    made: dict[str, bool]
    """Whether it was compiled; otherwise it was in the cache."""
    refusal: str = ""
    """Why the agent does not play the game."""
    failure: str = ""


@click.command("compile")
@click.argument("names", nargs=-1, metavar="[GAME]... [AGENT]...")
@shared.option_of_game
@shared.workers_option
@shared.json_option
def compile_all(
    names: tuple[str, ...], options: tuple[str, ...], workers: int | None, as_json: bool
) -> None:
    """Compile now what the AGENTs and the environments of the GAMEs need, for later processes.

    Example: hexenv compile connect4 hex uct rave:playout=bridges

    Without a GAME it is done for all games, without an AGENT for the common ones: uct, greedy,
    rave, and rhmcts and solver where they play. NUMBA_CACHE_DIR says where the code is kept.
    """
    with shared.clear_errors():
        games, agents = _sorted_names(names)
        for game in games:
            make_environment(game, options)  # finds mistakes before anything is compiled
        for agent in agents:
            close([make_agent(agent)])
    if not uses_machine_code():
        why = "while NUMBA_DISABLE_JIT is set" if HAS_NUMBA else "without numba"
        raise click.ClickException(f"nothing is compiled {why}")
    root = cache_root()
    if root is None:
        raise click.ClickException("no directory for the cache can be written; see NUMBA_CACHE_DIR")
    tasks = [
        Task(game, options, agent)
        for agent in (None, *(agents or COMMON))
        for game in games or environment_makers()
    ]
    found = _compile(tasks, usable_cpus() if workers is None else workers, as_json)
    needed: dict[str, bool] = {}
    for outcome in found.values():
        for code, is_new in outcome.made.items():
            needed[code] = needed.get(code, False) or is_new
    compiled = sum(needed.values())
    refused = {task: one.refusal for task, one in found.items() if one.refusal}
    failed = {task: one.failure for task, one in found.items() if one.failure}
    if as_json:
        counts = {"compiled": compiled, "in_cache": len(needed) - compiled, "cache": str(root)}
        left_out = {str(task): why for task, why in refused.items()}
        failures = {str(task): why for task, why in failed.items()}
        click.echo(json.dumps({**counts, "left_out": left_out, "failed": failures}))
    else:
        click.echo(
            f"{compiled} compiled, {len(needed) - compiled} in the cache already\ncache: {root}"
        )
    for task, why in refused.items() if games and agents else ():
        click.echo(f"left out: {task}: {why}", err=True)
    for task, why in failed.items():
        click.echo(f"failed: {task}: {why}", err=True)
    if failed:
        raise click.ClickException(f"{len(failed)} of {len(tasks)} could not be compiled")
    for agent in agents:
        if all(task in refused for task in tasks if task.agent == agent):
            raise click.ClickException(f"expected an agent for these games, got {agent}")


def _sorted_names(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The games and the agents among some names."""
    games: list[str] = []
    agents: list[str] = []
    makers = environment_makers()
    for name in dict.fromkeys(names):
        head, _, rest = name.partition(":")
        if head in AGENTS or (head not in makers and "." in head and (not rest or "=" in rest)):
            agents.append(name)
        elif name in makers or rest:
            games.append(name)
        else:
            raise ValueError(not_one_of("a game or an agent", [*makers, *AGENTS], name))
    return games, agents


# ---- the work ------------------------------------------------------------------------------------


def _compile(tasks: Sequence[Task], workers: int, is_silent: bool) -> dict[Task, Outcome]:
    """Do all tasks, in processes, and show how far they are."""
    pool = LocalPool(Compiler) if workers == 0 else ProcessPool(Compiler, min(workers, len(tasks)))
    console = Console(stderr=True)
    found: dict[Task, Outcome] = {}
    shows_bar = console.is_terminal and not is_silent
    try:
        with Progress(console=console, disable=not shows_bar, transient=True) as bar:
            row = bar.add_task("compiling", total=len(tasks))
            for task, outcome in pool.each(tasks):
                found[task] = outcome
                if isinstance(outcome, Lost):
                    found[task] = Outcome({}, failure=outcome.reason)
                bar.advance(row)
                if not (shows_bar or is_silent or found[task].refusal):
                    click.echo(f"{len(found)}/{len(tasks)} {task}", err=True)
    except KeyboardInterrupt:  # what was compiled until now is kept
        sys.exit(shared.INTERRUPTED)
    except StartError as error:
        raise click.ClickException(str(error)) from error
    finally:
        pool.close()
    return found


class Compiler(Worker):
    """Compiles what a task needs; the progress of all of them takes the place of its own words."""

    def do(self, task: Task, start_clock: Callable[[], None] = lambda: None) -> Outcome:
        before = set(made)
        refusal = failure = ""
        is_alone = parent_process() is None
        with nullcontext() if is_alone else redirect_stderr(io.StringIO()):
            try:
                if task.agent is None:
                    use_environments(task.game, task.options)
                else:
                    prepare_agent(task.game, task.options, task.agent)
            except Exception as error:
                if task.agent is not None and isinstance(error, ValueError):
                    refusal = str(error)
                else:
                    failure = f"{type(error).__name__}: {error}"
        new = {code: is_new for code, is_new in made.items() if code not in before}
        return Outcome(new, refusal, failure)


def prepare_agent(game: str, options: tuple[str, ...], text: str) -> None:
    """Compile what an agent needs in a game; ValueError if it does not play it."""
    agent: Any = make_agent(text, seed=0)
    env = make_environment(game, options)
    env.reset(seed=0)
    try:
        prepare(env, [agent])
        if hasattr(agent, "play_many"):  # as the opponent of a vector environment
            many = agent.play_many(env, 1)
            if many is not None:
                many.prepare()
    finally:
        close([agent])


def use_environments(game: str, options: tuple[str, ...]) -> None:
    """Use a game's environments once: of PettingZoo, of Gymnasium, and of many boards."""
    env = make_environment(game, options)
    if not hasattr(env.unwrapped, "game"):
        return
    env.reset(seed=0)
    raw = env.unwrapped
    raw.clone().begin_at(raw.state, ())
    env.step(int(action_mask(env).argmax()))
    maker = functools.partial(make_environment, game, options)
    for opponent in (*POLICIES, first_legal, None):
        if opponent is not None:
            single = SingleEnv(maker, opponent)
            single.reset(seed=0)
            single.step(int(single.action_masks().argmax()))
            single.close()
        boards = BoardVectorEnv(maker, 2, opponent)
        boards.reset(seed=0)
        boards.step(boards.action_masks().argmax(axis=1))
        boards.close()


def first_legal(observations: Any, masks: NDArray[Any]) -> Any:
    """The first legal action, on one board or on many."""
    return masks.argmax(axis=-1)
