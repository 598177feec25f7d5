"""Opponents of a learner: compiled policies, functions, agents, and names of these."""

from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.envs.aec import BoardEnv
from hexenv.envs.observation import observation_of
from hexenv.games.notation import IllegalActionError
from hexenv.learners.boards import Boards, Opponent, Which
from hexenv.learners.policies import POLICIES, new_policy


def resolve_opponents(opponent: Any, batched: bool) -> list[Opponent]:
    """The opponents that a user names or gives, as `hexenv.learners.single.SingleEnv` says.

    If `batched`, a function is called as ``f(observations, masks) -> actions`` with arrays over
    boards, else as ``f(observation, mask) -> action`` for one board.

    Raises:
        ValueError: If there is no such agent, or the list is empty.
        TypeError: If the object cannot play.
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
        is_policy = opponent in POLICIES
        return [PolicyOpponent(opponent) if is_policy else NamedOpponent(opponent, batched)]
    if batched and callable(opponent):  # an agent may be both: a batch is faster
        return [FunctionOpponent(opponent, batched)]
    if hasattr(opponent, "act"):
        return [AgentOpponent(opponent)]
    if callable(opponent):
        return [FunctionOpponent(opponent, batched)]
    raise TypeError(
        f"expected an opponent as a name, an agent, a function or a list of these, got {opponent!r}"
    )


def make_agent(name: str) -> Any:
    """The agent of a name: the only place where `hexenv` imports `agents`."""
    from agents import registry

    return registry.make_agent(name)


def name_of(opponent: Any) -> str:
    """The name of an agent or a function in a message."""
    name = getattr(opponent, "name", None) or getattr(opponent, "__name__", None)
    return str(name or type(opponent).__name__)


class PolicyOpponent:
    """A compiled policy of `hexenv.learners.policies`."""

    needs_moves: bool = False
    is_compiled: bool = True

    def __init__(self, name: str) -> None:
        self.name = name
        self._policies: dict[Boards, Any] = {}

    def begin(self, boards: Boards, which: Which) -> None:
        """Do nothing."""

    def answer(self, boards: Boards, which: Which) -> None:
        if boards not in self._policies:  # threads must not share scratch space
            self._policies[boards] = new_policy(self.name, boards.game)
        boards.answer_by(self._policies[boards], which)


class FunctionOpponent:
    """A function from observations and masks to actions.

    Its method ``see_as``, if it has one, is called with the environment whose observations it will
    get; its method ``reset`` with a seed for every episode, as that of an agent.
    """

    needs_moves: bool = False
    is_compiled: bool = False

    def __init__(
        self, function: Callable[[Any, Any], Any], batched: bool, name: str | None = None
    ) -> None:
        self.name = name or name_of(function)
        self._function = function
        self._batched = batched
        self._see_as = getattr(function, "see_as", None)
        self._reset = getattr(function, "reset", None)

    def begin(self, boards: Boards, which: Which) -> None:
        """Give the function a seed; all boards draw one, so that their streams stay independent."""
        if self._reset is not None and which.size:
            seeds = [boards.draw(board) for board in which.tolist()]
            self._reset(seeds[0])

    def answer(self, boards: Boards, which: Which) -> None:
        if self._see_as is not None:  # each time: it may play in several environments
            self._see_as(boards.env)
        while (which := boards.waiting(which)).size:
            planes, legal = boards.show(which, to_play=True)
            masks = legal.copy()  # the function may change its arguments
            observations = boards.env.pack_observation(planes, masks)
            if self._batched:
                answers = np.asarray(self._function(observations, masks))
            else:
                answers = np.asarray([self._function(observation_of(observations, 0), masks[0])])
            play_checked(self.name, boards, which, answers, legal)


class AgentOpponent:
    """An agent of `agents`, or another object with ``act(env)``.

    It gets a PettingZoo environment in the position of the board, with the options of the learner's
    environment, and a seed for every episode. An agent with ``play_many(env, count, threads)``, as
    `agents.mcts.tree_search.TreeSearchAgent`, plays on several boards at once, on each as one of
    its own would, and is left alone itself; another agent is shared by the boards.
    """

    needs_moves: bool = True
    is_compiled: bool = False

    def __init__(self, agent: Any, name: str | None = None) -> None:
        self.name = name or name_of(agent)
        self._is_given = name is None
        self._agent = agent
        self._env: BoardEnv | None = None
        self._games: dict[Boards, Any] = {}

    def _games_on(self, boards: Boards) -> Any:
        """The agent on all boards at once; None if it plays on one after the other."""
        if boards not in self._games:
            play_many = getattr(self._agent, "play_many", None)
            if self._is_given and boards.count == 1:  # its owner may look at its thoughts
                play_many = None
            given = boards.env, boards.count, boards.threads
            many = None if play_many is None else play_many(*given)
            self._games[boards] = many
        return self._games[boards]

    def begin(self, boards: Boards, which: Which) -> None:
        games = self._games_on(boards)
        for board in which.tolist():
            if games is not None:
                games.reset(board, boards.draw(board))
                continue
            agent = self.agent_of(boards, board)
            if hasattr(agent, "reset"):
                agent.reset(boards.draw(board))

    def agent_of(self, boards: Boards, board: int) -> Any:
        return self._agent

    def answer(self, boards: Boards, which: Which) -> None:
        assert boards.moves is not None
        games = self._games_on(boards)
        while (which := boards.waiting(which)).size:
            if games is not None:
                actions = games.act(boards.states, boards.moves, boards.lengths, which)
                boards.answer_with(which, actions)
            else:
                self._answer_one_by_one(boards, which)

    def _answer_one_by_one(self, boards: Boards, which: Which) -> None:
        assert boards.moves is not None
        if self._env is None or self._env.game is not boards.game:
            self._env = boards.env.clone()
            self._env.render_mode = None  # only the learner's environment is shown
        answers = np.zeros(which.size, np.int64)
        for row, board in enumerate(which.tolist()):
            moves = boards.moves[board, : boards.lengths[board]].tolist()
            self._env.begin_at(boards.states[board], moves)
            action = np.asarray([self.agent_of(boards, board).act(self._env)])
            expect_actions(self.name, action, (1,))
            answers[row] = action[0]
        legal = boards.show(which, to_play=True)[1]
        play_checked(self.name, boards, which, answers, legal)


class NamedOpponent(AgentOpponent):
    """An agent given by name; each board has its own, which may keep its tree between moves.

    A learned policy that is trained with what the boards show evaluates all of them together: then
    there is one agent.
    """

    def __init__(self, name: str, batched: bool) -> None:
        super().__init__(make_agent(name), name)  # a wrong name fails now
        self._agents: dict[tuple[Boards, int], Any] = {}
        of_many = batched and callable(self._agent)
        self._together = FunctionOpponent(self._agent, batched, name) if of_many else None

    def _for_all(self, boards: Boards) -> "FunctionOpponent | None":
        fits = getattr(self._agent, "sees_as_shown", None)
        return self._together if fits is None or fits(boards.env) else None

    def begin(self, boards: Boards, which: Which) -> None:
        together = self._for_all(boards)
        (super() if together is None else together).begin(boards, which)

    def answer(self, boards: Boards, which: Which) -> None:
        together = self._for_all(boards)
        (super() if together is None else together).answer(boards, which)

    def agent_of(self, boards: Boards, board: int) -> Any:
        if (boards, board) not in self._agents:
            is_first = not self._agents
            self._agents[boards, board] = self._agent if is_first else make_agent(self.name)
        return self._agents[boards, board]


def expect_actions(name: str, answers: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Refuse what an opponent answers, if it is not one integer for each board."""
    if answers.shape != shape or not np.issubdtype(answers.dtype, np.integer):
        raise ValueError(
            f"opponent {name}: expected actions of shape {shape} and an integer type, "
            f"got {answers.shape} of {answers.dtype}"
        )


def play_checked(
    name: str,
    boards: Boards,
    which: Which,
    answers: NDArray[Any],
    masks: NDArray[np.int8],
) -> None:
    """Check and play the actions of an opponent, a ValueError naming it where one is not legal.

    `masks` are the legal actions of these boards.
    """
    expect_actions(name, answers, which.shape)
    near = np.clip(answers, 0, masks.shape[1] - 1)
    for i in np.flatnonzero((near != answers) | (masks[np.arange(len(which)), near] == 0)):
        try:
            boards.check_action(int(which[i]), answers[i])
        except IllegalActionError as error:
            raise ValueError(f"opponent {name}: {error}") from None
    boards.answer_with(which, answers.astype(np.int64))
