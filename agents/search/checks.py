"""Checks of a part of a search that somebody has written: a rule, a playout, a reward, a backup.

The part runs interpreted in a search of a game, with every index and every result looked at, then
once more, and then as machine code, which checks nothing: all must grow the same tree.
`hexenv.testing` has these functions too.
"""

import inspect
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from agents.search.mcts import compiled_search, search
from agents.search.playout import Playout, Uniform
from agents.search.reward import Backup, Reward, WinLoss
from agents.search.selection import UCB1, Selection
from agents.search.simulation import Simulation
from agents.search.tree import Tree, extra_arrays
from agents.search.variant import PARTS_WITH_MEMORY, Variant, simulation_for, tree_for, with_memory
from hexenv.compiled import COMPILE_ERRORS, classes_of, is_compiled, uses_machine_code
from hexenv.compiled.callees import is_ours
from hexenv.games import base

COMPARED: Final = ("first_child", "child_count", "action", "visits", "value")
"""What must be the same in two trees."""
MAY_CHANGE: Final = {"prepare": (), "score": (), "prunes": (), "choose": (), "revise": ("value",)}
"""The arrays of a tree that a method may write to, where these are not all."""
WHOLE_NUMBERS: Final[Any] = (int, np.integer)
NUMBERS: Final[Any] = (int, float, np.integer, np.floating)


def grow_tree(
    variant: Variant,
    game: Any,
    *,
    simulations: int = 1000,
    seed: int = 0,
    actions: tuple[int, ...] = (),
    interpreted: bool = False,
) -> Tree:
    """The tree of a search by a variant, without an environment or an agent.

    Args:
        variant: The composition.
        game: The game.
        simulations: How many to run.
        seed: Of the random stream.
        actions: What is played before, from the start of the game.
        interpreted: Whether to run as plain Python, and not as machine code.

    Returns:
        The tree; the children of the root are ``agents.search.tree.children(tree, 0)``.
    """
    variant = with_memory(variant, game)
    return _grow(variant, variant, game, simulations, seed, actions, interpreted)


def _grow(
    variant: Variant,
    used: Variant,
    game: Any,
    simulations: int,
    seed: int,
    actions: tuple[int, ...],
    interpreted: bool,
) -> Tree:
    """`grow_tree` of a variant with memory, of which `used` is one with checked parts."""
    tree = _empty_tree(variant, game, simulations)
    root = base.new_state(game)
    for action in actions:
        game.step(root, action)
    state, simulation = base.new_state(game), simulation_for(variant, game)
    run: Callable[..., int] = search if interpreted else compiled_search
    run(game, root, state, tree, used, simulation, simulations, np.random.default_rng(seed))
    return tree


def _empty_tree(variant: Variant, game: Any, simulations: int) -> Tree:
    """A tree in which what a part does not initialise shows."""
    tree = tree_for(variant, 1 + (simulations + 1) * game.num_actions())
    for array in _kept_arrays(tree).values():
        array[:] = np.nan if array.dtype.kind == "f" else True
    return tree


def _kept_arrays(tree: Tree) -> dict[str, NDArray[Any]]:
    """What the parts keep for nodes."""
    return extra_arrays("extras", tree.extras) | extra_arrays("backed_up", tree.backed_up)


# ---- what users call -----------------------------------------------------------------------------


def check_selection(rule: Any, game: Any, *, simulations: int = 100, seed: int = 0) -> None:
    """Check a selection rule in a search of a game, interpreted and as machine code.

    Args:
        rule: The rule, `agents.search.selection.Selection`.
        game: The game to search, such as ``hexenv.games.connect4.new()``.
        simulations: How many to run, from the start and from a position on the way.
        seed: Of the searches.

    Raises:
        AssertionError: At the first claim that does not hold: what was expected, what came, in
            which method.
    """
    _check("selection", rule, Selection, game, simulations, seed)


def check_playout(playout: Any, game: Any, *, simulations: int = 100, seed: int = 0) -> None:
    """Check a playout policy, as `check_selection` does a rule: each choice is a legal action."""
    _check("playout", playout, Playout, game, simulations, seed)


def check_reward(reward: Any, game: Any, *, simulations: int = 100, seed: int = 0) -> None:
    """Check a reward, as `check_selection` does a rule: it is from 0 to 1 for any outcome."""
    _check_methods(reward, Reward)
    for outcome in (-1.0, -0.5, 0.0, 0.5, 1.0):
        for plies in (0, 1, game.max_plies()):
            for player in (0, 1):
                _Checked(reward.with_memory(game)).shape(outcome, player, plies, game.max_plies())
    _check("reward", reward, Reward, game, simulations, seed)


def check_backup(backup: Any, game: Any, *, simulations: int = 100, seed: int = 0) -> None:
    """Check a backup, as `check_selection` does a rule: it changes values on the path alone."""
    _check("backup", backup, Backup, game, simulations, seed)


def _check(field: str, part: Any, protocol: type, game: Any, simulations: int, seed: int) -> None:
    kind = type(part).__name__
    _check_methods(part, protocol)
    if not is_compiled(part):
        raise AssertionError(f"expected a NamedTuple under @compiled, got {kind}")
    variant = Variant(UCB1(), Uniform(fast=False), WinLoss())._replace(**{field: part})
    for actions in ((), _some_actions(game, seed)):
        trees: list[Tree] = []
        for _ in range(2):
            fresh = with_memory(variant, game)
            used = fresh._replace(**{field: _Checked(getattr(fresh, field))})
            trees.append(_grow(fresh, used, game, simulations, seed, actions, True))
        _compare(trees[0], trees[1], f"{kind}, with the same seed once more")
        if uses_machine_code() and is_compiled(game):
            try:
                fast = grow_tree(variant, game, simulations=simulations, seed=seed, actions=actions)
            except COMPILE_ERRORS as error:
                why = [line for line in str(error).splitlines() if line.strip()]
                raise AssertionError(
                    f"expected what compiles, got {why[0] if why else error!r}, in {kind}"
                ) from error
            _compare(trees[0], fast, f"{kind} as machine code")


def _some_actions(game: Any, seed: int) -> tuple[int, ...]:
    """The first half of a random game."""
    rng, state, played = np.random.default_rng(seed), base.new_state(game), list[int]()
    while not game.is_terminal(state):
        legal = base.legal_actions(game, state)
        played.append(legal[int(rng.random() * len(legal))])
        game.step(state, played[-1])
    return tuple(played[: len(played) // 2])


def _compare(expected: Tree, got: Tree, where: str) -> None:
    """Two searches have grown the same tree."""
    count = int(min(expected.node_count[0], got.node_count[0]))
    for name in COMPARED:
        right, found = getattr(expected, name)[:count], getattr(got, name)[:count]
        if not np.array_equal(right, found):
            node = int(np.flatnonzero(right != found)[0])
            fail(f"{name} {right[node]} at node {node}", found[node], where)
    if expected.node_count[0] != got.node_count[0]:
        fail(f"{expected.node_count[0]} nodes", got.node_count[0], where)


def fail(expected: object, got: object, where: str) -> NoReturn:
    """A claim about a part does not hold."""
    raise AssertionError(f"expected {expected}, got {got}, in {where}")


# ---- the first use -------------------------------------------------------------------------------

FIRST_SIMULATIONS: Final = 30
FIRST_SECONDS: Final = 0.2
"""Of processor time, after which no further one is begun."""
_tried: Final[set[tuple[type[Any], ...]]] = set()


def try_parts(variant: Variant, game: Any, root: Any) -> None:
    """Look at parts that are not of these packages before they run as machine code the first time.

    A few simulations run interpreted, where an index out of range is an error.

    Args:
        variant: The composition.
        game: The game.
        root: The position to search; not changed.

    Raises:
        ValueError: At the first claim that does not hold, as in `check_selection`.
    """
    kinds = {kind for kind in classes_of([variant]) if not is_ours(kind)}
    key = (*sorted(kinds, key=repr), cast("type[Any]", type(game)))
    if not kinds or key in _tried:
        return
    fresh = with_memory(variant, game)
    own = {name: getattr(fresh, name) for name in PARTS_WITH_MEMORY}
    checked = {name: _Checked(part) for name, part in own.items() if type(part) in kinds}
    tree = _empty_tree(fresh, game, FIRST_SIMULATIONS)
    state, simulation = base.new_state(game), simulation_for(fresh, game)
    rng, until = np.random.default_rng(0), time.thread_time() + FIRST_SECONDS
    names = " and ".join(sorted(kind.__name__ for kind in kinds))
    try:
        for _ in range(FIRST_SIMULATIONS):
            search(game, root, state, tree, fresh._replace(**checked), simulation, 1, rng)
            if time.thread_time() > until:
                break
    except (AssertionError, IndexError) as error:
        expected = "parts of a search that keep their contract"
        advice = "hexenv.testing has a check of each kind of part"
        raise ValueError(f"expected {expected}, got {names}: {error} ({advice})") from error
    _tried.add(key)


# ---- the methods ---------------------------------------------------------------------------------


def _check_methods(part: Any, protocol: type) -> None:
    """A part has the methods of its protocol, with the same parameters."""
    for cls in protocol.__mro__:
        for name, method in vars(cls).items():
            if name.startswith("_") or not inspect.isfunction(method):
                continue
            own = getattr(cast("Any", type(part)), name, None)
            expected = f"{name}({', '.join(inspect.signature(method).parameters)})"
            if own is None and name == "choose":  # a policy may have a `simulate` of its own
                continue
            if not inspect.isfunction(own):
                fail(f"a method {expected}", "none", type(part).__name__)
            got = f"{name}({', '.join(inspect.signature(own).parameters)})"
            if got != expected:
                fail(expected, got, type(part).__name__)


class _Checked:
    """A part whose methods look at what they are given, do and return."""

    def __init__(self, part: Any) -> None:
        self._part: Any = part

    def __getattr__(self, name: str) -> Any:
        found = getattr(cast("Any", type(self._part)), name, None)
        if inspect.isfunction(found):
            return partial(self._call, name, found)
        return _guard(getattr(self._part, name), name)

    def _call(self, name: str, method: Callable[..., Any], *arguments: Any) -> Any:
        where = f"{type(self._part).__name__}.{name}"
        call = Call(self._part, name, where, arguments)
        before = call.look()
        try:
            result = method(self, *(_guard_for(name, argument) for argument in arguments))
        except IndexError as error:
            raise AssertionError(f"{error}, in {where}") from error
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(f"expected no error, got {error!r}, in {where}") from error
        call.check(result, before)
        return result


class Call(NamedTuple):
    """One call of a method of a part."""

    part: Any
    name: str
    where: str
    arguments: tuple[Any, ...]

    def look(self) -> Any:
        """What has to be the same after the call."""
        if self.name == "choose":
            _, state, _, actions, _, _ = self.arguments
            return np.array(state).tobytes(), actions.copy()
        if self.name == "score":
            stream = _stream_in(self.arguments[2])
            return stream and stream.bit_generator.state
        if self.name == "revise":
            return self.arguments[0].value.copy()
        return None

    def check(self, result: Any, before: Any) -> None:
        """The result, and what has changed."""
        check = getattr(self, f"_check_{self.name}", None)
        if check is not None:
            check(result, before)

    def _number(self, result: Any, low: float, high: float, what: str) -> None:
        if not isinstance(result, NUMBERS) or not low <= result <= high:  # NaN is not
            fail(what, repr(result), self.where)

    def _check_score(self, result: Any, before: Any) -> None:
        self._number(result, -np.inf, np.inf, "a number")
        stream = _stream_in(self.arguments[2])
        drawn = stream is not None and stream.bit_generator.state != before
        if drawn and self.part.tries_all_first():
            fail("tries_all_first False of a rule that draws", True, self.where)

    def _check_shape(self, result: Any, before: Any) -> None:
        self._number(result, 0, 1, f"a reward from 0 to 1 for {self.arguments}")

    def _check_simulate(self, result: Any, before: Any) -> None:
        self._number(result, -1, 1, "an outcome from -1 to 1")

    def _check_choose(self, result: Any, before: Any) -> None:
        _, state, _, actions, count, _ = self.arguments
        legal = before[1][:count].tolist()
        if not isinstance(result, WHOLE_NUMBERS) or result not in legal:
            fail("a legal action", f"{result!r} of {legal}", self.where)
        if np.array(state).tobytes() != before[0]:
            fail("the position as it was", "another one", self.where)
        if actions[:count].tolist() != legal:
            fail(f"the actions as they were, {legal}", actions[:count].tolist(), self.where)

    def _check_revise(self, result: Any, before: Any) -> None:
        tree, simulation = cast("tuple[Tree, Simulation]", self.arguments[:2])
        count, depth = int(tree.node_count[0]), int(simulation.depth[0])
        path = simulation.path[:depth]
        for node in path:
            if not 0 <= tree.value[node] <= 1:
                fail(f"a value from 0 to 1 at node {node}", tree.value[node], self.where)
        others = np.setdiff1d(np.arange(count), path)
        changed = others[tree.value[others] != before[others]]
        if len(changed):
            fail(f"changes on the path {path.tolist()} alone", f"one at {changed[0]}", self.where)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A tuple as it is, anything else in one."""
    return cast("tuple[Any, ...]", value if isinstance(value, tuple) else (value,))


def _stream_in(prepared: Any) -> Any:
    """The random stream in what `prepare` has returned, or None."""
    items = as_tuple(prepared)
    return next((item for item in items if isinstance(item, np.random.Generator)), None)


# ---- the arrays ----------------------------------------------------------------------------------


class Guarded(np.ndarray):
    """An array that knows no negative indexes, and of the nodes of a tree only those in use."""

    label: str = ""
    in_use: NDArray[np.int32] | None = None
    is_open: bool = True

    def __getitem__(self, key: Any) -> Any:
        self._look_at(key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._look_at(key)
        if not self.is_open:
            raise IndexError(f"expected {self.label} as it is, got a change of it")
        super().__setitem__(key, value)

    def _look_at(self, key: Any) -> None:
        keys = as_tuple(key)
        for axis, index in enumerate(keys[: self.ndim]):
            most = self.shape[axis]
            if axis == 0 and self.in_use is not None:
                most = int(self.in_use[0])
            last = most - 1
            asked: list[Any] = [index] if isinstance(index, WHOLE_NUMBERS) else []
            if isinstance(index, slice):
                ends = cast("Any", index)
                asked, last = [ends.start or 0, most if ends.stop is None else ends.stop], most
            for number in asked:
                if not 0 <= number <= last:
                    label = f" of {self.label}" if self.label else ""
                    raise IndexError(f"expected an index{label} from 0 to {last}, got {number}")


def _guard(value: Any, label: str, in_use: Any = None, is_open: bool = True) -> Any:
    """A value with its arrays guarded."""
    if type(value) in (np.ndarray, Guarded):
        guarded: Any = value.view(Guarded)
        guarded.label, guarded.in_use, guarded.is_open = label, in_use, is_open
        return guarded
    if hasattr(value, "_fields"):
        fields = cast("dict[str, Any]", value._asdict())
        of = {n: _guard(v, f"{label}.{n}", in_use, is_open) for n, v in fields.items()}
        return value._replace(**of)
    return value


def _guard_for(method: str, argument: Any) -> Any:
    """An argument of a method, guarded."""
    if isinstance(argument, Tree):
        allowed = MAY_CHANGE.get(method)
        arrays = {
            name: _guard(
                array, f"tree.{name}", argument.node_count, allowed is None or name in allowed
            )
            for name, array in argument._asdict().items()
            if isinstance(array, np.ndarray) and name != "node_count"
        }
        extras = _guard(argument.extras, "tree.extras", argument.node_count)
        backed_up = _guard(argument.backed_up, "tree.backed_up", argument.node_count)
        return argument._replace(**arrays, extras=extras, backed_up=backed_up)
    if isinstance(argument, (Simulation, np.ndarray)):
        label = "simulation" if isinstance(argument, Simulation) else "actions"
        return _guard(argument, label)
    return argument
