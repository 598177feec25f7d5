"""What may be asked of every tree search."""

from dataclasses import dataclass
from typing import Annotated, TypedDict

from agents.planning.view import Assumption, Route
from agents.search.proofs import SOLVERS
from agents.search.roots import FINAL_MOVES
from hexenv.common.messages import check_seed
from hexenv.common.options import OneOf, Within, check_fields


class SearchOptions(TypedDict, total=False):
    """The parameters of every tree search besides its budget, for signatures; see `Settings`."""

    final_move: str
    solver: str
    early_stop: bool
    reuse: bool
    transpositions: bool
    workers: int
    max_nodes: int
    threats: bool
    implicit_minimax: float
    route: str
    seed: int | None
    assume: str | None
    discount: float
    knowledge: str | None
    knowledge_at: int


@dataclass(frozen=True)
class Settings:
    """The options of a tree search, checked.

    Attributes:
        final_move: ``"visits"``: the most visited action; ``"value"``: the one with the highest
            mean; ``"lcb"``: the one with the highest lower confidence bound on the mean. A proven
            win comes before all of them, the shortest first, and a proven loss after, the longest
            first.
        solver: What is done with outcomes that the search proves: ``"soft"``, ``"hard"`` or
            ``"off"``; see `agents.search.proofs.SOLVERS`.
        early_stop: Whether to stop once no other action can become the most visited; for one
            worker, and `final_move` ``"visits"``.
        reuse: Whether to go on, in the next move of the game, with the part of the tree that was
            played. (A foreign environment does not tell what was played: there, replies are tried
            until one gives the position shown; with transpositions there is no reuse there.)
        transpositions: Whether positions reached by several move orders share their statistics
            (`agents.search.graph`); for selection rules that keep nothing of their own, as UCB1,
            and rewards that count no plies.
        workers: Threads that search at the same time, each a tree of its own with its share of the
            simulations; the visits are added up (root parallelisation: Chaslot, Winands and van den
            Herik 2008). The result depends on the seed and the number of workers. Where a search
            does not run as machine code the workers take turns.
        max_nodes: Bound on a tree; once it is full the search goes on without growing it. A node
            takes 35 bytes, and more in variants that keep more. Rules that visit all children
            before they score any, as UCB1, need two or three nodes for a simulation, others one for
            each action of every position that is expanded.
        threats: In games whose threats are known (Gomoku, TicTacToe): whether to look for wins by
            threats, before the search (fours, then threes as well, for up to a fifth of `seconds`)
            and at every new leaf (fours); see `agents.knowledge.gomoku.threats`.
        implicit_minimax: In games with a board evaluation (the same): the share of a child's mean,
            0 to 1, that is replaced by the minimax value of the evaluation; see
            `agents.knowledge.gomoku.minimax`.
        route: How it plans; see `agents.planning.view.planner_view`.
        seed: Of the random stream; None: a different one each time.
        assume: What to assume although the environment does not have it; see `route`. Then nothing
            is proven.
        discount: The factor of rewards for each ply, above 0 and at most 1. It counts in
            environments of one agent, as those of Gymnasium, and of three and more
            (`agents.planning.returns`). There, the values of `statistics` go from the worst return
            that the search has seen, -1, to the best, 1.
        knowledge: The names, with a plus between them, of what is known of the game and used in
            the tree, see `GameKnowledge.add_knowledge`. For searches of one tree each, with a
            solver.
        knowledge_at: After how many visits a node is looked at for what takes long to find out.

    Raises:
        ValueError: If an option is out of its range, or two do not go together.
    """

    final_move: Annotated[str, OneOf(FINAL_MOVES)] = "visits"
    solver: Annotated[str, OneOf(SOLVERS)] = "soft"
    early_stop: bool = False
    reuse: bool = True
    transpositions: bool = False
    workers: Annotated[int, Within(1, 1024)] = 1
    max_nodes: Annotated[int, Within(2, 2**31 - 1)] = 5_000_000
    threats: bool = False
    implicit_minimax: Annotated[float, Within(0.0, 1.0)] = 0.0
    route: Route = "auto"
    seed: int | None = None
    assume: Assumption = None
    discount: Annotated[float, Within(1e-9, 1.0)] = 1.0
    knowledge: str | None = None
    knowledge_at: Annotated[int, Within(1, 2**31 - 1)] = 256

    def __post_init__(self) -> None:
        check_fields(self)
        check_seed(self.seed)
        if self.early_stop and (self.workers != 1 or self.final_move != "visits"):
            raise ValueError(
                f'expected early_stop with one worker and final_move "visits", got {self.workers} '
                f'and "{self.final_move}"'
            )
        if self.knowledge is not None and not isinstance(self.knowledge, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError(
                f"expected knowledge as names, got {self.knowledge!r} (did you mean "
                "game_knowledge?)"
            )
        if self.transpositions and self.implicit_minimax > 0.0:
            raise ValueError("expected no implicit_minimax with transpositions, got both")
