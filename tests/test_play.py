"""A person against an agent: the session, and what its faces with a board share."""

import numpy as np
import pytest
from click.testing import CliRunner
from persons import GAMES, Broken, Cheat, Lowest, Quitter, session_of, settle

from agents.cli import main
from agents.core.agent import ForfeitError
from agents.play.cursor import Cursor
from agents.play.live import LiveSession
from agents.play.words import COMMANDS, SHORT, help_text, understand
from agents.records import load_record


def finish(session, rng):
    """Play random moves for the person to the end of the game."""
    while not session.is_over:
        if session.is_persons_turn:
            session.play(int(rng.choice(session.legal_actions)))
        else:
            session.reply(session.think())


# ---- the session ---------------------------------------------------------------------------------


def test_a_session_is_played_in_turns():
    session = session_of()
    assert session.is_persons_turn
    assert session.play(4) == "you played 5"
    assert not session.is_persons_turn
    assert session.reply(session.think()) == "the agent played 1"
    assert (session.moves, session.result) == ("51", "stopped")


@pytest.mark.parametrize(
    ("moves", "player", "result"),
    [
        ("14253", 0, "you have won"),
        ("14253", 1, "the agent has won"),
        ("214356789", 0, "a draw"),
    ],
)
def test_the_result_is_the_persons(moves, player, result):
    session = session_of(moves=moves, player=player)
    assert session.is_over
    assert session.result == result
    assert session.legal_actions == []
    assert not session.is_persons_turn


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("player", [0, 1])
def test_undo_goes_back_through_the_whole_game(name, player):
    rng = np.random.default_rng(player)
    session = session_of(name, player=player)
    seen = []
    while not session.is_over:
        if session.is_persons_turn:
            seen.append(session.moves)
            session.play(int(rng.choice(session.legal_actions)))
        else:
            session.reply(session.think())
    for moves in reversed(seen):
        assert session.undo()
        assert session.moves == moves
        assert session.is_persons_turn
    assert not session.undo()


def test_an_illegal_action_changes_nothing():
    session = session_of(moves="51")
    with pytest.raises(ValueError, match=r"illegal action 4: 5 is taken \(ply 2\)"):
        session.play(4)
    assert session.moves == "51"
    assert not session.undo()


@pytest.mark.parametrize("agent", [Quitter(), Cheat()])
def test_an_agent_that_forfeits(agent):
    session = session_of(agent=agent)
    session.play(0)
    with pytest.raises(ForfeitError, match=r"its engine crashed|illegal action 99"):
        session.think()
    session.forfeit = "it was late"
    assert session.is_over
    assert session.result == "the agent forfeits: it was late"
    assert session.undo()
    assert not session.is_over


@pytest.mark.parametrize("name", GAMES)
def test_cells_stand_for_actions(name):
    session = session_of(name)
    for action in session.legal_actions:
        cell = session.cell_of(action)
        assert session.action_at(cell) == action
    columns = session.game.columns
    for cell in range(session.game.rows * columns):
        action = session.action_at(cell)
        assert session.cell_of(action) % columns == cell % columns
        assert (session.cell_of(action) == cell) or name == "connect4"


def test_a_full_column_is_an_illegal_action():
    session = session_of("connect4", moves="1111")
    with pytest.raises(ValueError, match="column 1 is full"):
        session.play(session.action_at(0))


@pytest.mark.parametrize(
    ("name", "moves", "choices"),
    [
        ("hex-swap", "b2", ["swap"]),
        ("hex-swap", "b2 swap", []),
        ("gomoku-swap2", "c3 d4", []),
        ("gomoku-swap2", "c3 d4 d3", ["swap", "place_two"]),
        ("gomoku-swap2", "c3 d4 d3 place_two a1 b1", ["swap"]),
        ("connect4", "", []),
    ],
)
def test_choices_are_the_actions_without_a_cell(name, moves, choices):
    session = session_of(name, moves)
    assert [session.text(action) for action in session.choices] == choices
    for choice in choices:
        assert session.parse(choice[0]) == session.parse(choice) == session.parse(f" {choice} ")
        assert choice in help_text(session)


def test_the_prompt_asks_the_games_question():
    assert session_of().prompt == "your move"
    session = session_of("gomoku-swap2", "c3 d4 d3", player=1)
    assert session.prompt.startswith("your move (a stone to play white, or swap to take black")


def test_a_hint_is_the_agents_action_and_its_value():
    session = session_of("connect4", moves="1")
    hint = session.hint(session.think())
    assert (hint.action, hint.cell) == (0, 10)  # on top of the stone in column 1
    assert hint.text == "the agent would play 1 (value +0.50)"
    assert session.moves == "1"


# ---- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [*COMMANDS, *SHORT, " UNDO ", "Q"])
def test_commands_have_short_forms(word):
    meant = word.strip().lower()
    assert understand(session_of(), word) == SHORT.get(meant, meant)


def test_what_is_no_word_is_answered_in_a_line():
    with pytest.raises(ValueError, match="expected a cell from 1 to 9, got 'please'; type help"):
        understand(session_of(), "please")
    with pytest.raises(ValueError, match="expected a cell from a1 to c3, got ''"):
        understand(session_of("hex-swap", "b2"), "")


def test_help_names_all_that_can_be_said():
    text = help_text(session_of())
    for word in (*COMMANDS, "Type a move (5)", "u for undo", "? for help"):
        assert word in text


# ---- records -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("player", [0, 1])
def test_the_record_is_of_what_was_played_not_of_what_was_taken_back(name, player):
    rng = np.random.default_rng(3)
    session = session_of(name, player=player, recorded=True)
    finish(session, rng)
    session.undo()
    session.undo()
    finish(session, rng)
    record = session.record(seed=5)
    assert record.moves == session.moves
    assert record.seed == 5
    assert record.agents == (("person", "lowest"), ("lowest", "person"))[player]
    assert record.outcome == session.game.outcome(session.state, 0)
    assert len(record.searches) == len(record.actions) == len(record.seconds)
    for action, search in zip(record.actions, record.searches, strict=True):
        assert search is None or search.visits == {action: 7}
    searches = [search is not None for search in record.searches]
    assert sum(searches) >= len(searches) // 2 - 2  # in an opening one side may play several


def test_a_forfeit_is_recorded():
    session = session_of(player=1, recorded=True, moves="5")
    session.play(0)
    session.forfeit = "it was late"
    record = session.record()
    assert (record.outcome, record.reason) == (-1, "forfeit: it was late")
    assert (record.moves, record.opening) == ("51", 1)


def test_the_command_keeps_a_record(tmp_path):
    path = tmp_path / "game.json"
    command = ["play", "tictactoe", "random", "--record", str(path), "--seed", "4"]
    result = CliRunner().invoke(main, command, input="5\nundo\n5\nquit\n")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(f"record: {path}\n")
    record = load_record(path)
    assert f"stopped\nmoves: {record.moves}\n" in result.stdout
    assert (record.agents, record.seed, record.outcome) == (("person", "random"), 4, None)
    before = path.read_bytes()
    result = CliRunner().invoke(main, command, input="quit\n")
    assert result.exit_code == 2
    assert "expected a new file for the record" in result.stderr
    assert path.read_bytes() == before


def test_a_record_needs_a_directory(tmp_path):
    path = tmp_path / "none" / "game.json"
    result = CliRunner().invoke(main, ["play", "tictactoe", "random", "--record", str(path)])
    assert result.exit_code == 2
    assert "expected a directory for the record" in result.stderr


# ---- shown while it goes on ----------------------------------------------------------------------


def test_a_person_waits_for_the_agent_and_it_for_nobody():
    agent = Lowest()
    live = LiveSession(session_of(agent=agent), "{example}")
    live.update()
    assert live.status == "your move"
    agent.gate.clear()
    live.play(4)
    for action in (lambda: live.play(0), live.undo, live.ask, lambda: live.say("1")):
        live.message = ""
        action()
        assert live.message == "the agent is thinking; wait, or quit"
        assert live.session.moves == "5"
    assert live.status.startswith("the agent is thinking (")
    agent.gate.set()
    settle(live)
    assert (live.message, live.status) == ("the agent played 1", "your move")
    assert live.session.moves == "51"


def test_nobody_plays_for_the_agent_before_it_has_begun():
    agent = Lowest()
    agent.gate.clear()
    live = LiveSession(session_of(agent=agent, player=1), "")
    live.play(4)  # before any update
    assert live.message == "the agent is thinking; wait, or quit"
    agent.gate.set()
    settle(live)
    assert live.session.moves == "1"


def test_a_person_may_leave_while_the_agent_thinks():
    agent = Lowest()
    live = LiveSession(session_of(agent=agent, player=1), "")
    agent.gate.clear()
    live.update()
    live.say("q")
    assert live.is_closed
    agent.gate.set()


def test_a_hint_stays_until_the_position_changes():
    live = LiveSession(session_of(), "")
    live.say("hint")
    settle(live)
    assert live.hint.cell == 0
    live.say("5")
    assert live.hint is None
    settle(live)
    live.ask()
    settle(live)
    assert live.hint.cell == 1
    live.say("undo")
    assert (live.hint, live.message, live.session.moves) == (None, "taken back", "")
    live.say("undo")
    assert live.message == "nothing to take back"


def test_the_end_can_be_taken_back():
    live = LiveSession(session_of(moves="1425"), "")
    live.say("3")
    live.update()
    assert live.status == "you have won"
    live.play(8)
    assert live.message.startswith("the game is over")
    live.ask()
    assert live.message == "the game is over"
    live.undo()
    assert (live.status, live.session.moves) == ("your move", "1425")


def test_a_forfeit_ends_a_live_session():
    live = LiveSession(session_of(agent=Quitter()), "")
    live.say("5")
    settle(live)
    assert live.status == "the agent forfeits: its engine crashed"


def test_an_error_of_the_agent_is_not_swallowed():
    live = LiveSession(session_of(agent=Broken()), "")
    live.say("5")
    with pytest.raises(RuntimeError, match="no idea"):
        settle(live)


def test_messages_of_a_live_session():
    live = LiveSession(session_of("hex"), "Click (not {example})")
    assert live.message == "you are X; ? for help"
    live.say("moves")
    assert live.message == "none yet"
    live.say("help")
    assert live.message.startswith("Click (not b2)\n")
    live.say("z9")
    assert live.message == "expected a cell from a1 to c3, got 'z9'; type help for help"
    live.play(None)
    assert live.message == "no move there"


# ---- the cursor ----------------------------------------------------------------------------------


def test_the_cursor_stays_on_the_board():
    cursor = Cursor(session_of("hex"))
    assert cursor.cell == cursor.action == 4
    for down, right, cell in ((-1, 0, 1), (-1, 0, 1), (0, -1, 0), (0, -1, 0), (1, 0, 3), (0, 1, 4)):
        cursor.move(down, right)
        assert cursor.cell == cell
    for _ in range(3):
        cursor.move(1, 1)
    assert cursor.cell == 8


def test_in_a_wall_the_cursor_is_where_the_stone_would_fall():
    cursor = Cursor(session_of("connect4", moves="33"))
    assert (cursor.action, cursor.cell) == (2, 7)
    cursor.move(0, 1)
    assert (cursor.action, cursor.cell) == (3, 18)


def test_below_the_board_are_the_choices():
    session = session_of("gomoku-swap2", "c3 d4 d3", player=1)
    cursor = Cursor(session)
    for _ in range(10):
        cursor.move(1, 0)
    assert (cursor.cell, session.text(cursor.action)) == (None, "swap")
    cursor.move(0, 1)
    cursor.move(0, 1)
    assert session.text(cursor.choice) == "place_two"
    cursor.move(-1, 0)
    assert cursor.choice is None
    assert cursor.cell == 5 * 6 + 3
    cursor.move(1, 0)
    session.play(cursor.action)
    assert session.moves.endswith("swap")
    assert (cursor.choice, cursor.cell) == (None, 5 * 6 + 3)
