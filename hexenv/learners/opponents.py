"""Opponents of a learner: compiled policies, functions, agents, and names of these."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from hexenv.envs.aec import BoardEnv
from hexenv.envs.observation import observation_of
from hexenv.games.table import Which
from hexenv.learners.lineup import Masks, Opponent, answers_of, expect_actions
from hexenv.learners.policies import POLICIES, new_policy

if TYPE_CHECKING:
    from hexenv.learners.boards import Boards


def resolve_opponent(
    opponent: Any, batched: bool, title: str | None = None, agent: Any = None
) -> Opponent:
    """The opponent that a user names or gives, as `hexenv.learners.single.SingleEnv` says.

    If `batched`, a function is called as ``f(observations, masks) -> actions`` with arrays over
    boards, else as ``f(observation, mask) -> action`` for one board. `agent` is one of its name
    that has been made already.

    Raises:
        ValueError: If there is no such agent.
        TypeError: If the object cannot play.
    """
    title = title or name_of(opponent)
    expect_player(opponent)
    if isinstance(opponent, str):
        if opponent in POLICIES:
            return PolicyOpponent(opponent, title)
        return NamedOpponent(opponent, batched, title, agent)
    if batched and callable(opponent):  # an agent may be both: a batch is faster
        return FunctionOpponent(opponent, batched, title)
    if hasattr(opponent, "act"):
        return AgentOpponent(opponent, title)
    return FunctionOpponent(opponent, batched, title)


def expect_player(opponent: Any) -> None:
    """TypeError if an object is neither a name nor an agent nor a function."""
    if isinstance(opponent, type):
        raise TypeError(f"expected an opponent, got the class {opponent.__name__}: make one of it")
    if not (isinstance(opponent, str) or callable(opponent) or hasattr(opponent, "act")):
        raise TypeError(
            f"expected an opponent as a name, an agent, a function or a list of these, "
            f"got {opponent!r}"
        )


def make_agent(name: str) -> Any:
    """The agent of a name: the only place where `hexenv` imports `agents`."""
    from agents import registry

    return registry.make_agent(name)


def as_player(given: Any, temperature: float = 1.0) -> Any:
    """An opponent in place of a file, or of a model of Stable-Baselines3 as it is now."""
    if isinstance(given, (str, os.PathLike)):
        path = Path(cast("Any", given))
        if path.suffix == ".zip":
            from agents.policies.policy import PolicyAgent

            return PolicyAgent.from_sb3(path, title=path.stem)
        if path.suffix == ".safetensors":
            from agents.policies.network import NetworkAgent

            agent = NetworkAgent(str(path))
            agent.title = path.stem
            return agent
        return str(cast("Any", given))
    if all(hasattr(given, name) for name in ("policy", "predict", "learn")):
        from agents.policies.policy import PolicyAgent

        return PolicyAgent.from_sb3(given, frozen=True, temperature=temperature)
    return given


def pool_files() -> Any:
    """The module that writes and reads pools."""
    from agents.policies import pools

    return pools


def name_of(opponent: Any) -> str:
    """What to call an agent or a function: its `title`, its `name`, or that of its type."""
    if isinstance(opponent, (str, os.PathLike)):
        return str(cast("Any", opponent))
    if isinstance(title := getattr(opponent, "title", None), str):
        return title
    name = getattr(opponent, "name", None) or getattr(opponent, "__name__", None)
    return str(name or type(opponent).__name__)


class PolicyOpponent(Opponent):
    """A compiled policy of `hexenv.learners.policies`."""

    needs_moves: bool = False
    is_compiled: bool = True

    def __init__(self, policy: str, name: str) -> None:
        self.name = name
        self._policy = policy
        self._policies: dict[Boards, Any] = {}

    def policy_on(self, boards: "Boards") -> Any:
        """The policy of these boards, which have it play with the learner in one call."""
        if boards not in self._policies:  # threads must not share scratch space
            self._policies[boards] = new_policy(self._policy, boards.game)
        return self._policies[boards]

    def answer(self, boards: "Boards", which: Which) -> None:
        boards.answer_by(self.policy_on(boards), which)


class FunctionOpponent(Opponent):
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

    def begin(self, boards: "Boards", which: Which) -> None:
        """Give the function a seed; all boards draw one, so that their streams stay independent."""
        if self._reset is not None and which.size:
            seeds = [boards.draw(board) for board in which.tolist()]
            self._reset(seeds[0])

    def answer(self, boards: "Boards", which: Which) -> None:
        boards.answer_seeing([(self, which)])

    def as_seeing(self, boards: "Boards") -> "FunctionOpponent":
        return self

    def choose(self, boards: "Boards", observations: Any, masks: Masks) -> NDArray[Any]:
        if self._see_as is not None:  # each time: it may play in several environments
            self._see_as(boards.env)
        if self._batched:
            return answers_of(self.name, self._function(observations, masks))
        return answers_of(self.name, [self._function(observation_of(observations, 0), masks[0])])


class AgentOpponent(Opponent):
    """An agent of `agents`, or another object with ``act(env)``.

    It gets a PettingZoo environment in the position of the board, with the options of the learner's
    environment, and a seed for every episode. An agent with ``play_many(env, count, threads)``, as
    `agents.mcts.tree_search.TreeSearchAgent`, plays on several boards at once, on each as one of
    its own would, and is left alone itself; another agent is shared by the boards.
    """

    needs_moves: bool = True
    is_compiled: bool = False

    def __init__(self, agent: Any, name: str | None = None, is_given: bool = True) -> None:
        self.name = name or name_of(agent)
        self._is_given = is_given
        self._agent = agent
        self._env: BoardEnv | None = None
        self._games: dict[Boards, Any] = {}

    def _games_on(self, boards: "Boards") -> Any:
        """The agent on all boards at once; None if it plays on one after the other."""
        if boards not in self._games:
            play_many = getattr(self._agent, "play_many", None)
            if self._is_given and boards.count == 1:  # its owner may look at its thoughts
                play_many = None
            given = boards.env, boards.count, boards.threads
            many = None if play_many is None else play_many(*given)
            self._games[boards] = many
        return self._games[boards]

    def begin(self, boards: "Boards", which: Which) -> None:
        games = self._games_on(boards)
        for board in which.tolist():
            if games is not None:
                games.reset(board, boards.draw(board))
                continue
            agent = self.agent_of(boards, board)
            if hasattr(agent, "reset"):
                agent.reset(boards.draw(board))

    def agent_of(self, boards: "Boards", board: int) -> Any:
        return self._agent

    def answer(self, boards: "Boards", which: Which) -> None:
        games = self._games_on(boards)
        while (which := boards.waiting(which)).size:
            if games is not None:
                actions = games.act(boards.table, which)
                boards.answer_with(which, actions)
            else:
                self._answer_one_by_one(boards, which)

    def _answer_one_by_one(self, boards: "Boards", which: Which) -> None:
        if self._env is None or self._env.game is not boards.game:
            self._env = boards.env.clone()
            self._env.render_mode = None  # only the learner's environment is shown
        found: list[int] = []  # some may be beyond what an array holds
        for board in which.tolist():
            moves = boards.table.actions[board, : boards.table.lengths[board]].tolist()
            self._env.begin_at(boards.table.states[board], moves)
            action = answers_of(self.name, [self.agent_of(boards, board).act(self._env)])
            expect_actions(self.name, action, (1,))
            found.append(int(action[0]))
        answers = np.array(found)
        legal = boards.show(which, to_play=True)[1]
        boards.check_answers([(self, which)], which, answers, legal)
        boards.answer_with(which, answers)


class NamedOpponent(AgentOpponent):
    """An agent given by name; each board has its own, which may keep its tree between moves.

    A learned policy that is trained with what the boards show evaluates all of them together: then
    there is one agent.
    """

    def __init__(
        self, name: str, batched: bool, title: str | None = None, agent: Any = None
    ) -> None:
        first = make_agent(name) if agent is None else agent  # a wrong name fails now
        super().__init__(first, title or name, is_given=False)
        self._named = name
        self._agents: dict[tuple[Boards, int], Any] = {}
        of_many = batched and callable(self._agent)
        self._together = FunctionOpponent(first, batched, self.name) if of_many else None

    def as_seeing(self, boards: "Boards") -> "FunctionOpponent | None":
        fits = getattr(self._agent, "sees_as_shown", None)
        return self._together if fits is None or fits(boards.env) else None

    def begin(self, boards: "Boards", which: Which) -> None:
        together = self.as_seeing(boards)
        (super() if together is None else together).begin(boards, which)

    def agent_of(self, boards: "Boards", board: int) -> Any:
        if (boards, board) not in self._agents:
            is_first = not self._agents
            self._agents[boards, board] = self._agent if is_first else make_agent(self._named)
        return self._agents[boards, board]
