"""Tests that anyone can run on a game: the contract of `hexenv.games.base.Game`, and move counts.

`check_game(game)` plays random games and looks at every position on the way through every verb of
the contract, interpreted and, where the game is under `@compiled`, as machine code beside it. The
move counts of `perft` are the usual test of rules against published numbers or another program.

    from hexenv import testing
    from hexenv.games import hex

    testing.check_game(hex.new(5, swap=True))
    testing.perft(hex.new(3), 4)  # 9 * 8 * 7 * 6
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn, get_args

import numpy as np
from numpy.typing import NDArray

from hexenv.compiled import CompiledFunction, is_compiled
from hexenv.games import base, notation
from hexenv.games.base import DRAW, EMPTY, IN_PLAY, NO_ACTION, STATE_FIELDS, Game, State, Style

__all__ = ["GameLog", "check_game", "perft", "perft_by_move", "record_game"]

UNTOUCHED: Final = -9
"""What the arrays hold that a game is asked to write into."""
FEW: Final = 3
"""Up to so many legal actions the end of the game is searched for all its possible results."""


# ---- what a game says at every ply ---------------------------------------------------------------


class GameLog(NamedTuple):
    """What the verbs of a game say at every position of one game; the first axis is the ply."""

    states: Any
    """The positions: ``(plies + 1,)`` records."""
    legal: NDArray[np.int32]
    """``(plies + 1, num_actions())``: the legal actions, then `UNTOUCHED`."""
    counts: NDArray[np.int64]
    """How many actions are legal."""
    masks: NDArray[np.int8]
    """``(plies + 1, num_actions())``: the legal mask."""
    players: NDArray[np.int64]
    """The player to move."""
    ended: NDArray[np.bool_]
    """Whether the game is over."""
    outcomes: NDArray[np.int64]
    """``(plies + 1, 2)``: the outcome for either player."""
    hashes: NDArray[np.int64]
    """The position's hash."""
    owners: NDArray[np.int8]
    """``(plies + 1, rows * columns)``: whose stone is on a cell."""
    single_owners: NDArray[np.int64]
    """``(plies + 1, rows * columns)``: the same, asked cell by cell."""
    completing: NDArray[np.bool_]
    """``(plies + 1, rows * columns)``: whether the stone on a cell is part of what wins."""
    planes: NDArray[np.int8]
    """``(plies + 1, 2, cells, n)``: the views of 0 and 1; the last plane is not theirs."""
    last_cells: NDArray[np.int64]
    """The cell of the stone placed last."""


def record_game(game: Game, actions: Sequence[int], *, interpreted: bool = False) -> GameLog:
    """Play a game and note what its verbs say at every position on the way.

    Args:
        game: The game.
        actions: The actions from the start. They are not checked.
        interpreted: Whether to run the game as plain Python, and not as machine code where it
            compiles.
    """
    log = _empty_log(game, len(actions) + 1)
    run = _compiled_replay if is_compiled(game) and not interpreted else replay
    run(game, _used_state(game), np.array(actions, np.int32), tuple(log))
    return log


def replay(game: Any, state: Any, actions: Any, log: Any) -> None:
    """Kernel: play `actions` and fill a `GameLog`, given as a plain tuple."""
    states, legal, counts, masks, players, ended, outcomes, hashes = log[:8]
    owners, single_owners, completing, planes, last_cells = log[8:]
    game.initial(state)
    for ply in range(len(actions) + 1):
        if ply > 0:
            game.step(state, int(actions[ply - 1]))
        game.copy(state, states[ply])
        counts[ply] = game.legal_actions(state, legal[ply])
        game.owners(state, owners[ply])
        game.legal_mask(state, owners[ply], masks[ply])
        players[ply] = game.to_play(state)
        ended[ply] = game.is_terminal(state)
        hashes[ply] = game.position_hash(state)
        last_cells[ply] = game.last_cell(state)
        for player in range(2):
            outcomes[ply, player] = game.outcome(state, player)
            game.observe(state, player, owners[ply], planes[ply, player])
        for cell in range(game.rows * game.columns):
            single_owners[ply, cell] = game.owner(state, cell)
            if single_owners[ply, cell] != EMPTY:
                completing[ply, cell] = game.completes(state, cell)


def _empty_log(game: Game, positions: int) -> GameLog:
    actions, cells, planes = game.num_actions(), game.rows * game.columns, len(game.planes()) + 1
    return GameLog(
        states=np.zeros(positions, game.state_dtype).view(np.recarray),
        legal=np.full((positions, actions), UNTOUCHED, np.int32),
        counts=np.zeros(positions, np.int64),
        masks=np.full((positions, actions), UNTOUCHED, np.int8),
        players=np.zeros(positions, np.int64),
        ended=np.zeros(positions, np.bool_),
        outcomes=np.zeros((positions, 2), np.int64),
        hashes=np.zeros(positions, np.int64),
        owners=np.full((positions, cells), UNTOUCHED, np.int8),
        single_owners=np.zeros((positions, cells), np.int64),
        completing=np.zeros((positions, cells), np.bool_),
        planes=np.full((positions, 2, cells, planes), UNTOUCHED, np.int8),
        last_cells=np.zeros(positions, np.int64),
    )


def _used_state(game: Game) -> State:
    """A state that was in use before: whatever `Game.initial` forgets to write is not zero."""
    ones = np.ones(game.state_dtype.itemsize, np.uint8)
    return ones.view(game.state_dtype).view(np.recarray)[0]


def random_playouts(
    game: Any, states: Any, scratch: Any, rng: Any, buffer: Any, winners: Any
) -> None:
    """Kernel: one random playout from each of the states."""
    for number in range(len(states)):
        game.copy(states[number], scratch)
        game.random_playout(scratch, rng, buffer)
        winners[number] = scratch.winner


def _winners_of_playouts(game: Game, states: Any, seed: int, run: Any) -> NDArray[np.int64]:
    winners = np.full(len(states), UNTOUCHED, np.int64)
    buffer = np.empty(game.num_actions(), np.int32)
    run(game, states, _used_state(game), np.random.default_rng(seed), buffer, winners)
    return winners


_compiled_replay = CompiledFunction(replay)
_compiled_playouts = CompiledFunction(random_playouts)


# ---- move counts ---------------------------------------------------------------------------------


def perft(game: Game, depth: int) -> int:
    """How many sequences of exactly `depth` legal actions lead from the start.

    Games that are over before do not count. (The name is the one chess programs give it.)

    Args:
        game: The game.
        depth: Plies, 0 or more.

    Raises:
        ValueError: If `depth` is negative.
    """
    if depth < 0:
        raise ValueError(f"expected a depth of 0 or more, got {depth}")
    return _count_paths(game, base.new_state(game), depth)


def perft_by_move(game: Game, depth: int) -> dict[str, int]:
    """The count of `perft` split by the first move: where two programs differ, go down there.

    Args:
        game: The game.
        depth: Plies, 1 or more.

    Raises:
        ValueError: If `depth` is less than 1.
    """
    if depth < 1:
        raise ValueError(f"expected a depth of 1 or more, got {depth}")
    found: dict[str, int] = {}
    for action in base.legal_actions(game, base.new_state(game)):
        state = base.new_state(game)
        game.step(state, action)
        found[game.action_text(action)] = _count_paths(game, state, depth - 1)
    return found


def _count_paths(game: Game, state: State, depth: int) -> int:
    if depth == 0:
        return 1
    states = base.new_states(game, depth)
    game.copy(state, states[0])
    legal = np.empty((depth, game.num_actions()), np.int32)
    waiting = np.empty(depth, np.int64)
    run = _compiled_count if is_compiled(game) else count_paths
    return int(run(game, states, legal, waiting))


def count_paths(game: Any, states: Any, legal: Any, waiting: Any) -> int:
    """Kernel: the paths of as many plies as there are states, from the first of these on.

    The recursion over positions is a stack of states, for compiled code.

    Args:
        game: The game.
        states: One position a level, the root at 0.
        legal: The legal actions of these.
        waiting: How many of the legal actions are still to be tried; they are tried backwards.
    """
    deepest = len(states) - 1
    paths = 0
    level = 0
    waiting[0] = game.legal_actions(states[0], legal[0])
    while level >= 0:
        if level == deepest:
            paths += waiting[level]  # every legal action ends a path
            level -= 1
        elif waiting[level] == 0:
            level -= 1
        else:
            waiting[level] -= 1
            action = int(legal[level, waiting[level]])
            game.copy(states[level], states[level + 1])
            level += 1
            game.step(states[level], action)
            waiting[level] = game.legal_actions(states[level], legal[level])
    return paths


_compiled_count = CompiledFunction(count_paths)


# ---- the contract --------------------------------------------------------------------------------


def check_game(game: Game, *, games: int = 20, seed: int = 0) -> None:
    """Check on random games that a game fulfils its contract, `hexenv.games.base.Game`.

    Args:
        game: The game. If it is under `@compiled` (and numba is on) its machine code is compared
            with its Python, value by value.
        games: How many random games to play.
        seed: Of the random games.

    Raises:
        AssertionError: At the first claim that does not hold, with the moves that lead there.
    """
    _check_names(game)
    _check_symmetry_group(game)
    rng = np.random.default_rng(seed)
    seen = _SeenPositions(game)
    for number in range(games):
        actions = _play_random_game(game, rng, crowded=number % 2 == 1)
        try:
            log = _check_played_game(game, actions, seed + number)
        except AssertionError:
            raise
        except Exception as error:
            moves = notation.moves_text(game, actions)
            claim = f"{game}: expected no error, got {error!r}; in the game {moves} ({actions})"
            raise AssertionError(claim) from error
        seen.add(actions, log)


def _check_played_game(game: Game, actions: list[int], seed: int) -> GameLog:
    log = record_game(game, actions, interpreted=True)
    _expect_same_position(game, [], "initial, against a new state", log, base.new_state(game))
    _check_actions(game, actions, log)
    _check_ends(game, actions, log)
    _check_stones(game, actions, log)
    _check_copies(game, actions, log)
    _check_moves(game, actions, log)
    _check_rebuilt(game, actions, log)
    _check_texts(game, actions, log)
    _check_illegal_actions(game, actions, log)
    _check_playouts(game, actions, log, seed)
    _check_images(game, actions, log)
    _check_machine_code(game, actions, log, seed)
    return log


def _fail(game: Game, claim: str, expected: object, got: object) -> NoReturn:
    raise AssertionError(f"{game}: {claim}: expected {expected}, got {got}")


def _fail_after(
    game: Game, actions: Sequence[int], claim: str, expected: object, got: object
) -> NoReturn:
    moves = notation.moves_text(game, list(actions)) or "no moves"
    raise AssertionError(
        f"{game}: {claim}: expected {expected}, got {got}; after {len(actions)} plies: {moves} "
        f"(actions {list(actions)})"
    )


def _expect_everywhere(
    game: Game, actions: Sequence[int], claim: str, expected: Any, got: Any
) -> None:
    """Compare two arrays whose first axis is the ply."""
    for ply in range(len(actions) + 1):
        if not np.array_equal(expected[ply], got[ply]):
            _fail_after(game, actions[:ply], claim, expected[ply], got[ply])


# ---- what does not need a game -------------------------------------------------------------------


def _check_names(game: Game) -> None:
    """The class's attributes, the margins, and that moves can be written and read."""
    if game.name != game.name.lower() or not game.name.isidentifier():
        _fail(game, "name", "an identifier in lower case", repr(game.name))
    if game.style not in get_args(Style):
        _fail(game, "style", f"one of {', '.join(get_args(Style))}", repr(game.style))
    fields = dict(game.state_dtype.fields or {})
    for field, kind in STATE_FIELDS:
        if field not in fields or fields[field][0] != kind:
            _fail(game, "state_dtype", f"a field {field!r} of {kind.__name__}", game.state_dtype)
    for margin, labels, size in zip(
        ("columns", "rows"), game.labels(), (game.columns, game.rows), strict=True
    ):
        if len(labels) not in (0, size) or len(set(labels)) != len(labels):
            _fail(game, f"labels of the {margin}", f"{size} different ones or none", labels)
    planes = game.planes()
    if len(planes) < 2 or len(set(planes)) != len(planes):
        _fail(game, "planes", "own, opponent and others by different names", planes)
    _check_action_texts(game)


def _check_action_texts(game: Game) -> None:
    actions_of: dict[str, int] = {}
    for action in range(game.num_actions()):
        text = game.action_text(action)
        if text != text.lower() or not text or set(text) & set(" ,\t\n"):
            _fail(game, f"action_text({action})", "lower case without blanks", repr(text))
        if text in actions_of:
            _fail(game, f"action_text({action})", f"not that of {actions_of[text]}", repr(text))
        actions_of[text] = action
        read = _action_read(game, text)
        if read != action:
            _fail(game, f"parse_action({text!r})", action, read)
    for text in ("", "?", "no move", "a-1", "zz99"):
        read = _action_read(game, text)
        if not isinstance(read, ValueError):
            _fail(game, f"parse_action({text!r})", "a ValueError", read)


def _action_read(game: Game, text: str) -> int | ValueError:
    try:
        return game.parse_action(text)
    except ValueError as error:
        return error


def _check_symmetry_group(game: Game) -> None:
    """Permutations of the actions, the identity first, with all that follows from them."""
    images = game.symmetries()
    actions = np.arange(game.num_actions())
    if images.ndim != 2 or images.shape[1] != len(actions) or images.dtype != np.int32:
        expected = f"(any, {len(actions)}) of int32"
        _fail(game, "symmetries", expected, f"{images.shape} of {images.dtype}")
    for image in images:
        if not np.array_equal(np.sort(image), actions):
            _fail(game, "symmetries", "permutations of the actions", image)
    if not np.array_equal(images[0], actions):
        _fail(game, "symmetries", "the identity first", images[0])
    group = {image.tobytes() for image in images}
    if len(group) != len(images):
        _fail(game, "symmetries", f"{len(images)} different ones", len(group))
    for first in images:
        for then in images:
            if then[first].tobytes() not in group:
                _fail(game, "symmetries", f"{first} and then {then} among them", images)


# ---- one game ------------------------------------------------------------------------------------


def _play_random_game(game: Game, rng: np.random.Generator, crowded: bool) -> list[int]:
    """The actions of a random game, of which only its end is certain so far.

    Args:
        game: The game.
        rng: The stream.
        crowded: Whether to prefer the last of the legal actions, where what is special often is,
            and where stones come to lie together.
    """
    state = base.new_state(game)
    actions: list[int] = []
    if game.is_terminal(state):
        _fail(game, "is_terminal", "a game that goes on at the start", "one that is over")
    while not game.is_terminal(state):
        legal = base.legal_actions(game, state)
        if not legal:
            _fail_after(game, actions, "legal_actions", "one at least before the end", "none")
        if len(actions) == game.max_plies():
            _fail_after(game, actions, "max_plies", "the end by then", "a game that goes on")
        to_the_end = crowded and rng.random() < 0.5
        actions.append(legal[-1 if to_the_end else int(rng.random() * len(legal))])
        if not 0 <= actions[-1] < game.num_actions():
            expected = f"0 to {game.num_actions() - 1}"
            _fail_after(game, actions[:-1], "legal_actions", expected, actions[-1])
        game.step(state, actions[-1])
    return actions


def _check_actions(game: Game, actions: list[int], log: GameLog) -> None:
    """Legal actions ascend and equal the mask; the state counts plies and knows the last action."""
    for ply, (legal, count, mask) in enumerate(zip(log.legal, log.counts, log.masks, strict=True)):
        before = actions[:ply]
        if (count == 0) != log.ended[ply]:
            _fail_after(game, before, "legal_actions", "some before the end, none there", count)
        if (np.diff(legal[:count]) <= 0).any():
            _fail_after(game, before, "legal_actions", "ascending ones", legal[:count])
        if (legal[count:] != UNTOUCHED).any():
            _fail_after(game, before, "legal_actions", f"{count} written", legal)
        expected = np.isin(np.arange(game.num_actions()), legal[:count])
        if not np.array_equal(mask, expected):
            _fail_after(game, before, "legal_mask", expected.astype(np.int8), mask)
    _expect_everywhere(game, actions, "ply", np.arange(len(actions) + 1), log.states.ply)
    _expect_everywhere(game, actions, "last_action", [NO_ACTION, *actions], log.states.last_action)
    _expect_everywhere(game, actions, "to_play", log.players == 1, log.players)


def _check_ends(game: Game, actions: list[int], log: GameLog) -> None:
    """The game ends once, with a winner or a draw; what one player wins the other loses."""
    plies = len(actions)
    _expect_everywhere(game, actions, "is_terminal", [False] * plies + [True], log.ended)
    winner = int(log.states.winner[-1])
    if winner not in (0, 1, DRAW):
        _fail_after(game, actions, "winner at the end", f"0, 1 or {DRAW} for a draw", winner)
    expected = [IN_PLAY] * plies + [winner]
    _expect_everywhere(game, actions, "winner", expected, log.states.winner)
    outcomes = [(0, 0)] * plies + [{0: (1, -1), 1: (-1, 1), DRAW: (0, 0)}[winner]]
    _expect_everywhere(game, actions, "outcome", outcomes, log.outcomes)


def _check_stones(game: Game, actions: list[int], log: GameLog) -> None:
    """All that tells of stones tells of the same ones."""
    if not np.isin(log.single_owners, (EMPTY, 0, 1)).all():
        found = np.unique(log.single_owners)
        _fail_after(game, actions, "owner", f"0, 1 or {EMPTY} at every ply", found)
    _expect_everywhere(game, actions, "owners", log.single_owners, log.owners)
    for player in (0, 1):
        planes = log.planes[:, player]
        for plane, owner in ((0, player), (1, 1 - player), (-1, UNTOUCHED)):
            stones = log.owners == owner
            claim = f"plane {plane} of observe for {player}"
            _expect_everywhere(game, actions, claim, stones.astype(np.int8), planes[..., plane])
    _expect_everywhere(game, actions[:0], "last_cell", [NO_ACTION], log.last_cells)
    for ply, state in enumerate(log.states):
        owners = log.owners[ply]
        cell = log.last_cells[ply]
        is_told = not notation.details_of(game, state)
        if ply > 0 and is_told and owners[cell] != log.players[ply - 1]:
            claim = f"owner of last_cell {cell}"
            _fail_after(game, actions[:ply], claim, log.players[ply - 1], owners[cell])
        _check_winning_cells(game, actions[:ply], state, owners, log.completing[ply])


def _check_winning_cells(
    game: Game, actions: list[int], state: State, owners: Any, completing: Any
) -> None:
    cells = game.winning_cells(state)
    won = state.winner in (0, 1) and not _is_lost_by_itself(game, state)
    if bool(cells) != won or len(set(cells)) != len(cells):
        expected = "different cells" if won else "none before a win"
        _fail_after(game, actions, "winning_cells", expected, cells)
    if not won and completing.any():
        _fail_after(game, actions, "completes", "no stone before a win", np.flatnonzero(completing))
    if won:
        if {int(owners[cell]) for cell in cells} != {int(state.winner)}:
            _fail_after(game, actions, "winning_cells", f"stones of {state.winner}", owners[cells])
        for cell in (*cells, game.last_cell(state)):
            if not completing[cell]:
                _fail_after(game, actions, f"completes for cell {cell}", True, False)
        if (owners[completing] != state.winner).any():
            _fail_after(game, actions, "completes", "stones of the winner only", owners[completing])


def _is_told_by_stones(game: Game, state: State) -> bool:
    """Whether the stones and the player to move tell the position."""
    return not notation.details_of(game, state) and not _is_lost_by_itself(game, state)


def _is_lost_by_itself(game: Game, state: State) -> bool:
    """Whether the last action has lost the game for who played it."""
    return game.is_terminal(state) and notation.is_lost_by(game, state)


def _check_copies(game: Game, actions: list[int], log: GameLog) -> None:
    """A copy is equal, and goes its own way."""
    for ply, state in enumerate(log.states):
        untouched = state.copy()
        into = _used_state(game)
        game.copy(state, into)
        for copied in (into, base.clone(game, state)):
            if not _same_record(copied, state):
                _fail_after(game, actions[:ply], "copy", state, copied)
        if ply < len(actions):
            game.step(into, actions[ply])
            if not _same_record(state, untouched):
                _fail_after(game, actions[:ply], "state after a step of its copy", untouched, state)
            if int(into.ply) != ply + 1:
                _fail_after(game, actions[:ply], "ply of a copy after a step", ply + 1, into.ply)


def _same_record(first: State, second: State) -> bool:
    return all(np.array_equal(first[name], second[name]) for name in first.dtype.names or ())


def _check_texts(game: Game, actions: list[int], log: GameLog) -> None:
    """Move lists, boards and bytes lead back to where they come from."""
    text = notation.moves_text(game, actions)
    if notation.parse_moves(game, text) != actions:
        _fail_after(game, actions, "parse_moves", actions, notation.parse_moves(game, text))
    for ply in _spread_plies(actions, 8):  # a few are enough, as `_check_rebuilt` sees many
        state = log.states[ply]
        if _is_told_by_stones(game, state):
            board = notation.board_text(game, state)
            read = notation.parse_board(game, board, int(log.players[ply]))
            _expect_same_position(game, actions[:ply], "parse_board", log, read)
        saved = notation.from_bytes(game, notation.to_bytes(game, state))
        _expect_same_position(game, actions[:ply], "from_bytes", log, saved)
        if saved.last_action != state.last_action:
            claim = "last_action of from_bytes"
            _fail_after(game, actions[:ply], claim, state.last_action, saved.last_action)


def _check_rebuilt(game: Game, actions: list[int], log: GameLog) -> None:
    """The stones put down one by one, by `place`, are the position that `step` led to."""
    for ply in _spread_plies(actions, 64):
        if not _is_told_by_stones(game, log.states[ply]):
            continue
        board = log.owners[ply].reshape(game.rows, game.columns)
        state = notation.from_cells(game, board, int(log.players[ply]))
        _expect_same_position(game, actions[:ply], "from_cells", log, state)


def _spread_plies(actions: list[int], most: int) -> list[int]:
    """All plies of a short game; at most so many, from the first to the last, of a long one."""
    plies = len(actions)
    return sorted({plies * number // most for number in range(most + 1)})


def _expect_same_position(
    game: Game, actions: list[int], claim: str, log: GameLog, state: State
) -> None:
    """Compare a state with the one of the log after these actions."""
    ply = len(actions)
    legal = base.legal_actions(game, state)
    expected = log.states[ply]
    for what, right, got in (
        ("ply", expected.ply, state.ply),
        ("winner", expected.winner, state.winner),
        ("player to move", log.players[ply], game.to_play(state)),
        ("hash", log.hashes[ply], game.position_hash(state)),
        ("legal actions", log.legal[ply, : log.counts[ply]].tolist(), legal),
        ("owners", log.owners[ply].tolist(), base.cell_owners(game, state).ravel().tolist()),
    ):
        if right != got:
            _fail_after(game, actions, f"{what} of {claim}", right, got)


def _check_illegal_actions(game: Game, actions: list[int], log: GameLog) -> None:
    """An illegal action is refused with a reason, and nothing happens."""
    for ply in _spread_plies(actions, 64):
        state = log.states[ply]
        illegal = np.flatnonzero(log.masks[ply] == 0)
        untouched = state.copy()
        for action in (-1, game.num_actions(), *illegal[:1].tolist(), *illegal[-1:].tolist()):
            try:
                notation.check_action(game, state, action)
            except notation.IllegalActionError:
                continue
            _fail_after(game, actions[:ply], f"action {action}", "illegal", "legal")
        if ply < len(actions) and len(illegal) and not game.why_illegal(state, int(illegal[0])):
            _fail_after(game, actions[:ply], "why_illegal", "a reason", "none")
        if not _same_record(state, untouched):
            _fail_after(game, actions[:ply], "state after illegal actions", untouched, state)


def _check_playouts(game: Game, actions: list[int], log: GameLog, seed: int) -> None:
    """Playouts from everywhere end, with a result that the position allows."""
    seeds = range(seed, seed + 3)
    winners = [_winners_of_playouts(game, log.states, one, random_playouts) for one in seeds]
    for ply, found in enumerate(np.transpose(winners).tolist()):
        possible = {IN_PLAY}
        if log.counts[ply] <= FEW:
            possible = _possible_winners(game, log.states[ply], FEW)
        if IN_PLAY in possible:
            possible = {0, 1, DRAW}
        for winner in set(found) - possible:
            claim = "winner after random_playout"
            _fail_after(game, actions[:ply], claim, f"one of {possible}", winner)


def _possible_winners(game: Game, state: State, plies: int) -> set[int]:
    """The results within so many plies; `IN_PLAY` among them where the game can go on."""
    if plies == 0 or game.is_terminal(state):
        return {int(state.winner)}
    found: set[int] = set()
    for action in base.legal_actions(game, state):
        after = base.clone(game, state)
        game.step(after, action)
        found |= _possible_winners(game, after, plies - 1)
    return found


def _check_images(game: Game, actions: list[int], log: GameLog) -> None:
    """The game under every symmetry: the same legality and the same outcome at every ply."""
    for number, image in enumerate(game.symmetries()):
        played = image[actions].tolist()
        other = record_game(game, played)
        masks = np.empty_like(log.masks)
        masks[:, image] = log.masks
        claim = f"under symmetry {number}"
        _expect_everywhere(game, played, f"legal_mask {claim}", masks, other.masks)
        _expect_everywhere(game, played, f"outcome {claim}", log.outcomes, other.outcomes)
        _expect_everywhere(game, played, f"is_terminal {claim}", log.ended, other.ended)


def _check_machine_code(game: Game, actions: list[int], log: GameLog, seed: int) -> None:
    """Compiled, the game says what it says interpreted, at every ply and bit for bit."""
    if not is_compiled(game):
        return
    fast = record_game(game, actions)
    for name in GameLog._fields[1:]:
        claim = f"{name} of machine code against Python"
        _expect_everywhere(game, actions, claim, getattr(log, name), getattr(fast, name))
    for ply, (slow_state, fast_state) in enumerate(zip(log.states, fast.states, strict=True)):
        if not _same_record(slow_state, fast_state):
            claim = "state of machine code against Python"
            _fail_after(game, actions[:ply], claim, slow_state, fast_state)
    _expect_everywhere(
        game,
        actions,
        "winner after random_playout of machine code against Python",
        _winners_of_playouts(game, log.states, seed, random_playouts),
        _winners_of_playouts(game, log.states, seed, _compiled_playouts),
    )


# ---- what playouts and searches ask besides ------------------------------------------------------


def follow_moves(
    game: Any, states: Any, actions: Any, legal: Any, cells: Any, scratch: Any
) -> None:
    """Kernel: at every ply of a game, what `next_actions` and `cell_of` say.

    Args:
        game: The game.
        states: The positions, from the start.
        actions: What was played.
        legal: ``(plies + 1, num_actions())``: receives the actions that `next_actions` keeps.
        cells: The same shape: receives the cells of these.
        scratch: ``(num_actions(),)``.
    """
    count = game.legal_actions(states[0], scratch)
    for ply in range(len(actions) + 1):
        if ply > 0:
            played = 0
            while scratch[played] != actions[ply - 1]:
                played += 1
            count = game.next_actions(states[ply], scratch, count, played)
        if not game.is_terminal(states[ply]):
            for pick in range(count):
                legal[ply, pick] = scratch[pick]
                cells[ply, pick] = game.cell_of(states[ply], int(scratch[pick]))


def find_wins(game: Any, states: Any, legal: Any, counts: Any, wins: Any) -> None:
    """Kernel: what `winning_action` says at every ply; ``(plies + 1, 2)``, by player."""
    for ply in range(len(states)):
        if not game.is_terminal(states[ply]):
            for player in range(2):
                count = int(counts[ply])
                wins[ply, player] = game.winning_action(states[ply], player, -1, legal[ply], count)


_compiled_follow_moves = CompiledFunction(follow_moves)
_compiled_find_wins = CompiledFunction(find_wins)


def _followed(
    game: Game, actions: list[int], log: GameLog, follow: Any, find: Any
) -> tuple[Any, Any, Any]:
    shape = (len(actions) + 1, game.num_actions())
    legal, cells = np.full((2, *shape), UNTOUCHED, np.int32)
    scratch = np.empty(game.num_actions(), np.int32)
    follow(game, log.states, np.array(actions, np.int32), legal, cells, scratch)
    players = 2 if hasattr(game, "winning_action") else 0
    wins = np.full((len(actions) + 1, players), UNTOUCHED, np.int64)
    if players:
        find(game, log.states, log.legal, log.counts, wins)
    return legal, cells, wins


def _check_moves(game: Game, actions: list[int], log: GameLog) -> None:
    """`next_actions`, `cell_of` and the winning actions agree with what steps show."""
    legal, cells, wins = _followed(game, actions, log, follow_moves, find_wins)
    for ply in range(len(actions) if log.ended[-1] else len(actions) + 1):
        found = [int(action) for action in legal[ply] if action != UNTOUCHED]
        expected = log.legal[ply, : log.counts[ply]].tolist()
        if sorted(found) != expected:
            _fail_after(game, actions[:ply], "next_actions", expected, found)
        own = cells[ply, : len(found)]
        if len(set(own.tolist())) != len(own) or not ((own >= 0) & (own < game.num_cells())).all():
            claim = f"different ones from 0 to {game.num_cells() - 1}"
            _fail_after(game, actions[:ply], "cell_of", claim, own.tolist())
        if ply < len(actions):
            _check_filled_cell(game, actions[: ply + 1], log, int(own[found.index(actions[ply])]))
        for player in range(wins.shape[1]):
            _check_winning_action(game, actions[:ply], log, player, int(wins[ply, player]))
    if is_compiled(game):
        fast = _followed(game, actions, log, _compiled_follow_moves, _compiled_find_wins)
        for name, one, other in zip(
            ("next_actions", "cell_of", "winning_action"), (legal, cells, wins), fast, strict=True
        ):
            claim = f"{name} of machine code against Python"
            _expect_everywhere(game, actions, claim, one, other)


def _check_filled_cell(game: Game, actions: list[int], log: GameLog, cell: int) -> None:
    """The last action filled the cell that `cell_of` said, unless that is beyond the board."""
    if cell < game.rows * game.columns and cell != log.last_cells[len(actions)]:
        _fail_after(game, actions, "cell_of", log.last_cells[len(actions)], cell)


def _check_winning_action(
    game: Any, actions: list[int], log: GameLog, player: int, found: int
) -> None:
    """What `winning_action` found wins, and where it found nothing, nothing does."""
    state = log.states[len(actions)]
    legal = log.legal[len(actions), : log.counts[len(actions)]].tolist()
    winning = [action for action in legal if game.wins_at(state, player, action)]
    if found not in (winning or [NO_ACTION]):
        _fail_after(game, actions, "winning_action", winning or [NO_ACTION], found)
    if player == game.to_play(state):
        for action in legal:
            reached = base.clone(game, state)
            game.step(reached, action)
            if (game.outcome(reached, player) > 0) != (action in winning):
                _fail_after(game, actions, f"wins_at of {action}", action not in winning, None)


class _SeenPositions:
    """All positions of all games by their hashes: equal positions, and only they, share one."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.position_of: dict[int, bytes] = {}
        self.hash_of: dict[bytes, int] = {}

    def add(self, actions: list[int], log: GameLog) -> None:
        for ply, value in enumerate(log.hashes.tolist()):
            # What tells positions apart: `from_cells` mostly needs no more than stones and player.
            position = log.owners[ply].tobytes() + log.players[ply].tobytes()
            position += log.masks[ply].tobytes()
            expected = self.hash_of.setdefault(position, value)
            if value != expected:
                claim = "position_hash, seen before by another way"
                _fail_after(self.game, actions[:ply], claim, expected, value)
            if self.position_of.setdefault(value, position) != position:
                claim = "position_hash"
                _fail_after(self.game, actions[:ply], claim, "one not seen at another", value)
