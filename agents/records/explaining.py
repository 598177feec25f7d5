"""A tree search step by step: which way every simulation went, and why.

The search is the one that the agent makes, run one simulation at a time; one seed gives the same
tree either way. Only the fast form of random playouts, which fills a board at once, is played move
by move, as with ``playout="generic"``: the end of a playout is shown.

Before a simulation the children of each node are scored by the variant's own rule, as the search is
about to do. How a score is composed is found by the rule itself, too: what it loses when one of its
weights is 0 is the part of that weight.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

import numpy as np

from agents.core.agent import Agent
from agents.mcts.tree_search import TreeSearchAgent
from agents.planning.environment import check_in_play
from agents.records.analysis import Position
from agents.records.asking import with_title
from agents.search.children import NO_CHILD, is_left_out, next_child
from agents.search.mcts import compiled_search
from agents.search.playout import Uniform
from agents.search.proofs import is_proven
from agents.search.tree import MORE_TO_COME, ROOT, UNPROVEN, Tree, children
from agents.search.variant import Variant
from hexenv.common.messages import whole_number
from hexenv.envs.aec import BoardEnv
from hexenv.games import base

MOST_STEPS: Final = 10_000
"""Simulations that are explained at most: each is kept."""
WEIGHTS: Final = ("weight", "c", "bias")
"""Parameters of rules that are factors of a part of the score."""
FACTORS: Final = (0.0, 0.5, 2.0)
"""Other values of `c` that are tried, in multiples of its own."""

Reason = Literal["drawn", "first visit", "score"]


@dataclass(frozen=True)
class Candidate:
    """A child of a node, as it was before a simulation chose among its siblings.

    Attributes:
        action: The action that leads to it.
        visits: Simulations through it so far.
        value: Their mean reward, 0 to 1, for the player who chooses; None before the first.
        score: What the rule gives it; infinite for what is visited at once. None where nothing was
            scored.
        parts: What each weight of the rule adds to the score, as `Explanation.parts` names them.
        proof: The proven outcome for the player who chooses, -1, 0 or 1; None if there is none.
        is_left_out: Whether its proof, or the backup, keeps simulations away from it.
    """

    action: int
    visits: int
    value: float | None
    score: float | None = None
    parts: tuple[float | None, ...] = ()
    proof: int | None = None
    is_left_out: bool = False


@dataclass(frozen=True)
class Choice:
    """How a simulation went on from a node.

    Attributes:
        action: The action that it took.
        reason: ``"score"``: of all children it had the highest; ``"first visit"``: all children are
            visited before any is scored; ``"drawn"``: the children were new, in random order.
        candidates: The children, the highest score first.
        others: The action that other values of the rule's `c` would have taken, by the factor.
    """

    action: int
    reason: Reason
    candidates: tuple[Candidate, ...] = ()
    others: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True)
class Step:
    """One simulation.

    Attributes:
        choices: Its way down the tree.
        is_expanded: Whether the last node is new: this was its first visit.
        reward: What it counts for the player to move at the root, 0 to 1.
        end: The position at which it ended: that of its playout. None where a policy has
            evaluated the leaf.
        visits: Of the nodes on its way afterwards, the root first.
        values: Their values, 0 to 1, for who chose them; the root's for its player to move.
        proofs: Their proven outcomes, for who chose them; None if there is none.
    """

    choices: tuple[Choice, ...]
    is_expanded: bool
    reward: float
    end: Any
    visits: tuple[int, ...]
    values: tuple[float, ...]
    proofs: tuple[int | None, ...]

    @property
    def actions(self) -> tuple[int, ...]:
        """The actions of its way."""
        return tuple(choice.action for choice in self.choices)


@dataclass(frozen=True)
class Explanation:
    """A search, simulation by simulation. It prints a line for each.

    Examples:
        >>> from agents import UCT, explain
        >>> found = explain(env, UCT(seed=1), simulations=3)  # the third of three in a row
        >>> [step.actions for step in found.steps]
        [(6,), (8,), (2,)]

    Attributes:
        agent: The agent in words.
        position: Where the search began.
        parts: What the score of a child is composed of: its value, what each weight of the rule
            adds, and the rest.
        steps: The simulations; fewer than wanted if the root was proven.
        game: The rules.
        root: The state at the root.
    """

    agent: str
    position: Position
    parts: tuple[str, ...]
    steps: tuple[Step, ...]
    game: Any
    root: Any

    @property
    def title(self) -> str:
        """The position and the agent in words."""
        return f"{self.position}; {self.agent}"

    def __str__(self) -> str:
        lines = [self.title]
        for number, step in enumerate(self.steps, 1):
            state, texts = base.clone(self.game, self.root), list[str]()
            for action in step.actions:
                texts.append(self.game.action_text(action))
                self.game.step(state, action)
            reason = step.choices[0].reason if step.choices else ""
            lines.append(f"{number:5}  {step.reward:.2f}  {' '.join(texts)}  ({reason})")
        return "\n".join(lines)


def explain(
    env: Any, agent: Agent | str, simulations: int = 200, title: str | None = None
) -> Explanation:
    """What the first simulations of an agent's search do, one after another, from an empty tree.

    Args:
        env: An environment of one of our games, or of one written by their rules, in play. It stays
            as it is.
        agent: An agent that searches one tree, or the name of one with its parameters.
        simulations: How many; at most 10,000.
        title: The agent in words.

    Raises:
        ValueError: If the agent has no such tree, or cannot play in this environment.
    """
    found, title = with_title(agent, title)
    count = whole_number("simulations", simulations)
    if not 1 <= count <= MOST_STEPS:
        raise ValueError(f"expected simulations from 1 to {MOST_STEPS}, got {count}")
    raw = env.unwrapped
    if not isinstance(raw, BoardEnv):
        raise ValueError(f"expected an environment by the rules of hexenv, got {env}")
    check_in_play(env)
    if not isinstance(found, TreeSearchAgent) or found.settings.transpositions:
        raise ValueError(f"expected an agent that searches a tree, got {title}")
    is_by_turns = found.worker_class().kernel is compiled_search  # one simulation after another
    if found.settings.workers > 1 or found.batch > 1 or not is_by_turns:
        raise ValueError(
            f"expected workers=1 and batch=1, with one simulation after another, got {title}"
        )
    with found.turn:
        before = found.simulations, found.variant
        found.simulations = count  # which says how large the tree may be
        if getattr(found.variant.playout, "fast", False):
            found.variant = found.variant._replace(playout=Uniform(fast=False))
        try:
            found.prepare(env)
            walk = _Walk(found, env)
            steps = tuple(walk.steps(count))
        finally:
            found.simulations, found.variant = before
    root = base.clone(raw.game, raw.state)
    return Explanation(title, Position.of(env), walk.parts, steps, raw.game, root)


class _Walk:
    """Runs a search one simulation at a time, and notes what each does."""

    def __init__(self, agent: TreeSearchAgent, env: Any) -> None:
        self._run = agent.begin(env)
        self._worker, self._game = self._run.worker, self._run.view.game
        self._variant = cast("Variant", self._worker.variant)
        self._visits: dict[tuple[int, ...], int] = {}  # of all nodes that were seen, by their way
        weights = _weights(self._variant.selection)
        self._weights = [name for name in WEIGHTS if name in weights]
        self.parts = ("value", *self._weights, "rest")

    @property
    def _tree(self) -> Tree:
        return cast("Tree", self._worker.tree)

    def steps(self, count: int) -> Iterator[Step]:
        """The steps of so many simulations, or of those until the root is proven."""
        for _ in range(count):
            expected = self._expected()
            if self._run.search(1) == 0:
                return
            yield self._seen(expected)

    # ---- before a simulation ---------------------------------------------------------------------

    def _expected(self) -> list[Choice]:
        """The choices that the search is about to make in the nodes that have children."""
        tree, variant, choices, node = self._tree, self._variant, list[Choice](), ROOT
        if tree.node_count[0] == 0:
            return []
        while tree.child_count[node] > 0 and len(choices) < variant.max_depth:
            choice, child = self._choice(node)
            choices.append(choice)
            if child == NO_CHILD or is_proven(tree, child, variant):
                break
            node = child
        return choices

    def _choice(self, node: int) -> tuple[Choice, int]:
        """How the search goes on from a node with children; `NO_CHILD` if that is still drawn."""
        tree, rule = self._tree, self._variant.selection
        first, count = int(tree.first_child[node]), int(tree.child_count[node])
        below = range(first, first + count)
        child = int(next_child(tree, node)) if rule.tries_all_first() else NO_CHILD
        if child != NO_CHILD:
            is_drawn = tree.first_child[child] == MORE_TO_COME
            reason: Reason = "drawn" if is_drawn else "first visit"
            seen = tuple(self._candidate(one) for one in below)
            return Choice(int(tree.action[child]), reason, seen), NO_CHILD if is_drawn else child
        scores = self._scores(rule, node, below)
        parts = self._parts_of(rule, node, below, scores)
        seen = [
            self._candidate(one, float(scores[place]), parts[place], node)
            for place, one in enumerate(below)
        ]
        best = self._best(seen)
        others: list[tuple[float, int]] = []
        for factor in FACTORS if "c" in self._weights else ():
            changed = self._scores(_scaled(rule, "c", factor), node, below)
            open_ones = [place for place, one in enumerate(seen) if not one.is_left_out]
            place = max(open_ones or [0], key=lambda place, changed=changed: changed[place])
            others.append((factor, seen[place].action))
        ordered = sorted(seen, key=lambda one: (one.is_left_out, -(one.score or 0.0)))
        return Choice(seen[best].action, "score", tuple(ordered), tuple(others)), first + best

    def _best(self, candidates: Sequence[Candidate]) -> int:
        """The place of the first of those with the highest score that is not left out."""
        best, highest = 0, -math.inf
        for place, one in enumerate(candidates):
            if not one.is_left_out and cast("float", one.score) > highest:
                best, highest = place, cast("float", one.score)
        return best

    def _candidate(
        self,
        child: int,
        score: float | None = None,
        parts: tuple[float | None, ...] = (),
        node: int | None = None,
    ) -> Candidate:
        tree = self._tree
        visits = int(tree.visits[child])
        value = float(tree.value[child]) if visits else None
        out = node is not None and bool(is_left_out(tree, node, child, self._variant))
        return Candidate(
            int(tree.action[child]), visits, value, score, parts, _proof(tree, child), out
        )

    def _scores(self, rule: Any, node: int, below: range) -> list[float]:
        """The scores of the children of a node by a rule."""
        prepared = rule.prepare(self._tree, node, np.random.default_rng(0))
        return [float(rule.score(self._tree, child, prepared)) for child in below]

    def _parts_of(
        self, rule: Any, node: int, below: range, scores: Sequence[float]
    ) -> list[tuple[float | None, ...]]:
        """The parts of some scores; None where they are infinite, or before the first visit."""
        columns = [[float(self._tree.value[child]) for child in below]]
        left = list(scores)
        for name in self._weights:
            rule = _scaled(rule, name, 0.0)
            without = self._scores(rule, node, below)
            columns.append([_less(*pair) for pair in zip(left, without, strict=True)])
            left = without
        columns.append([_less(*pair) for pair in zip(left, columns[0], strict=True)])
        found: list[tuple[float | None, ...]] = []
        for child, *parts in zip(below, *columns, strict=True):
            if self._tree.visits[child] == 0:  # what it has instead of a value is the rule's
                parts[-1], parts[0] = parts[-1] + parts[0], math.nan
            found.append(tuple(one if math.isfinite(one) else None for one in parts))
        return found

    # ---- after a simulation ----------------------------------------------------------------------

    def _seen(self, expected: Sequence[Choice]) -> Step:
        """What the simulation that has just been run did."""
        tree, nodes, way, choices = self._tree, [ROOT], tuple[int, ...](), list[Choice]()
        is_new = False
        while len(changed := self._changed(nodes[-1], way)) == 1:
            (child,) = changed
            action = int(tree.action[child])
            is_expected = len(choices) < len(expected) and expected[len(choices)].action == action
            choices.append(expected[len(choices)] if is_expected else Choice(action, "drawn"))
            is_new = int(tree.visits[child]) == 1
            way = (*way, action)
            nodes.append(child)
        reward, end = self._result(nodes[-1], way)
        below = children(tree, ROOT)
        weights = tree.visits[below]
        mean = float(np.average(tree.value[below], weights=weights)) if weights.any() else 0.5
        return Step(
            tuple(choices),
            is_new,
            reward,
            end,
            tuple(int(tree.visits[node]) for node in nodes),
            (mean, *(float(tree.value[node]) for node in nodes[1:])),
            tuple(_proof(tree, node) for node in nodes),
        )

    def _changed(self, node: int, way: tuple[int, ...]) -> list[int]:
        """The children of a node that have got visits; of a search by turns it is one at most."""
        tree, found = self._tree, list[int]()
        for child in range(*children(tree, node).indices(len(tree.action))):
            key, visits = (*way, int(tree.action[child])), int(tree.visits[child])
            if visits > self._visits.get(key, 0):
                self._visits[key] = visits
                found.append(child)
        return found

    def _result(self, leaf: int, way: tuple[int, ...]) -> tuple[float, Any]:
        """The reward of the player to move at the root, and the position at the end."""
        game, root = self._game, self._run.view.root
        player, kept = int(game.to_play(root)), self._worker.kept
        if kept is not None:
            result = float(kept.simulation.result[0])
            end = base.clone(game, kept.state)
            return 0.5 + 0.5 * (result if player == 0 else -result), end
        state = base.clone(game, root)
        for action in way:
            game.step(state, action)
        if game.is_terminal(state):
            return 0.5 + 0.5 * float(game.outcome(state, player)), state
        value = float(self._tree.extras.raw_value[leaf])
        return value if int(game.to_play(state)) == player else 1.0 - value, None


def _less(number: float, other: float) -> float:
    """The difference; of infinite numbers it is not known."""
    return number - other if math.isfinite(number) and math.isfinite(other) else math.nan


def _proof(tree: Tree, node: int) -> int | None:
    """The proven outcome of a node, for who chose it."""
    return None if tree.proof[node] == UNPROVEN else int(tree.proof[node])


def _weights(rule: Any) -> set[str]:
    """The names of the weights that a rule has, or one behind it."""
    inner = getattr(rule, "selection", None)
    found = {name for name in WEIGHTS if isinstance(getattr(rule, name, None), float)}
    return found if inner is None else found | _weights(inner)


def _scaled(rule: Any, name: str, factor: float) -> Any:
    """A rule with one of its weights, or of the rule behind it, times a factor."""
    inner = getattr(rule, "selection", None)
    if inner is not None:
        rule = rule._replace(selection=_scaled(inner, name, factor))
    if isinstance(value := getattr(rule, name, None), float):
        rule = rule._replace(**{name: factor * value})
    return rule
