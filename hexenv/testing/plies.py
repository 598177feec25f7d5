"""Claims about one game that was played, at every ply of it."""

from typing import Any

import numpy as np

from hexenv.games import base, notation
from hexenv.games.base import DRAW, EMPTY, IN_PLAY, NO_ACTION, Game, State
from hexenv.testing.log import UNTOUCHED, Played, record_game, same_record, used_state


def check_actions(played: Played) -> None:
    """Legal actions ascend and equal the mask; the state counts plies and knows the last action."""
    game, actions, log = played
    for ply, (legal, count, mask) in enumerate(zip(log.legal, log.counts, log.masks, strict=True)):
        if (count == 0) != log.ended[ply]:
            played.fail(ply, "legal_actions", "some before the end, none there", count)
        if (np.diff(legal[:count]) <= 0).any():
            played.fail(ply, "legal_actions", "ascending ones", legal[:count])
        if (legal[count:] != UNTOUCHED).any():
            played.fail(ply, "legal_actions", f"{count} written", legal)
        expected = np.isin(np.arange(game.num_actions()), legal[:count])
        if not np.array_equal(mask, expected):
            played.fail(ply, "legal_mask", expected.astype(np.int8), mask)
    played.expect("ply", np.arange(len(actions) + 1), log.states.ply)
    played.expect("last_action", [NO_ACTION, *actions], log.states.last_action)
    played.expect("to_play", log.players == 1, log.players)


def check_changes(played: Played) -> None:
    """Where two plies are said to have added stones, planes and masks have changed like that."""
    game, actions, log = played
    claims: Any = getattr(game, "adds_stones", None)
    for ply in range(2, len(actions) if claims else 0):
        if not claims(log.states[ply]):
            continue
        player = log.players[ply]
        planes, mask = log.planes[ply - 2, player].copy(), log.masks[ply - 2].copy()
        changed = actions[ply - 2 : ply]
        if max(changed) < len(planes):
            planes[changed, [0, 1]], mask[changed] = 1, 0
        same = np.array_equal(planes, log.planes[ply, player])
        if not same or not np.array_equal(mask, log.masks[ply]):
            played.fail(ply, "adds_stones", False, True)


def check_ends(played: Played) -> None:
    """The game ends once, with a winner or a draw; what one player wins the other loses."""
    actions, log = played.actions, played.log
    plies = len(actions)
    played.expect("is_terminal", [False] * plies + [True], log.ended)
    winner = int(log.states.winner[-1])
    if winner not in (0, 1, DRAW):
        played.fail(plies, "winner at the end", f"0, 1 or {DRAW} for a draw", winner)
    expected = [IN_PLAY] * plies + [winner]
    played.expect("winner", expected, log.states.winner)
    outcomes = [(0, 0)] * plies + [{0: (1, -1), 1: (-1, 1), DRAW: (0, 0)}[winner]]
    played.expect("outcome", outcomes, log.outcomes)
    first, second = log.scores[-1].tolist()
    if not -1 <= first <= 1 or first != -second:
        played.fail(plies, "final_score", "two opposite ones from -1 to 1", (first, second))
    if winner != DRAW and (first, second)[winner] < 0:
        played.fail(plies, "final_score", f"one of {winner}, who won, above 0", (first, second))


def check_stones(played: Played) -> None:
    """All that tells of stones tells of the same ones."""
    game, log = played.game, played.log
    if not np.isin(log.single_owners, (EMPTY, 0, 1)).all():
        found = np.unique(log.single_owners)
        played.fail(len(played.actions), "owner", f"0, 1 or {EMPTY} at every ply", found)
    played.expect("owners", log.single_owners, log.owners)
    for player in (0, 1):
        planes = log.planes[:, player]
        for plane, owner in ((0, player), (1, 1 - player), (-1, UNTOUCHED)):
            stones = log.owners == owner
            claim = f"plane {plane} of observe for {player}"
            played.expect(claim, stones.astype(np.int8), planes[..., plane])
    if log.last_cells[0] != NO_ACTION:
        played.fail(0, "last_cell", NO_ACTION, log.last_cells[0])
    for ply, state in enumerate(log.states):
        owners = log.owners[ply]
        cell = log.last_cells[ply]
        is_told = cell != NO_ACTION and not notation.details_of(game, state)
        if ply > 0 and is_told and owners[cell] != log.players[ply - 1]:
            claim = f"owner of last_cell {cell}"
            played.fail(ply, claim, log.players[ply - 1], owners[cell])
        _check_winning_cells(played, ply)


def _check_winning_cells(played: Played, ply: int) -> None:
    game, log = played.game, played.log
    state, owners, completing = log.states[ply], log.owners[ply], log.completing[ply]
    cells = game.winning_cells(state)
    won = state.winner in (0, 1) and not _is_lost_by_itself(game, state)
    has_stones = notation.has_stones(game)
    is_right = bool(cells) == won if has_stones else won or not cells
    if not is_right or len(set(cells)) != len(cells):
        expected = "different cells" if won else "none before a win"
        played.fail(ply, "winning_cells", expected, cells)
    if cells and {int(owners[cell]) for cell in cells} != {int(state.winner)}:
        played.fail(ply, "winning_cells", f"stones of {state.winner}", owners[cells])
    if not has_stones:
        return
    if not won and completing.any():
        played.fail(ply, "completes", "no stone before a win", np.flatnonzero(completing))
    if won:
        for cell in (*cells, game.last_cell(state)):
            if not completing[cell]:
                played.fail(ply, f"completes for cell {cell}", True, False)
        if (owners[completing] != state.winner).any():
            played.fail(ply, "completes", "stones of the winner only", owners[completing])


def _is_lost_by_itself(game: Game, state: State) -> bool:
    """Whether the last action has lost the game for who played it."""
    return game.is_terminal(state) and notation.is_lost_by(game, state)


def _is_told_by_stones(game: Game, state: State) -> bool:
    """Whether the stones and the player to move tell the position."""
    return (
        notation.has_stones(game)
        and not notation.details_of(game, state)
        and not _is_lost_by_itself(game, state)
    )


def check_copies(played: Played) -> None:
    """A copy is equal, and goes its own way."""
    game, actions, log = played
    for ply, state in enumerate(log.states):
        untouched = state.copy()
        into = used_state(game)
        game.copy(state, into)
        for copied in (into, base.clone(game, state)):
            if not same_record(copied, state):
                played.fail(ply, "copy", state, copied)
        if ply < len(actions):
            game.step(into, actions[ply])
            if not same_record(state, untouched):
                played.fail(ply, "state after a step of its copy", untouched, state)
            if int(into.ply) != ply + 1:
                played.fail(ply, "ply of a copy after a step", ply + 1, into.ply)


def check_texts(played: Played) -> None:
    """Move lists, boards and bytes lead back to where they come from; actions have places."""
    game, actions, log = played
    text = notation.moves_text(game, actions)
    if notation.parse_moves(game, text) != actions:
        played.fail(len(actions), "parse_moves", actions, notation.parse_moves(game, text))
    for ply in _spread_plies(actions, 8):  # a few are enough, as `check_rebuilt` sees many
        state = log.states[ply]
        if _is_told_by_stones(game, state):
            board = notation.board_text(game, state)
            read = notation.parse_board(game, board, int(log.players[ply]))
            played.expect_position(ply, "parse_board", read)
        saved = notation.from_bytes(game, notation.to_bytes(game, state))
        played.expect_position(ply, "from_bytes", saved)
        if saved.last_action != state.last_action:
            claim = "last_action of from_bytes"
            played.fail(ply, claim, state.last_action, saved.last_action)
        for action in log.legal[ply, : log.counts[ply]].tolist():
            cells = game.cells_of_action(state, action)
            if len(cells) > 2 or not set(cells) <= set(range(game.rows * game.columns)):
                played.fail(ply, f"cells_of_action of {action}", "at most two cells", cells)


def check_rebuilt(played: Played) -> None:
    """The stones put down one by one, by `place`, are the position that `step` led to."""
    game, actions, log = played
    for ply in _spread_plies(actions, 64):
        if not _is_told_by_stones(game, log.states[ply]):
            continue
        board = log.owners[ply].reshape(game.rows, game.columns)
        state = notation.from_cells(game, board, int(log.players[ply]))
        played.expect_position(ply, "from_cells", state)


def check_illegal_actions(played: Played) -> None:
    """An illegal action is refused with a reason, and nothing happens."""
    game, actions, log = played
    for ply in _spread_plies(actions, 64):
        state = log.states[ply]
        illegal = np.flatnonzero(log.masks[ply] == 0)
        untouched = state.copy()
        for action in (-1, game.num_actions(), *illegal[:1].tolist(), *illegal[-1:].tolist()):
            try:
                notation.check_action(game, state, action)
            except notation.IllegalActionError:
                continue
            played.fail(ply, f"action {action}", "illegal", "legal")
        if ply < len(actions) and len(illegal) and not game.why_illegal(state, int(illegal[0])):
            played.fail(ply, "why_illegal", "a reason", "none")
        if not same_record(state, untouched):
            played.fail(ply, "state after illegal actions", untouched, state)


def _spread_plies(actions: list[int], most: int) -> list[int]:
    """At most `most` + 1 plies of a game, at even distances from the first to the last."""
    plies = len(actions)
    return sorted({plies * number // most for number in range(most + 1)})


def check_images(played: Played) -> None:
    """The game under every symmetry: the same legality and the same outcome at every ply."""
    game, actions, log = played
    for number, image in enumerate(game.symmetries()):
        image_actions = image[actions].tolist()
        other = Played(game, image_actions, record_game(game, image_actions))
        masks = np.empty_like(log.masks)
        masks[:, image] = log.masks
        claim = f"under symmetry {number}"
        other.expect(f"legal_mask {claim}", masks, other.log.masks)
        other.expect(f"outcome {claim}", log.outcomes, other.log.outcomes)
        other.expect(f"is_terminal {claim}", log.ended, other.log.ended)
