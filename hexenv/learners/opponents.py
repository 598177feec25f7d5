"""What plays against a learner: compiled policies, functions and agents, and their names."""

from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.envs.aec import BoardEnv, Observation
from hexenv.games.notation import IllegalActionError
from hexenv.learners.board_kernels import Which
from hexenv.learners.boards import Boards, Opponent
from hexenv.policies import POLICIES, new_policy


def resolve_opponents(opponent: Any, batched: bool) -> list[Opponent]:
    """The opponents that a user's words or objects stand for.

    Args:
        opponent: ``"random"`` or ``"greedy"``; the name of an agent, as the command line writes
            them (``"uct:simulations=200"``); an agent, which has ``act(env)``; a function; or a
            list of these, of which one is drawn for every episode.
        batched: Whether a function is called as ``f(observations, masks) -> actions`` with arrays
            over boards, or as ``f(observation, mask) -> action`` for one.

    Raises:
        ValueError: If there is no such agent, or the list is empty.
        TypeError: If it is nothing that can play.
    """
    if isinstance(opponent, (list, tuple)):
        pool = cast("Iterable[Any]", opponent)
        found = [one for member in pool for one in resolve_opponents(member, batched)]
        if not found:
            raise ValueError("expected at least one opponent, got an empty list")
        return found
    if isinstance(opponent, type):
        raise TypeError(f"expected an opponent, got the class {opponent.__name__}: make one of it")
    if isinstance(opponent, str):
        return [PolicyOpponent(opponent) if opponent in POLICIES else NamedOpponent(opponent)]
    if batched and callable(opponent):  # an agent may be both: a batch is quicker
        return [FunctionOpponent(opponent, batched)]
    if hasattr(opponent, "act"):
        return [AgentOpponent(opponent)]
    if callable(opponent):
        return [FunctionOpponent(opponent, batched)]
    raise TypeError(
        f"expected an opponent as a name, an agent, a function or a list of these, got {opponent!r}"
    )


def make_agent(name: str) -> Any:
    """The agent of a name: the one place where `hexenv` reaches for `agents`."""
    from agents import registry as naming

    return naming.make_agent(name)


def name_of(opponent: Any) -> str:
    """What to call an agent or a function in a message."""
    name = getattr(opponent, "name", None) or getattr(opponent, "__name__", None)
    return str(name or type(opponent).__name__)


class PolicyOpponent:
    """A policy in compiled code; see `hexenv.policies`."""

    needs_moves: bool = False
    is_compiled: bool = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._policies: dict[Boards, Any] = {}

    def begin(self, boards: Boards, which: Which) -> None:
        """Nothing is to be done."""

    def answer(self, boards: Boards, which: Which) -> None:
        """See `Opponent.answer`."""
        if boards not in self._policies:  # each with scratch memory of its own: there are threads
            self._policies[boards] = new_policy(self.name, boards.game)
        boards.answer_by(self._policies[boards], which)


class FunctionOpponent:
    """A function of what the opponent sees; see `resolve_opponents`.

    If it has a method ``see_as``, it is told the environment as which it will see boards. If it has
    a method ``reset``, as agents have, it is given a seed with every episode that begins.
    """

    needs_moves: bool = False
    is_compiled: bool = False

    def __init__(self, function: Callable[[Any, Any], Any], batched: bool) -> None:
        self.name = name_of(function)
        self._function = function
        self._batched = batched
        self._see_as = getattr(function, "see_as", None)
        self._reset = getattr(function, "reset", None)

    def begin(self, boards: Boards, which: Which) -> None:
        """Give the function a seed; every board draws one, as it does beside others or alone."""
        if self._reset is not None and which.size:
            seeds = [boards.draw(board) for board in which.tolist()]
            self._reset(seeds[0])

    def answer(self, boards: Boards, which: Which) -> None:
        """See `Opponent.answer`."""
        if self._see_as is not None:  # every time, as it may play in several environments
            self._see_as(boards.env)
        while (which := boards.waiting(which)).size:
            planes, legal = boards.show(which, to_play=True)
            masks = legal.copy()  # a function may write on what it is given
            observations = with_mask(boards.env, planes, masks)
            if self._batched:
                answers = np.asarray(self._function(observations, masks))
            else:
                answers = np.asarray([self._function(entry(observations, 0), masks[0])])
            play_checked(self.name, boards, which, answers, legal)


class AgentOpponent:
    """An agent of `agents`, or anything else that has ``act(env)``.

    It gets a PettingZoo environment in the position on the board, which shows what the learner's
    environment does, and a seed for every episode. Several boards share it.
    """

    needs_moves: bool = True
    is_compiled: bool = False

    def __init__(self, agent: Any, name: str | None = None) -> None:
        self.name = name or name_of(agent)
        self._agent = agent
        self._env: BoardEnv | None = None

    def begin(self, boards: Boards, which: Which) -> None:
        """Give the agent of each board a seed."""
        for board in which:
            agent = self.agent_of(boards, int(board))
            if hasattr(agent, "reset"):
                agent.reset(boards.draw(int(board)))

    def agent_of(self, boards: Boards, board: int) -> Any:
        """Who plays on a board."""
        return self._agent

    def answer(self, boards: Boards, which: Which) -> None:
        """See `Opponent.answer`."""
        assert boards.moves is not None
        if self._env is None or self._env.game is not boards.game:
            self._env = boards.env.clone()
            self._env.render_mode = None  # what an agent looks at is not shown
        while (which := boards.waiting(which)).size:
            for board in map(int, which):
                self._env.begin_at(boards.states[board], boards.moves[board])
                action = self.agent_of(boards, board).act(self._env)
                play_checked(self.name, boards, np.array([board]), np.asarray([action]))


class NamedOpponent(AgentOpponent):
    """An agent by name, one for each board."""

    def __init__(self, name: str) -> None:
        super().__init__(make_agent(name), name)  # now, so that a wrong name is told at once
        self._agents: dict[tuple[Boards, int], Any] = {}

    def agent_of(self, boards: Boards, board: int) -> Any:
        """Who plays on a board: an agent of its own, which may keep its tree for the next move."""
        if (boards, board) not in self._agents:
            is_first = not self._agents
            self._agents[boards, board] = self._agent if is_first else make_agent(self.name)
        return self._agents[boards, board]


def play_checked(
    name: str,
    boards: Boards,
    which: Which,
    answers: NDArray[Any],
    masks: NDArray[np.int8] | None = None,
) -> None:
    """Play what an opponent has chosen.

    Args:
        name: Of the opponent.
        boards: The boards.
        which: On which of them it has chosen.
        answers: What, an action for each.
        masks: The legal actions, where they are at hand: only what they forbid is looked at then.

    Raises:
        ValueError: If it is not a legal action for every board. (No `IllegalActionError`, which is
            for the learner's actions.)
    """
    if answers.shape != which.shape or not np.issubdtype(answers.dtype, np.integer):
        raise ValueError(
            f"opponent {name}: expected actions of shape {which.shape} and an integer type, "
            f"got {answers.shape} of {answers.dtype}"
        )
    doubtful = np.arange(len(which))
    if masks is not None:
        near = np.clip(answers, 0, masks.shape[1] - 1)
        doubtful = np.flatnonzero((near != answers) | (masks[doubtful, near] == 0))
    for i in doubtful:
        try:
            boards.check_action(int(which[i]), answers[i])
        except IllegalActionError as error:
            raise ValueError(f"opponent {name}: {error}") from None
    boards.answer_with(which, answers.astype(np.int64))


def with_mask(env: BoardEnv, planes: NDArray[Any], masks: NDArray[np.int8]) -> Observation:
    """An observation of one board or of many, as the environment's options ask for it."""
    if env.mask_in == "info":
        return planes
    return {"observation": planes, "action_mask": masks}


def entry(observations: Observation, board: int) -> Observation:
    """The observation of one board of many; a view."""
    if isinstance(observations, dict):
        return {key: array[board] for key, array in observations.items()}
    return observations[board]
