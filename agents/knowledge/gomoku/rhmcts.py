"""RHMCTS: restricted heuristic Monte-Carlo tree search, for Gomoku and other m,n,k games."""

from typing import Any, ClassVar, Final, NamedTuple, Unpack

from agents.core.options import number_within, whole_number_within
from agents.knowledge.gomoku.candidates import ALL_HEURISTICS
from agents.knowledge.gomoku.evaluation import SCALE
from agents.knowledge.gomoku.game_knowledge import GomokuKnowledge
from agents.knowledge.gomoku.knowledge import Candidates
from agents.knowledge.gomoku.playout import GuidedPlayout
from agents.knowledge.gomoku.scores import PUBLISHED, load_worth
from agents.knowledge.gomoku.selection import EvaluationPrior
from agents.mcts.tree_search import SearchOptions, TreeSearchAgent
from agents.search.eager import compiled_search_eagerly
from agents.search.mcts import Variant
from agents.search.reward import WinLoss
from hexenv.compiled import CompiledFunction

MOST_DEPTH: Final = 400
LEAF_FOURS: Final = 100
"""How many fours are tried at a leaf for a win by them."""


class Defaults(NamedTuple):
    """The parameters of which the two forms have different defaults; see `RHMCTS`."""

    n: int = 12
    k: int = 1
    depth: int = 0
    c: float = 0.5
    defend: float = 0.5
    eager: bool = False


SOUND: Final = Defaults()
FAITHFUL: Final = Defaults(n=5, k=3, depth=20, c=2.5, defend=1.0, eager=True)


class RHMCTS(TreeSearchAgent):
    r"""Restricted heuristic Monte-Carlo tree search (Zhang and Xie 2019).

    A node is expanded with what is urgent, else with the best cells near the stones by the points
    of their patterns (`agents.knowledge.gomoku.candidates`). The tree policy is an upper confidence bound
    with these points as prior. A simulation goes on from a leaf for some plies, guided by the same
    evaluation, and is cut and judged by the board evaluation.

    The default is the sound form: what is urgent restricts the candidates to those that do not lose
    at once, and wins by threats are looked for before the search and at its leaves. With
    ``faithful=True`` it is what the authors describe: the first heuristic to apply plays its move,
    all children of a leaf are simulated at once, a simulation that is cut counts as drawn, nothing
    is proven, and the parameters' defaults are theirs.

    Formula:
        $$\bar x + c\, P \frac{\sqrt{N}}{1 + n}$$

        $\bar x$ is the mean reward of a child, 0 to 1, for the player who chooses it; $n$ and $N$
        are the visits of the child and of its parent. $P$ is the prior: the points of the cell, of
        both sides, to the power of `sharpness`, as a share of its siblings'. A child without a
        visit has the evaluation of the position before it for $\bar x$. With `bias` $b$: $\bar x +
        c \sqrt{\ln N / n} + b P / (1 + n)$.

    Sources:
        Zhang and Xie, "RHMCTS", a students' project at Fudan University, 2019:
        https://github.com/zhangyilang/RHMCTS.

    Args:
        simulations: Simulations a move; with `eager` up to `n` more.
        seconds: Seconds a move; with `eager` up to all children of a leaf more.
        n: How many candidates a node has where nothing is urgent; 12, faithful 5.
        k: Over how many simulations the result of a leaf is the mean; 1, faithful 3.
        depth: After how many plies a simulation is cut; 0, faithful 20.
        neighbourhood: How far candidates are from a stone, in rows and columns.
        c: Weight of exploration, for rewards in [0, 1]; 0.5, faithful 2.5.
        heuristics: Which of the seven are used, by their digits (`agents.knowledge.gomoku.candidates`).
        patterns: What patterns are worth: a JSON file (`agents.knowledge.gomoku.scores`); by default the
            published table.
        defend: What the other side's points on a cell count, against one's own; 0.5, faithful 1.
        sharpness: The power of the points in the prior.
        scale: The balance of points at which a side is clearly better.
        bias: Weight of a progressive bias; 0: the prior multiplies the exploration instead.
        widening: Of progressive widening: at N visits only the best ``widening * sqrt(N)``
            candidates are looked at; 0: all.
        eager: Whether all children of a leaf are simulated at once; by default only if faithful.
        faithful: Whether to play as the authors describe.
        **options: See `TreeSearchAgent`. `threats` is True; if faithful, False, `solver` ``"off"``
            and `final_move` ``"value"``. Trees cannot be saved.

    Raises:
        OSError: If the file of patterns cannot be read.
        ValueError: If a parameter is out of its range, or the file is damaged.
    """

    name = "rhmcts"
    other_defaults: ClassVar[SearchOptions] = {"threats": True}

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        n: int | None = None,
        k: int | None = None,
        depth: int | None = None,
        neighbourhood: int = 2,
        c: float | None = None,
        heuristics: str = ALL_HEURISTICS,
        patterns: str | None = None,
        defend: float | None = None,
        sharpness: float = 0.5,
        scale: float = SCALE,
        bias: float = 0.0,
        widening: float = 0.0,
        eager: bool | None = None,
        faithful: bool = False,
        **options: Unpack[SearchOptions],
    ) -> None:
        given = FAITHFUL if faithful else SOUND
        bits = _heuristic_bits(heuristics)
        threats = options.setdefault("threats", not faithful)
        n = whole_number_within("n", _either(n, given.n), 1, 400)
        reach = whole_number_within("neighbourhood", neighbourhood, 1, 19)
        weight = number_within("defend", _either(defend, given.defend), 0.0, 1e3)
        fours = LEAF_FOURS if threats else 0
        candidates = Candidates(n, reach, bits, weight, fours, is_sound=not faithful)
        selection = EvaluationPrior(
            c=number_within("c", _either(c, given.c)),
            bias=number_within("bias", bias),
            widening=number_within("widening", widening),
            defend=weight,
            sharpness=number_within("sharpness", sharpness, 0.0, 4.0),
            scale=number_within("scale", scale, 1e-3),
            heuristics=bits,
            forks=0 if faithful else bits,
            is_sound=not faithful,
        )
        playout = GuidedPlayout(
            k=whole_number_within("k", _either(k, given.k), 1, 1000),
            depth=whole_number_within("depth", _either(depth, given.depth), 0, MOST_DEPTH),
            defend=weight,
            heuristics=bits & ~0b100 if faithful else bits,
            scale=selection.scale,
            judges=not faithful,
        )
        if faithful:
            options.setdefault("solver", "off")
            options.setdefault("final_move", "value")
        self.eager = bool(_either(eager, given.eager))
        scores = PUBLISHED if patterns is None else load_worth(patterns)
        variant = Variant(selection, playout, WinLoss(), knowledge=candidates)
        known = GomokuKnowledge(scores)
        super().__init__(variant, simulations, seconds, **options, knowledge=known)

    def _kernel(self) -> CompiledFunction:
        return compiled_search_eagerly if self.eager else super()._kernel()


def _either(value: Any, default: Any) -> Any:
    return default if value is None else value


def _heuristic_bits(text: Any) -> int:
    """The heuristics whose digits a text has, as bits.

    Raises:
        ValueError: If it has anything else.
    """
    if not isinstance(text, str) or not set(text) <= set(ALL_HEURISTICS):
        raise ValueError(f"expected heuristics among {ALL_HEURISTICS}, got {text!r}")
    return sum(1 << int(digit) for digit in set(text))
