"""How a planner sees an environment: the game behind it, or the environment itself as a game."""

from typing import Annotated, Any, Final, TypeAlias

from agents.planning.environment import (
    PERFECT_INFORMATION,
    View,
    check_agents,
    is_over,
    is_transparent,
    names_of,
)
from hexenv.common.options import OneOf, expect_one_of
from hexenv.compiled import is_compiled

ROUTES: Final = ("auto", "compiled", "interpreted", "environment")
Route: TypeAlias = Annotated[str, OneOf(ROUTES)]
Assumption: TypeAlias = Annotated[str | None, OneOf((PERFECT_INFORMATION,))]


def turn_based(env: Any) -> Any:
    """The environment itself if it names its agents, else as one of a single agent."""
    if hasattr(env, "possible_agents"):
        return env
    from agents.planning.one_agent import OneAgentEnv  # most programs never meet one

    return OneAgentEnv(env)


def planner_view(
    env: Any, route: str = "auto", assume: str | None = None, discount: float | None = None
) -> View:
    """The game behind an environment, if it may be used, else the environment itself as a game.

    Args:
        env: A PettingZoo AEC environment in the middle of a game.
        route: ``"auto"``: the compiled game where the environment is one of ours and no wrapper
            around it can change moves or rewards, else the environment. ``"compiled"``,
            ``"interpreted"``: the game, as machine code or as Python. ``"environment"``: through
            the environment's own clone and step.
        assume: ``"perfect information"``: plan over an environment that hides something from a
            player, or leaves something to chance, as if its clones showed what everybody knows.
            The view is marked as `assumed` there. None: refuse such an environment.
        discount: For planners that can do with one player, or with three and more: the discount of
            their rewards a ply (`agents.planning.returns`). An environment of one agent is one of
            Gymnasium. None: refuse environments that are not for two.

    Raises:
        UnfitEnvironmentError: If the environment cannot be planned over (see `ForeignGame` and
            `agents.planning.requirements.check_planning`).
        ValueError: If the route is not open to this environment, or it was not reset.
    """
    expect_one_of("route", route, ROUTES)
    if discount is not None:
        env = turn_based(env)
    check_agents(env)
    is_ours = is_transparent(env)
    if route == "environment" or (route == "auto" and not is_ours):
        return foreign_view(env, assume, discount)
    if not is_ours:
        raise ValueError(f'route "{route}" is for plain hexenv environments, got {names_of(env)}')
    raw = env.unwrapped
    compiles = is_compiled(raw.game)
    if route == "compiled" and not compiles:
        raise ValueError(f'route "compiled" needs a @compiled game, got {raw.game}')
    return View(raw.game, raw.state, compiles and route != "interpreted", tuple(raw.actions))


def foreign_view(env: Any, assume: str | None, discount: float | None = None) -> View:
    """A foreign environment as a game to plan in; see `planner_view`."""
    from agents.planning import clones, foreign, requirements, returns  # most programs meet none

    if discount is not None and len(getattr(env, "possible_agents", ())) != 2:
        return returns.returns_view(env, assume, discount)
    game = foreign.ForeignGame(env)
    assumed = requirements.check_planning(env, assume)
    root = foreign.ForeignState(env)
    if not is_over(env):
        twin = clones.silent_clone(foreign.without_guards(env))
        # Where something is left to chance, one action leads to several positions.
        root = game.root_state(twin) if assumed is None else foreign.ForeignState(twin)
    return View(game, root, compiles=False, actions=None, assumed=assumed)
