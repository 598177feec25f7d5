"""Nested rollout policy adaptation, for games of two players.

A playout policy is learnt while the search runs: every cell has a weight for each player, playouts
draw their moves by these weights, and the weights move towards the playouts that went well. A nest
of levels does this (Rosin 2011): level 1 runs playouts and adapts its weights after each; a level
above it runs whole levels below it, each from a copy of its own weights, and adapts to the line
that each hands up.

Rosin's algorithm looks for the one best line of a puzzle. In a game that line is one in which the
opponent helps. So here, by default, each player's weights learn from that player's own results, as
in playout policy adaptation (Cazenave 2015), and the learnt policy is the prior of a small tree
over the first plies, without which no policy by cells can tell a refutation from a mere reply.

Sources:
    Rosin, "Nested rollout policy adaptation for Monte Carlo tree search", IJCAI 2011.
    Cazenave, "Playout policy adaptation for games", Advances in Computer Games 2015.
    Negrevergne and Cazenave, "Distributed nested rollout policy for SameGame", 2017.
    Sironi, Cazenave and Winands, "Enhancing playout policy adaptation for general game playing",
    2021: every player's weights learn in proportion to the payoff.
    Rosin, "Multi-armed bandits with episode context", 2011: PUCT, the rule with a prior.
"""

import math
import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from agents.agent import Statistics, check_in_play
from agents.options import check_budget, expect_one_of, number_within, whole_number_within
from agents.search.foreign import View, check_route, new_state_of, planner_view
from hexenv.compiled import CompiledFunction, compiled, kernel

T = TypeVar("T")

ROOT: Final = 0
NO_ROW: Final = 0
"""In `Rows.below`, where nothing is below: nothing leads to the root."""
NO_LINE: Final = -math.inf
"""The score of a level that has no line yet."""

ADAPTS: Final = ("softmax", "additive")
ALPHAS: Final = {"softmax": 0.03, "additive": 0.1}
MODES: Final = ("payoff", "adversarial", "cooperative")
PAYOFF, ADVERSARIAL, COOPERATIVE = range(3)
FINAL_MOVES: Final = ("visits", "value", "sequence")
CODES: Final = ("cell", "position")
SCORES: Final = ("root", "last")
LEARNS: Final = ("always", "improvement")

ENDLESS: Final = 2**62
POSITION_CODES: Final = 1 << 14
"""Weights for moves known by the positions they lead to; hashes share them."""
TREE_ENTRIES: Final = 4_000_000
"""Bound on the tree: rows times actions. An entry takes 16 bytes."""
LEAST_EXPONENT: Final = -300.0
LEAST_WEIGHT: Final = 0.01
"""No move becomes impossible."""
EVEN_SHARE: Final = 0.5
"""Share of the prior that all legal moves of a node have alike: what the policy has learnt to avoid
still has to be tried, as one refutation may be among it."""


@compiled
class Form(NamedTuple):
    """A form of the search, as its kernels need it; see `NRPA` for what the options mean."""

    levels: int
    iterations: int
    alpha: float
    line_decay: float
    is_softmax: bool
    learning_mode: int
    has_tree: bool
    exploration: float
    by_position: bool
    scores_for_root: bool
    learns_always: bool
    begins_anew: bool


@compiled
class Nest(NamedTuple):
    """What the levels know, the lowest first (L levels, C codes)."""

    weights: NDArray[np.float64]
    """``(L, 2, C)``: by level, player and code of the move."""
    odds: NDArray[np.float64]
    """``(L, 2, C)``: what a move's probability is proportional to, kept beside its weight."""
    changes: NDArray[np.float64]
    """``(2, C)``: what an adaptation will add; zero between adaptations."""
    lines: NDArray[np.int32]
    """``(L, max_plies())``: the actions of each level's line: its best, or in a contest its
    latest."""
    lengths: NDArray[np.int64]
    """``(L,)``: the length of the line; 0 where there is none yet."""
    results: NDArray[np.int64]
    """``(L,)``: the outcome of the line for player 0."""
    line_scores: NDArray[np.float64]
    """``(L,)``: how good the line is."""
    rounds: NDArray[np.int64]
    """``(L,)``: iterations done."""


@compiled
class Rows(NamedTuple):
    """The tree: a row of all actions for every position in it (R rows); row 0 is the root's."""

    below: NDArray[np.int32]
    """``(R, num_actions())``: the row of the position after the action, or `NO_ROW`."""
    plays: NDArray[np.int32]
    """``(R, num_actions())``: playouts that went on from the row with the action."""
    gains: NDArray[np.float64]
    """``(R, num_actions())``: their rewards, 0 to 1, for the player who chose it, summed up."""
    row_count: NDArray[np.int64]
    """``(1,)``: rows in use."""


def new_nest(form: Form, codes: int, plies: int) -> Nest:
    """A nest that has learnt nothing."""
    levels = form.levels
    return Nest(
        weights=np.full((levels, 2, codes), 0.0 if form.is_softmax else 1.0),
        odds=np.ones((levels, 2, codes)),
        changes=np.zeros((2, codes)),
        lines=np.empty((levels, plies), np.int32),
        lengths=np.zeros(levels, np.int64),
        results=np.zeros(levels, np.int64),
        line_scores=np.full(levels, NO_LINE),
        rounds=np.zeros(levels, np.int64),
    )


def new_rows(rows: int, num_actions: int) -> Rows:
    """A tree of nothing but its root. Memory is touched only as rows come into use."""
    return Rows(
        below=np.zeros((rows, num_actions), np.int32),
        plays=np.zeros((rows, num_actions), np.int32),
        gains=np.zeros((rows, num_actions), np.float64),
        row_count=np.ones(1, np.int64),
    )


# ---- the playout ---------------------------------------------------------------------------------


@kernel
def code_of(game: Any, state: Any, ahead: Any, action: int, by_position: bool) -> int:
    """The number under which a move has its weights; `ahead` is a state to work in."""
    if not by_position:
        return game.cell_of(state, action)
    game.copy(state, ahead)
    game.step(ahead, action)
    return int(game.position_hash(ahead)) & (POSITION_CODES - 1)


@kernel
def weigh(
    game: Any,
    state: Any,
    ahead: Any,
    odds: NDArray[np.float64],
    by_position: bool,
    actions: NDArray[np.int32],
    count: int,
    codes: NDArray[np.int64],
    shares: NDArray[np.float64],
) -> None:
    """The policy in one position: write the codes of the actions, and their probabilities."""
    player = game.to_play(state)
    total = 0.0
    for i in range(count):
        codes[i] = code_of(game, state, ahead, int(actions[i]), by_position)
        shares[i] = odds[player, codes[i]]
        total += shares[i]
    for i in range(count):
        shares[i] /= total


@kernel
def draw(shares: NDArray[np.float64], count: int, rng: np.random.Generator) -> int:
    """One of `count` at random, each with the probability that is its share."""
    rest = rng.random()
    for i in range(count - 1):
        rest -= shares[i]
        if rest < 0:
            return i
    return count - 1


@kernel
def select(
    tree: Rows,
    row: int,
    actions: NDArray[np.int32],
    shares: NDArray[np.float64],
    count: int,
    exploration: float,
) -> int:
    """Which action the tree goes on with: PUCT, with the policy of the moment as the prior.

    Every action starts with one imagined draw, so that none has to be tried before its turn.
    """
    total = 1
    for i in range(count):
        total += tree.plays[row, actions[i]]
    bonus = exploration * math.sqrt(total)
    best = 0
    best_score = -np.inf
    for i in range(count):
        prior = (1 - EVEN_SHARE) * shares[i] + EVEN_SHARE / count
        plays = 1 + tree.plays[row, actions[i]]
        score = (tree.gains[row, actions[i]] + 0.5 + bonus * prior) / plays
        if score > best_score:
            best_score = score
            best = i
    return best


@kernel
def play(
    game: Any,
    root: Any,
    state: Any,
    ahead: Any,
    nest: Nest,
    tree: Rows,
    form: Form,
    line: NDArray[np.int32],
    players: NDArray[np.int8],
    rng: np.random.Generator,
) -> int:
    """One playout: by the tree as far as it goes, by the weights of the lowest level from there.

    Args:
        game: The game.
        root: Where it starts; not changed.
        state: Receives the end of the game.
        ahead: A state to work in.
        nest: The levels.
        tree: The tree.
        form: The form of the search.
        line: Receives the actions.
        players: Receives who played each of them.
        rng: The stream of random numbers.

    Returns:
        The number of actions.
    """
    actions = np.empty(game.num_actions(), np.int32)
    codes = np.empty(game.num_actions(), np.int64)
    shares = np.empty(game.num_actions(), np.float64)
    game.copy(root, state)
    is_in_tree = form.has_tree
    row = ROOT
    ply = 0
    while not game.is_terminal(state):
        count = game.legal_actions(state, actions)
        weigh(game, state, ahead, nest.odds[0], form.by_position, actions, count, codes, shares)
        if is_in_tree:
            pick = select(tree, row, actions, shares, count, form.exploration)
            row = tree.below[row, actions[pick]]
            is_in_tree = row != NO_ROW
        else:
            pick = draw(shares, count, rng)
        line[ply] = actions[pick]
        players[ply] = game.to_play(state)
        ply += 1
        game.step(state, int(actions[pick]))
    return ply


@kernel
def back_up(
    tree: Rows, line: NDArray[np.int32], players: NDArray[np.int8], length: int, result: int
) -> None:
    """Count a playout in every row it came through; what is reached again gets a row of its own."""
    row = ROOT
    for i in range(length):
        action = line[i]
        tree.plays[row, action] += 1
        tree.gains[row, action] += (1 + (result if players[i] == 0 else -result)) / 2
        below = tree.below[row, action]
        if below == NO_ROW:
            has_room = tree.row_count[0] < len(tree.below)
            if has_room and tree.plays[row, action] > 1 and i + 1 < length:
                tree.below[row, action] = tree.row_count[0]
                tree.row_count[0] += 1
            break
        row = below


# ---- the adaptation ------------------------------------------------------------------------------


@kernel
def rate_of(form: Form, result: int) -> float:
    """How far the weights of a player with this result move towards the moves of a line."""
    if form.learning_mode == PAYOFF:
        return form.alpha * result
    if form.learning_mode == ADVERSARIAL:
        return form.alpha if result > 0 else 0.0
    return form.alpha


@kernel
def adapt(game: Any, root: Any, state: Any, ahead: Any, nest: Nest, form: Form, level: int) -> None:
    """Move the weights of a level towards its line, or away from what has lost.

    A move that was played gains the rate. In the softmax form every move that could have been
    played there loses the rate times its probability, which makes it the gradient of the line's
    log-probability. These probabilities are those of the old weights throughout: the changes are
    collected while the line is played over again, and made at its end.
    """
    actions = np.empty(game.num_actions(), np.int32)
    codes = np.empty(game.num_actions(), np.int64)
    shares = np.empty(game.num_actions(), np.float64)
    result = nest.results[level]
    rates = (rate_of(form, result), rate_of(form, -result))
    game.copy(root, state)
    fade = 1.0
    for ply in range(nest.lengths[level]):
        action = int(nest.lines[level, ply])
        player: int = game.to_play(state)
        rate = fade * rates[player]
        changes = nest.changes[player]
        if rate != 0.0:
            changes[code_of(game, state, ahead, action, form.by_position)] += rate
        if rate != 0.0 and form.is_softmax:
            count = game.legal_actions(state, actions)
            odds = nest.odds[level]
            weigh(game, state, ahead, odds, form.by_position, actions, count, codes, shares)
            for i in range(count):
                changes[codes[i]] -= rate * shares[i]
        fade *= form.line_decay
        game.step(state, action)
    for player in range(2):
        if rates[player] != 0.0:
            make_changes(nest, form.is_softmax, level, player)


@kernel
def make_changes(nest: Nest, is_softmax: bool, level: int, player: int) -> None:
    """Add the changes to the weights of a player, and bring the odds up to date.

    The odds of a softmax are taken relative to the greatest weight, so that none overflows.
    """
    weights, odds = nest.weights[level, player], nest.odds[level, player]
    greatest = -np.inf
    for code in range(weights.size):
        weights[code] += nest.changes[player, code]
        nest.changes[player, code] = 0.0
        greatest = max(greatest, weights[code])
    for code in range(weights.size):
        if is_softmax:
            odds[code] = math.exp(max(weights[code] - greatest, LEAST_EXPONENT))
        else:
            weights[code] = max(weights[code], LEAST_WEIGHT)
            odds[code] = weights[code]


# ---- the nest ------------------------------------------------------------------------------------


@kernel
def score_of(game: Any, end: Any, form: Form, player: int) -> float:
    """How good a playout is, where the search is after the best one.

    In a contest no line is best for both, and each counts as good as the one before it: the
    latest, in which both have learnt most, is what a level hands up.
    """
    if form.learning_mode != COOPERATIVE:
        return 0.0
    return float(game.outcome(end, player if form.scores_for_root else game.to_play(end)))


@kernel
def hand_up(
    game: Any,
    root: Any,
    state: Any,
    ahead: Any,
    nest: Nest,
    form: Form,
    line: NDArray[np.int32],
    length: int,
    result: int,
    score: float,
) -> None:
    """Give a playout to the lowest level, and the line of each level that is through to the next.

    Then the levels that were through begin again, from the weights of the one above them.
    """
    level = 0
    while True:
        is_better = score > nest.line_scores[level]
        if is_better or (form.learns_always and score == nest.line_scores[level]):
            nest.line_scores[level] = score
            nest.results[level] = result
            nest.lengths[level] = length
            for ply in range(length):
                nest.lines[level, ply] = line[ply]
        if is_better or form.learns_always:
            adapt(game, root, state, ahead, nest, form, level)
        nest.rounds[level] += 1
        if nest.rounds[level] < form.iterations or level + 1 == form.levels:
            break
        line, length = nest.lines[level], nest.lengths[level]
        result, score = nest.results[level], nest.line_scores[level]
        level += 1
    for through in range(level):
        nest.weights[through] = nest.weights[level]
        nest.odds[through] = nest.odds[level]
        nest.line_scores[through] = NO_LINE
        nest.rounds[through] = 0


@kernel
def begin_anew(nest: Nest, form: Form) -> None:
    """Forget all that was learnt, for another nest after one that is through.

    What a nest learns last it hardly doubts any more; another one may learn something else. The
    counts in the tree stay, and with them the choice.
    """
    nest.weights[:] = 0.0 if form.is_softmax else 1.0
    nest.odds[:] = 1.0
    nest.line_scores[:] = NO_LINE
    nest.rounds[:] = 0


@kernel
def adapt_policies(
    game: Any,
    root: Any,
    state: Any,
    ahead: Any,
    nest: Nest,
    tree: Rows,
    form: Form,
    simulations: int,
    rng: np.random.Generator,
) -> None:
    """Run playouts from a position. Calling again with the same nest goes on where it stopped.

    Args:
        game: The game, or the adapter of a foreign environment.
        root: The position to search; not changed.
        state: A state to work in.
        ahead: Another.
        nest: The levels.
        tree: The tree; its first row counts the first moves, also where no tree is wanted.
        form: The form of the search.
        simulations: How many.
        rng: The stream of random numbers, the only source of chance.
    """
    line = np.empty(game.max_plies(), np.int32)
    players = np.empty(game.max_plies(), np.int8)
    player = game.to_play(root)
    for _ in range(simulations):
        if form.begins_anew and nest.rounds[form.levels - 1] >= form.iterations:
            begin_anew(nest, form)
        length = play(game, root, state, ahead, nest, tree, form, line, players, rng)
        result = game.outcome(state, 0)
        score = score_of(game, state, form, player)
        back_up(tree, line, players, length, result)
        hand_up(game, root, state, ahead, nest, form, line, length, result, score)


compiled_adapt_policies: Final = CompiledFunction(adapt_policies)


# ---- the agent -----------------------------------------------------------------------------------


class NRPA:
    """Nested rollout policy adaptation (Rosin 2011), made sound for two players.

    The defaults were chosen by solved positions of Hex and games against perfect TicTacToe: deeper
    nests, faster learning and cooperation choose worse moves; without the tree Hex is played as
    well, but TicTacToe is lost to single refutations. An option left None has the default of the
    form: sound, or with ``faithful=True`` that of the text this agent goes back to, which plays no
    better than at random. What is wrong there is numbered below, at the option that turns it right.

    Args:
        simulations: Playouts a move; 1,000 where neither budget is given.
        seconds: Seconds a move, without the first compilation. With both, the first to end counts.
        level: How many levels the nest has: 1 (text: 3).
        iterations: How often a level runs the one below it before it hands up its line. None: as
            many as make the nest last for the simulations; where there are only seconds, 100, and
            without end for the only level of a nest (text: 10). A nest that is through before the
            budget is spent begins anew, unless `keep_policy` says otherwise.
        alpha: How far an adaptation moves a weight: 0.03, for the additive one 0.1 (text: 1).
        adapt: ``"softmax"``: probabilities are proportional to exp(weight), and an adaptation
            follows the gradient (Rosin). ``"additive"``, the text's defect 4: proportional to the
            weights, which only the moves of the line change; the others never lose. (Where lines
            that lost take weight away, as with ``mode="payoff"``, it is as good.)
        mode: Who learns from a line. ``"payoff"``: each player, by the own result, so that what
            lost is avoided and a draw teaches nothing. ``"adversarial"``: only the winner
            (Cazenave 2015). ``"cooperative"``, in the text and for one player: all, from the best
            line of one score, so that the opponent helps.
        final_move: What is played: ``"visits"``: the most played first move; ``"value"``: the one
            with the best mean; ``"sequence"``: that of the top level's line (text).
        tree: Whether the first plies are chosen by a tree, which grows by what it finds and has
            the policy as its prior: True (text: False).
        c: How much the tree explores.
        code: Which moves share a weight. ``"cell"``: those that fill the same cell. ``"position"``,
            defect 3: those that lead to the same position, so that nothing is learnt for others.
        score: What ``mode="cooperative"`` calls good. ``"root"``: what is good for the player to
            move at the root. ``"last"``, defects 1 and 2: what is for the player whose turn it
            would be at the end, who has just lost: a won game never counts, for nobody.
        learn: When a level adapts. ``"always"``: after every iteration, to the latest of the best
            lines. ``"improvement"``, defect 5: only when a line is better than all before, which
            with three results happens twice at most.
        decay: By how much less each further move of a line is learnt: 1, by nothing (text, defect
            6: 0.9).
        keep_policy: Whether a search starts with the weights of the one before: False (text, defect
            7: True, whoever was to move then).
        faithful: Whether the options left None are the text's.
        route: How it plans; see `agents.search.foreign.planner_view`.
        seed: Of the random stream; None for an unforeseeable one.

    Attributes:
        statistics: Of the last search.

    Raises:
        ValueError: If a budget, a number or a name is out of its range.
    """

    name = "nrpa"

    def __init__(
        self,
        simulations: int | None = None,
        seconds: float | None = None,
        *,
        level: int | None = None,
        iterations: int | None = None,
        alpha: float | None = None,
        adapt: str | None = None,
        mode: str | None = None,
        final_move: str | None = None,
        tree: bool | None = None,
        c: float = 1.0,
        code: str | None = None,
        score: str | None = None,
        learn: str | None = None,
        decay: float | None = None,
        keep_policy: bool | None = None,
        faithful: bool = False,
        route: str = "auto",
        seed: int | None = None,
    ) -> None:
        def either(given: T | None, sound: T, of_the_text: T) -> T:
            default = of_the_text if faithful else sound
            return default if given is None else given

        self.simulations, self.seconds = check_budget(simulations, seconds)
        level = whole_number_within("level", either(level, 1, 3), 1, 32)
        if iterations is None:
            iterations = 10 if faithful else fitting_iterations(self.simulations, level)
        adapt = expect_one_of("adapt", either(adapt, "softmax", "additive"), ADAPTS)
        mode = expect_one_of("mode", either(mode, "payoff", "cooperative"), MODES)
        self.final_move = expect_one_of(
            "final_move", either(final_move, "visits", "sequence"), FINAL_MOVES
        )
        self.form = Form(
            levels=level,
            iterations=whole_number_within("iterations", iterations, 1, ENDLESS),
            alpha=number_within("alpha", either(alpha, ALPHAS[adapt], 1.0), 0.0, 1e6),
            line_decay=number_within("decay", either(decay, 1.0, 0.9), 0.0, 1.0),
            is_softmax=adapt == "softmax",
            learning_mode=MODES.index(mode),
            has_tree=bool(either(tree, True, False)),
            exploration=number_within("c", c, 0.0, 1e6),
            by_position=expect_one_of("code", either(code, "cell", "position"), CODES)
            == "position",
            scores_for_root=expect_one_of("score", either(score, "root", "last"), SCORES) == "root",
            learns_always=expect_one_of("learn", either(learn, "always", "improvement"), LEARNS)
            == "always",
            begins_anew=not either(keep_policy, False, True),
        )
        check_route(route)
        self.route = route
        self.statistics: Statistics | None = None
        self._rng = np.random.default_rng(seed)
        self._nest: Nest | None = None

    def reset(self, seed: int | None = None) -> None:
        """Forget what was learnt; with a seed, start the random stream anew."""
        self.statistics = None
        self._nest = None
        if seed is not None:
            self._rng = np.random.default_rng(seed)

    def act(self, env: Any) -> int:
        """Search from the environment's position and choose an action; see `Agent.act`."""
        check_in_play(env)
        started = time.perf_counter()
        view = planner_view(env, self.route)
        nest, tree = self._empty_memory(view)
        before_compiling = time.perf_counter()
        run = self._compiled(view, nest, tree)
        started += time.perf_counter() - before_compiling
        done = self._spend_budget(run, started)
        self._nest = nest
        seconds = time.perf_counter() - started
        line = best_line(nest) if self.final_move == "sequence" else most_played_line(tree)
        self.statistics = Statistics(
            tree.plays[ROOT].astype(np.int64), root_values(tree), line, done, seconds
        )
        return line[0] if self.final_move == "sequence" else choose(tree, self.final_move)

    def prepare(self, env: Any) -> None:
        """Compile what `act` needs in such an environment, so that its first call does not."""
        view = planner_view(env, self.route)
        self._compiled(view, *self._empty_memory(view))

    def _empty_memory(self, view: View) -> tuple[Nest, Rows]:
        """A nest to begin with, and a tree with room for the budget."""
        game = view.game
        codes = POSITION_CODES if self.form.by_position else int(game.num_cells())
        nest = new_nest(self.form, codes, int(game.max_plies()))
        kept = self._nest
        if (
            not self.form.begins_anew
            and kept is not None
            and kept.weights.shape == nest.weights.shape
        ):
            nest.weights[:] = kept.weights[-1]
            nest.odds[:] = kept.odds[-1]
        rows = 1
        if self.form.has_tree:
            rows = max(1, TREE_ENTRIES // game.num_actions())
            if self.simulations is not None:
                rows = min(rows, 1 + self.simulations)
        return nest, new_rows(rows, game.num_actions())

    def _compiled(self, view: View, nest: Nest, tree: Rows) -> Callable[[int], None]:
        """The search as a function of the number of simulations to run."""
        states = view.root, new_state_of(view), new_state_of(view)
        arguments = (view.game, *states, nest, tree, self.form)
        run: Callable[..., None] = adapt_policies
        if view.compiles:
            run = compiled_adapt_policies.specialise(*arguments, 0, self._rng)
        return lambda simulations: run(*arguments, simulations, self._rng)

    def _spend_budget(self, run: Callable[[int], None], started: float) -> int:
        """Search in slices until the budget is spent; returns the simulations run."""
        limit = ENDLESS if self.simulations is None else self.simulations
        deadline = math.inf if self.seconds is None else self.seconds
        slice_seconds = 0.05 if self.seconds is None else 0.001
        done, elapsed, count = 0, 0.0, 1
        while done < limit and (done == 0 or elapsed < deadline):
            run(count)
            done += count
            elapsed = time.perf_counter() - started
            wanted = int(done / max(elapsed, 1e-9) * min(slice_seconds, deadline - elapsed))
            count = max(1, min(wanted, 2 * count, limit - done))
        return done

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_nest": None if self.form.begins_anew else self._nest}


def fitting_iterations(simulations: int | None, level: int) -> int:
    """How many iterations make a nest of so many levels last for the simulations."""
    if simulations is None:
        return ENDLESS if level == 1 else 100
    return math.ceil(round(simulations ** (1 / level), 9))


def root_values(tree: Rows) -> NDArray[np.float64]:
    """The mean results of the first moves, -1 to 1; 0 for those never played."""
    plays, gains = tree.plays[ROOT], tree.gains[ROOT]
    return np.where(plays > 0, 2 * gains / np.maximum(plays, 1) - 1, 0.0)


def choose(tree: Rows, final_move: str) -> int:
    """The first move to play; ties go to the value, then to the lower action."""
    plays, values = tree.plays[ROOT], root_values(tree)
    if final_move == "value":
        return int(np.argmax(np.where(plays > 0, values, -2.0)))
    return int(np.argmax(np.where(plays == plays.max(), values, -2.0)))


def most_played_line(tree: Rows) -> list[int]:
    """The line of the most played moves, as far as the tree goes."""
    line = [choose(tree, "visits")]
    row = int(tree.below[ROOT, line[0]])
    while row != NO_ROW and tree.plays[row].any():
        line.append(int(np.argmax(tree.plays[row])))
        row = int(tree.below[row, line[-1]])
    return line


def best_line(nest: Nest) -> list[int]:
    """The line of the highest level that has one."""
    level = int(np.flatnonzero(nest.lengths)[-1])
    return cast("list[int]", nest.lines[level, : nest.lengths[level]].tolist())
