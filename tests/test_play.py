"""A person against an agent: the session itself, the commands, and the session in the background.

What pages do with a session is in `test_serve.py`.
"""

import re

import numpy as np
import pytest
from click.testing import CliRunner
from persons import GAMES, Broken, Cheat, Lowest, Quitter, session_of, settle
from pettingzoo.utils import BaseWrapper

from agents.apps.cli import main
from agents.apps.play import plain
from agents.apps.play.commands import (
    COMMANDS,
    SHORT,
    TYPED,
    help_text,
    last_move_text,
    prompt,
    result_text,
    understand,
    value_bar,
)
from agents.apps.play.live import LiveSession
from agents.apps.play.session import SessionError
from agents.core.agent import Statistics
from agents.records import load_record
from hexenv.games.gomoku.openings import is_opening


def play_on(session, rng):
    """Play random moves for the person to the end; returns the moves before each of them."""
    seen = []
    while not session.is_over:
        if session.status == "yours":
            seen.append(session.moves)
            session.play(int(rng.choice(session.legal_actions)))
        else:
            session.run_agent()
    return seen


def record_of(session, name, **options):
    names = ("person", "lowest") if session.side == 0 else ("lowest", "person")
    return session.record_maker(*GAMES[name], names, **options)()


# ---- the session ---------------------------------------------------------------------------------


def test_a_session_is_played_in_turns():
    session = session_of()
    session.play(4)
    assert (last_move_text(session), session.status) == ("you played 5", "thinking")
    with pytest.raises(SessionError, match="not your turn"):
        session.play(0)
    session.run_agent()
    assert (last_move_text(session), session.status) == ("the agent played 1", "yours")
    with pytest.raises(ValueError, match="5 is taken"):
        session.play(4)
    assert (session.moves, result_text(session)) == ("51", "stopped")


@pytest.mark.parametrize(
    ("moves", "side", "result"),
    [
        ("14253", 0, "you have won"),
        ("14253", 1, "the agent has won"),
        ("214356789", 0, "a draw"),
    ],
)
def test_the_result_is_the_persons(moves, side, result):
    session = session_of(moves=moves, side=side)
    assert (session.status, result_text(session)) == ("over", result)
    assert session.legal_actions == []


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("side", [0, 1])
def test_undo_and_the_record_through_the_whole_game(name, side):
    rng = np.random.default_rng(side)
    session = session_of(name, side=side)
    seen = play_on(session, rng)
    for _ in range(2):
        session.undo()
        assert session.moves == seen.pop()
    seen += play_on(session, rng)
    record = record_of(session, name, seed=5)
    assert (record.moves, record.seed) == (session.moves, 5)
    assert record.outcome == session.outcome == session.game.outcome(session.state, 0)
    for action, search in zip(record.actions, record.searches, strict=True):
        assert search is None or search.visits == {action: 7}
    assert len(record.seconds) == len(record.actions)
    for turn, search in zip(session.turns, record.searches, strict=True):
        # In an opening the agent searches other positions than the one on the board.
        is_searched = not is_opening(session.game, turn.env.unwrapped.state)
        assert (search is not None) == (turn.player != side and is_searched)
    for moves in reversed(seen):
        session.undo()
        assert (session.moves, session.status) == (moves, "yours")
    with pytest.raises(SessionError, match="no move of yours"):
        session.undo()


def test_searches_of_another_position_or_of_an_earlier_move_are_left_out():
    agent = Lowest()
    session = session_of(agent=agent)
    session.ask_hint()
    session.run_agent()
    assert session.hint.search.visits == {0: 7}
    agent.act = lambda env: 1  # its last search fits here, too
    session.play(4)
    session.run_agent()

    def act(env):
        agent.statistics = Statistics(np.full(9, 1), np.zeros(9), [4], 9, 0.0)
        return 0

    agent.act = act
    session.play(8)
    session.run_agent()
    assert [turn.search for turn in session.turns] == [None] * 4


def test_a_wrapper_may_allow_less_than_the_rules():
    class WithoutCenter(BaseWrapper):
        def observe(self, agent):
            observation = super().observe(agent)
            observation["action_mask"][4] = 0
            return observation

        def last(self, observe=True):
            _, *others = super().last(observe)
            return self.observe(self.agent_selection), *others

    session = session_of()
    session.env = WithoutCenter(session.env)
    with pytest.raises(ValueError, match="illegal action 4"):
        session.play(4)
    assert session.moves == ""


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        (Quitter(), "forfeit: its engine crashed"),
        (Cheat(99), "illegal action 99"),
        (Cheat("x"), "illegal action 'x'"),
    ],
)
def test_an_agent_that_forfeits(agent, reason):
    session = session_of(agent=agent, side=1, moves="51")
    session.run_agent()
    assert (session.is_over, session.reason, session.outcome) == (True, reason, -1)
    record = record_of(session, "tictactoe")
    assert (record.outcome, record.reason, record.opening) == (-1, reason, 2)
    live = LiveSession(session_of(agent=agent), "")
    live.say("5")
    settle(live)
    assert live.status == f"the agent forfeits: {reason.removeprefix('forfeit: ')}"
    live.undo()
    assert not live.session.is_over


@pytest.mark.parametrize("name", GAMES)
def test_cells_stand_for_actions(name):
    session = session_of(name)
    for action in session.legal_actions:
        assert session.action_at(session.cell_of(action)) == action
    columns = session.game.columns
    for cell in range(session.game.rows * columns):
        filled = session.cell_of(session.action_at(cell))
        assert filled == cell or (name == "connect4" and filled % columns == cell % columns)


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


# ---- commands ------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [*COMMANDS, *SHORT, " UNDO ", "Q"])
def test_commands_have_short_forms(word):
    meant = word.strip().lower()
    assert understand(session_of(), word) == SHORT.get(meant, meant)


@pytest.mark.parametrize(("name", "word"), [("tictactoe", "please"), ("hex-swap", "")])
def test_other_words_are_refused(name, word):
    with pytest.raises(ValueError, match=f"got '{word}'; type help"):
        understand(session_of(name), word)


def test_the_prompt_asks_the_games_question():
    assert prompt(session_of()) == "your move"
    session = session_of("gomoku-swap2", "c3 d4 d3", side=1)
    assert prompt(session).startswith("your move (a stone to play white, or swap")


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
    for other, word in ((path, "a new file"), (tmp_path / "none" / "game.json", "a directory")):
        command[4] = str(other)
        result = CliRunner().invoke(main, command, input="quit\n")
        assert result.exit_code == 2
        assert word in result.stderr
    assert path.read_bytes() == before


def test_the_value_is_that_of_the_latest_search():
    session = session_of()
    assert (session.value, value_bar(session)) == (None, "")
    session.play(4)
    session.run_agent()  # 0.5 for the agent
    assert session.value == -0.5
    assert value_bar(session, 8) == "X ##------ O  +0.50 for O (the agent)"
    session.ask_hint()
    session.run_agent()
    assert session.value == 0.5
    assert value_bar(session, 8) == "X ######-- O  +0.50 for X (you)"


def test_line_by_line_the_board_shows_hint_value_and_sides():
    command = ["play", "hex", "uct:simulations=50", "--option", "board_size=3", "--seed", "1"]
    result = CliRunner().invoke(main, command, input="a1\nhint\nundo\nquit\n")
    assert result.exit_code == 0, result.output
    assert "Hex 3 x 3, no swap: you are X" in result.output
    assert "X (you) joins top and bottom (x)" in result.output
    assert re.search(r"[<(] ?\?|\? ?[>)]", result.output)
    assert re.search(r"X #*-* O  \+\d\.\d\d for [XO]", result.output)
    assert re.search(r"took back 2 moves: a1 [a-c][1-3]", result.output)


def test_a_board_wider_than_the_window_says_so(monkeypatch):
    monkeypatch.setattr(plain, "width", lambda: 12)
    result = CliRunner().invoke(main, ["play", "connect4", "random", "--plain"], input="quit\n")
    assert "too narrow for the board" in " ".join(result.output.split())


def test_line_by_line_no_word_is_broken(monkeypatch):
    monkeypatch.setattr(plain, "width", lambda: 40)
    command = ["play", "tictactoe", "random", "--plain"]
    result = CliRunner().invoke(main, command, input="help\nquit\n")
    told = result.output.partition("your move: ")[2]
    assert max(map(len, told.splitlines())) <= 40
    assert " ".join(help_text(session_of()).split()) in " ".join(told.split())


# ---- in the background ---------------------------------------------------------------------------


@pytest.mark.parametrize("side", [0, 1])
def test_a_person_waits_for_the_agent(side):
    agent = Lowest()
    agent.gate.clear()
    live = LiveSession(session_of(agent=agent, side=side), "{example}")
    if side == 0:
        live.play(4)
    moves = live.session.moves
    for action in (lambda: live.play(0), live.undo, live.ask, lambda: live.say("1")):
        live.message = ""
        action()  # also before any `update`
        assert live.message == "the agent is thinking; wait, or quit"
        assert live.session.moves == moves
    assert live.status.startswith("the agent is thinking (")
    agent.gate.set()
    settle(live)
    assert (live.message, live.status) == ("the agent played 1", "your move")
    assert live.session.moves == moves + "1"


def test_a_person_may_leave_while_the_agent_thinks():
    agent = Lowest()
    live = LiveSession(session_of(agent=agent, side=1), "")
    agent.gate.clear()
    live.update()
    live.say("q")
    assert live.is_closed
    agent.gate.set()


def test_a_hint_stays_until_the_position_changes():
    live = LiveSession(session_of("connect4", moves="1", side=1), "")
    live.say("hint")
    settle(live)
    assert live.session.hint.cell == 10  # on top of the stone in column 1
    assert live.message == "the agent would play 1 (value +0.50)"
    assert live.session.moves == "1"
    live.say("5")
    assert live.session.hint is None
    settle(live)
    live.ask()
    settle(live)
    assert live.session.hint.action == 0
    live.say("undo")
    assert (live.session.hint, live.message, live.session.moves) == (
        None,
        "took back 2 moves: 5 1",
        "1",
    )
    live.say("undo")
    assert live.message == "nothing to take back"


def test_the_end_can_be_taken_back():
    live = LiveSession(session_of(moves="1425"), "")
    live.say("3")
    live.update()
    assert live.status == "you have won"
    for action in (lambda: live.play(8), live.ask):
        live.message = ""
        action()
        assert live.message.startswith("the game is over")
    live.undo()
    assert (live.status, live.session.moves) == ("your move", "1425")


def test_an_error_of_the_agent_is_raised():
    live = LiveSession(session_of(agent=Broken()), "")
    live.say("5")
    with pytest.raises(RuntimeError, match="no idea"):
        settle(live)
    assert live.status == "the agent has failed"
    for again in (live.update, lambda: live.say("1"), live.update):  # a key may have met it first
        with pytest.raises(RuntimeError, match="no idea"):
            again()


def test_messages_of_a_live_session():
    live = LiveSession(session_of("hex"), f"Click. {TYPED}")
    assert live.message == "you are X; ? for help"
    live.say("moves")
    assert live.message == "none yet"
    live.say("help")
    for word in (*COMMANDS, "Click. Type a move (b2)", "u for undo", "? for help"):
        assert word in live.message
    live.say("z9")
    assert live.message.endswith("got 'z9'; type help for help")
    live.play(None)
    assert live.message == "no move there"
