"""The Gomocup protocol both ways, by transcripts, and against a reference brain and manager.

The transcripts follow https://plastovicka.github.io/protocl2en.htm.
"""

import io
import json
import re
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from conversations import (
    COMMANDS,
    HERE,
    PROMPTLY,
    FailingOnce,
    Planned,
    Timed,
    assert_exits_without_reader,
    engine,
    game_against,
    hold,
    match_told,
    say_in_pieces,
    start,
)
from environments import hearing_interrupts
from processes import is_alive, wait_for
from test_engine_process import sees_processes

from agents import UCT, GomocupEngine, GomokuEngine, RandomAgent
from agents.apps.cli import main
from agents.apps.protocols.conversation import read_lines, search_seconds
from agents.apps.protocols.gomocup import read_coordinates
from agents.apps.protocols.gomocup_brain import GomocupBrain, GomocupClock
from agents.arena import play_game, play_match
from agents.core.agent import ForfeitError, Statistics
from agents.planning.environment import action_mask
from hexenv import gomoku_v0
from hexenv.envs.position import Rules
from hexenv.games.gomoku import rule_name

BRAIN = [sys.executable, "-m", "agents.apps.cli", "gomocup", "--seed", "1", "--agent"]


def talk(transcript, agent=None):
    """Hold a conversation written as ``> manager < brain`` lines; * is anything."""
    brain = GomocupBrain(agent or RandomAgent(0), "test", seed=0)
    hold(transcript, lambda line: brain.answer(line).splitlines())
    return brain


# ---- the brain, by transcripts -------------------------------------------------------------------


def test_the_mandatory_commands():
    talk(
        """
        > ABOUT < name="hexenv test", version="*", author="*"
        > START 15 < OK
        > INFO timeout_turn 1000
        > INFO timeout_match 180000
        > INFO max_memory 83886080
        > INFO game_type 1
        > INFO rule 0
        > INFO folder /tmp
        > INFO evaluate 3,4
        > INFO what_is_this 7
        > INFO
        > INFO timeout_turn soon
        > BEGIN < 5,0
        > INFO time_left 178000
        > TURN 7,7 < 6,0
        > END
        """,
        Planned(5, 6),
    )


def test_x_is_the_column_and_y_the_row():
    brain = talk("> START 6 < OK\n> TURN 1,4 < 2,3", Planned(3 * 6 + 2))
    assert brain._board_env().actions == [4 * 6 + 1]


def test_the_optional_commands():
    brain = talk(
        """
        > RECTSTART 8,6 < OK
        > TURN 7,5 < 0,0
        > TAKEBACK 0,0 < OK
        > TAKEBACK 7,5 < OK
        > TURN 7,4 < 1,0
        > RESTART < OK
        > PLAY 3,3 < 3,3
        > TURN 0,0 < 1,0
        """,
        Planned(0, 1, 1),
    )
    assert brain._board_env().actions == [3 * 8 + 3, 0]


def test_board_begins_anywhere_and_in_any_order():
    agent = Planned()
    talk(
        """
        > start 15 < OK
        > BOARD
        > 10,10,1
        > 10,11,2
        > 11,11,1
        > 9,10,2
        > DONE < 0,0
        > RESTART < OK
        > board
        > 1,1,2
        > 2,2,2
        > 3,3,2
        > 4,4,1
        > 5,5,1
        > done < 0,0
        > TURN 9,9 < 1,0
        > BOARD
        > DONE < 0,0
        """,
        agent,
    )
    in_order, mixed, after, empty = agent.seen
    assert in_order == [160, 175, 176, 159]
    assert [sorted(mixed[0::2]), sorted(mixed[1::2])] == [[16, 32, 48], [64, 80]]
    assert len(after) == 7
    assert empty == []


WRONG = (
    "START|START x|START 15.5|START -15|START 4|START 21|START 99999999999999999999|RECTSTART 15"
)
WRONG += "|TURN|TURN 7|TURN a,b|TURN 15,0|TURN 0,-1|TURN 1e1,1|TURN 99999999999,0|TURN 3,3"
WRONG += "|PLAY 3,3|TAKEBACK 4,4|TAKEBACK"
UNKNOWN = ["YXBOARD", "3,3", "DONE", "\xff\x00", "x" * 5000]


@pytest.mark.parametrize("command", [*WRONG.split("|"), "RECTSTART 15,99", *UNKNOWN])
def test_what_is_wrong_is_said_and_changes_nothing(command):
    argument = command.partition(" ")[2] if command in WRONG else ""
    answer = "UNKNOWN command *" if command in UNKNOWN else f"ERROR *{argument}*"
    talk(
        f"""
        > START 15 < OK
        > TURN 3,3 < 0,0
        > TAKEBACK 0,0 < OK
        > PLAY 1,1 < 1,1
        > PLAY 2,1 < 2,1
        > TAKEBACK 2,1 < OK
        > {command} < {answer}
        > TURN 9,9 < 0,0
        """,
        Planned(),
    )


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["1,1"], "ERROR expected x,y,field with a field of 1, 2 or 3, got '1,1'"),
        (["1,1,4"], "ERROR *"),
        (["hello"], "ERROR *"),
        (["1,1,1", "1,1,2"], "ERROR expected each cell once, got 1,1 twice"),
        (["15,1,2"], "ERROR expected coordinates within 15 x 15, got 15,1"),
        (["1,1,3"], "ERROR *continuous games are not played"),
        (["1,1,1", "2,2,1"], "ERROR expected as many*got 0 of the opponent's and 2 of mine"),
        ([f"{n},0,{owner + 1}" if owner else f"{n},5,1" for n in range(5) for owner in (0, 1)],
         "ERROR *"),
        ([f"{n},{y},{owner}" for n in range(5) for y, owner in ((0, 2), (5, 1))][:-1],
         "ERROR *got one that is over"),
        (["1,1,2"], "0,0"),
    ],
)  # fmt: skip
def test_boards_that_are_none(lines, answer):
    said = "\n".join(f"> {line}" for line in lines)
    talk(f"> START 15\n< OK\n> BOARD\n{said}\n> DONE\n< {answer}\n> RESTART\n< OK\n", Planned())


def test_a_list_may_be_broken_off():
    talk("> START 15\n< OK\n> BOARD\n> 1,1,2\n> RESTART\n< OK\n> BEGIN\n< 0,0", Planned())
    assert talk("> START 15\n< OK\n> BOARD\n> 1,1,2\n> END").is_over


@pytest.mark.parametrize("command", ["BEGIN", "TURN 1,1", "RESTART", "TAKEBACK 1,1", "PLAY 1,1"])
def test_before_start(command):
    talk(f"> {command}\n< ERROR expected START first")
    talk("> BOARD\n> 1,1,2\n> DONE\n< ERROR expected START first")
    talk("> SWAP2BOARD\n> DONE\n< ERROR expected START first")


def test_full_boards_and_games_that_are_over():
    colours = [[(x // 2 + y) % 2 + 1 for x in range(6)] for y in range(6)]
    full = "\n".join(f"> {x},{y},{colours[y][x]}" for y in range(6) for x in range(6))
    talk(f"> START 6 < OK\n> BOARD\n{full}\n> DONE < ERROR *got one that is over", Planned())
    assert colours[5][3] == 1  # it is ours to play there
    nearly = full.replace("> 3,5,1\n", "")
    talk(f"> START 6 < OK\n> BOARD\n{nearly}\n> DONE < 3,5", Planned(33))


@pytest.mark.parametrize(
    "refused",
    [
        "> INFO rule 9\n> TURN 9,9\n< MESSAGE *\n< ERROR *, got caro of *\n> INFO rule 0",
        "> BOARD\n> 1,1,1\n> 2,2,1\n> DONE\n< ERROR *",
        "> SWAP2BOARD\n> 1,1\n> 1,1\n> 2,2\n> DONE\n< ERROR expected each cell once, got 1,1 *",
        "> TURN 0,0\n< ERROR expected an empty cell, got 0,0",
    ],
)
def test_what_was_refused_has_not_happened(refused):
    talk(f"> START 15\n< OK\n> BEGIN\n< 0,0\n{refused}\n> TURN 9,9\n< 1,0", Planned())


@pytest.mark.parametrize(
    ("error", "answer"),
    [(ForfeitError("resigned"), "ERROR resigned"), (KeyError("x"), "ERROR KeyError: 'x'")],
)
def test_an_error_of_the_agent_is_an_answer_and_changes_nothing(error, answer):
    said = f"> START 15\n< OK\n> BEGIN\n< 0,0\n> TURN 7,7\n< {answer}\n> TURN 7,7\n< 1,0"
    talk(said, FailingOnce(error))


def test_an_agent_that_is_not_ready_says_why_again():
    class Unready(Planned):
        def prepare(self, env):
            raise ValueError("no network")

    talk("> START 15 < ERROR no network\n> BEGIN < ERROR no network", Unready())


def test_lists_hear_of_limits_and_of_forbidden_cells():
    said = "> START 15\n< OK\n> INFO rule 4\n> BOARD\n> 7,7,2\n> INFO time_left 9000\n> 8,8,3\n"
    talk(said + "> DONE\n< 0,0\n> INFO\ttimeout_turn\t50\n> TURN 9,9\n< 1,0", Planned())


def test_rules():
    for said, name in (
        ("> INFO rule 1\n> START 15 < OK\n> BEGIN < 0,0", "standard"),
        ("> START 15 < OK\n> INFO rule 1\n> BEGIN < 0,0\n> INFO rule 0", "freestyle"),
        ("> START 15 < OK\n> INFO rule 4\n> BEGIN < 0,0", "renju"),
        ("> START 15 < OK\n> INFO rule 8\n> BEGIN < 0,0", "caro"),
        ("> START 15 < OK\n> INFO rule 5\n> BEGIN < 0,0", "renju"),
        ("> START 15 < OK\n> INFO rule 2\n> BEGIN < MESSAGE continuous games * < 0,0", "freestyle"),
    ):
        assert rule_name(talk(said, Planned())._board_env().game.rule) == name
    unplayed = "< MESSAGE the rule caro of exactly five is not played < ERROR expected a rule of *"
    talk(
        f"> START 15 < OK\n> INFO rule 9\n> BEGIN {unplayed}\n> INFO rule 0\n> BEGIN < 0,0",
        Planned(),
    )


def test_the_search_is_told_before_the_move():
    three = "> BOARD\n> 4,4,2\n> 4,5,2\n> 4,6,2\n> 0,0,1\n> 0,2,1\n> DONE"
    stopped = "< MESSAGE depth 2 value -* line 4,* < 4,*"
    talk(f"> START 9 < OK\n{three} {stopped}", GomokuEngine(depth=2))
    keys = "NUMPV", "DEPTH", "SELDEPTH", "TOTALNODES", "TOTALTIME", "SPEED", "EVAL", "WINRATE"
    fields = " ".join(f"< INFO {key} *" for key in (*keys, "BESTLINE"))
    lines = [f"< MESSAGE depth 1 * < INFO PV {n} {fields} < INFO PV DONE" for n in range(2)]
    said = f"""
        > START 9 < OK
        > YXSHOWINFO < MESSAGE test
        > YXNBEST 0 < ERROR expected YXNBEST *
        > BOARD
        > 4,4,2
        > DONE {lines[0]} < *,*
        > RESTART < OK
        > PLAY 4,4 < 4,4
        > PLAY 0,0 < 0,0
        > TAKEBACK 0,0 < OK
        > TAKEBACK 4,4 < OK
        > YXNBEST 1 {lines[0]} < 4,4
        > RESTART < OK
        """
    talk(said, GomokuEngine(depth=1))
    brain = GomocupBrain(GomokuEngine(depth=1), "test", seed=0)
    for line in ("START 9", "YXSHOWINFO", "BOARD", "4,4,2", "0,0,1", "3,4,2"):
        brain.answer(line)
    brain._listed, brain._stones = None, {40: 2, 0: 1, 39: 2}
    told = brain.answer("YXNBEST 2").splitlines()
    assert [line for line in told if line.startswith("INFO PV")] == [
        "INFO PV 0", "INFO PV DONE", "INFO PV 1", "INFO PV DONE",
    ]  # fmt: skip
    values = [int(line.split()[2]) for line in told if line.startswith("INFO EVAL")]
    assert values == sorted(values, reverse=True)
    assert brain.agent.lines == 1


def test_memory_bounds_the_tree():
    def nodes(transcript):
        agent = talk(transcript, UCT(seconds=9)).agent
        return agent.planner.max_nodes, len(agent.planner.workers[0].tree.action)

    most = UCT().settings.max_nodes
    for said in ("> START 6\n< OK\n> INFO max_memory {}", "> INFO max_memory {}\n> START 6\n< OK"):
        bound, made = nodes(said.format(300_000_000))
        assert 1_000_000 < bound < most
        assert made == bound
        assert nodes(said.format(0)) == (most, most)
    few = "> INFO max_memory 1000\n> START 6\n< MESSAGE 1000 bytes of memory are too few*\n< OK"
    assert nodes(few) == (10_000, 10_000)


def test_memory_bounds_the_table():
    most = 1 << 21
    brain = GomocupBrain(GomokuEngine(positions=100, table_entries=most), "test")
    for size, entries in ((248 * 2**20, 1 << 20), (1000, 10_000), (400 * 2**20, most), (0, most)):
        brain.answer(f"INFO max_memory {size}")
        assert brain.agent.table_entries == entries
        brain.answer("START 9")
        brain.answer("BEGIN")
        assert len(brain.agent._kept[2].keys) == 1 << (entries.bit_length() - 1)


# ---- swap2 ---------------------------------------------------------------------------------------

THREE = "> SWAP2BOARD\n> 7,7\n> 8,7\n> 9,9\n> DONE\n"
FIVE = "> SWAP2BOARD\n> 7,7\n> 8,7\n> 9,9\n> 8,8\n> 8,6\n> DONE\n"


@pytest.mark.parametrize("size", [5, 9, 15, 20])
def test_swap2_first_stones(size):
    answers = set()
    for seed in range(20):
        brain = GomocupBrain(RandomAgent(0), "test", seed)
        brain.answer(f"START {size}")
        assert brain.answer("SWAP2BOARD") == ""
        cells = [read_coordinates(cell) for cell in brain.answer("DONE").split()]
        assert len(set(cells)) == 3
        assert max(map(max, cells)) < size
        answers.add(tuple(cells))
    assert len(answers) > 1 or size == 5


class EvenAgent:
    """Finds the position even, and of its `lines` best cells the last one the most."""

    name = "even"
    lines = 1

    def reset(self, seed=None):
        pass

    def act(self, env):
        cells = np.flatnonzero(action_mask(env))[: self.lines]
        visits, values = np.zeros(225, np.int64), np.zeros(225)
        visits[cells] = 1
        values[cells] = 0.5 - 0.5 * np.arange(1, len(cells) + 1) / len(cells)
        self.statistics = Statistics(visits, values, cells[:1].tolist(), 1, 0.1)
        return int(cells[0])


def test_the_fifth_stone_is_the_most_even_of_many():
    agent = EvenAgent()
    brain = GomocupBrain(agent, "test")
    brain.answer("START 15")
    answers = [brain.answer(line[2:]) for line in THREE.splitlines()]
    assert answers[-1].strip() == "0,0 12,0"
    assert agent.lines == 1


@pytest.mark.parametrize(
    ("asked", "value", "answer"),
    [
        (THREE, 0.9, "4,3"),
        (THREE, -0.9, "SWAP"),
        (THREE, 0.0, "4,3 *,*"),
        (FIVE, 0.9, "4,3"),
        (FIVE, 0.0, "4,3"),
        (FIVE, -0.1, "SWAP"),
    ],
)
def test_swap2_choices_follow_the_agents_value(asked, value, answer):
    agent = Planned(3 * 15 + 4, value=value)
    talk(f"> START 15\n< OK\n{asked}< {answer}", agent)
    assert len(agent.seen[0]) == asked.count(",")


def test_after_swap2_the_game_goes_on_by_board_or_by_turn():
    went_on = "> BOARD\n> 7,7,2\n> 8,7,1\n> 9,9,2\n> DONE\n< 0,0"
    talk(f"> START 15\n< OK\n{THREE}< *\n{went_on}", Planned())
    stayed = talk(f"> START 15\n< OK\n{THREE}< 4,3\n> TURN 1,1\n< 0,0", Planned(49, value=0.9))
    assert stayed._board_env().actions == [112, 113, 144, 49, 16]
    swapped = talk(f"> START 15\n< OK\n{THREE}< SWAP\n> TURN 1,1\n< 0,0", Planned(value=-0.9))
    assert swapped._board_env().actions == [112, 113, 144, 16]


def test_swap2_takes_stones_with_fields():
    agent = Planned(49, value=0.9)
    talk("> START 15 < OK\n> SWAP2BOARD\n> 7,7,2\n> 8,7,1\n> 9,9,2\n> DONE < 4,3", agent)
    assert agent.seen == [[112, 113, 144]]


@pytest.mark.parametrize("cells", [["7,7"], ["7,7", "7,7", "8,8"], ["7,7", "8,8", "x"], ["1,1,1"]])
def test_swap2_of_other_boards_is_refused(cells):
    said = "".join(f"> {cell}\n" for cell in cells)
    talk(f"> START 15\n< OK\n> SWAP2BOARD\n{said}> DONE\n< ERROR *\n> BEGIN\n< 0,0", Planned())


def test_swap2_with_a_search():
    brain = GomocupBrain(UCT(60, seed=1), "test", seed=1)
    brain.answer("START 7")
    for line in ("SWAP2BOARD", "3,3", "4,3", "3,4"):
        assert brain.answer(line) == ""
    answer = brain.answer("DONE").removesuffix("\n")
    cells = answer.split()
    if answer != "SWAP":
        assert 1 <= len(set(cells)) == len(cells) <= 2
        assert all(re.fullmatch("[0-6],[0-6]", cell) for cell in cells)
        assert not {"3,3", "4,3", "3,4"}.intersection(cells)


# ---- time ----------------------------------------------------------------------------------------


def test_limits_of_time():
    limits = GomocupClock()
    assert limits.limit(0) is None
    limits.match = 0.0
    assert limits.limit(0) is None
    limits.match = 60.0
    assert limits.limit(0) == pytest.approx(2)
    limits.set_left(2147483.647)
    assert limits.limit(0) is None
    limits.turn = 0.05
    assert limits.limit(0) == pytest.approx(0.05)
    limits.set_left(0.3)
    assert limits.limit(25) == pytest.approx(0.03)
    limits.used += 0.2  # of which the manager has not heard yet
    assert limits.limit(25) == pytest.approx(0.01)
    limits.set_left(-5.0)
    assert limits.limit(0) == 0
    limits.start_game()  # for which that was told
    assert limits.limit(0) == 0
    limits.used += 1.0
    limits.start_game()
    assert limits.limit(0) == pytest.approx(0.05)
    assert [search_seconds(limit) for limit in (0, 0.05, 1, 30)] == pytest.approx(
        [0.001, 0.03, 0.885, 29.5]
    )


def test_the_budget_is_what_the_manager_says_less_a_margin():
    agent = Timed()
    talk(
        """
        > START 15 < OK
        > BEGIN < 0,0
        > INFO timeout_turn 1000
        > TURN 5,5 < 1,0
        > INFO timeout_turn 0
        > TURN 6,5 < 2,0
        """,
        agent,
    )
    *warm_ups, own, second, fast = agent.budgets
    assert (set(warm_ups), own, fast) == ({0.001}, 3.0, 0.001)
    assert 0.5 < second <= 0.885


def test_every_rule_is_ready_before_start_is_answered(monkeypatch):
    class Ready(Planned):
        prepared = ()

        def prepare(self, env):
            self.prepared = (*self.prepared, env.game.rule)

    functions = []
    monkeypatch.setattr(Rules, "_fast", lambda _, one, *rest: functions.append(one) or one.function)
    agent = Ready()
    brain = GomocupBrain(agent, "test")
    assert brain.answer("START 15") == "OK\n"
    assert set(agent.prepared) == {0, 1, 2, 4}
    before, compiled = agent.prepared, len(functions)
    assert brain.answer("INFO rule 4") == ""
    assert brain.answer("BEGIN") == "0,0\n"
    assert brain.answer("TURN 5,5") == "1,0\n"
    assert len(functions) == compiled
    assert brain._board_env().game.rule == 2
    assert agent.prepared == before


def test_an_agent_that_does_not_play_renju_plays_the_other_rules():
    class Simple(Planned):
        def prepare(self, env):
            if env.game.rule == 2:
                raise ValueError("no renju")

    talk("> START 15\n< OK\n> BEGIN\n< 0,0\n> INFO rule 4\n> BEGIN\n< ERROR no renju", Simple())


def test_work_that_no_answer_has_told_of_is_on_the_clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("agents.apps.protocols.conversation.time.perf_counter", lambda: now[0])

    class Slow(Timed):
        planner = SimpleNamespace(max_nodes=10**6)
        settings = SimpleNamespace(workers=1)

        def reset(self, seed=None):
            now[0] += 0.1

    brain = GomocupBrain(Slow(), "test")
    for line in ("START 15", "INFO timeout_turn 1000", "INFO max_memory 250000000"):
        brain.answer(line)
    before = now[0]
    assert brain.answer("BEGIN") == "0,0\n"
    assert before == now[0]
    assert brain.answer("TURN 3,3") == "1,0\n"
    budgets = brain.agent.budgets[-2:]
    assert budgets == pytest.approx([search_seconds(0.8), search_seconds(1.0)])


@pytest.mark.parametrize("answer", ["10,11", " 10,11 ", "10, 11", "10,11 and more", "+10,11"])
def test_coordinates(answer):
    assert read_coordinates(answer) == (10, 11)


@pytest.mark.parametrize("answer", ["", "10", "10;11", "a,b", "10,", "1" * 30 + ",1", "SWAP"])
def test_no_coordinates(answer):
    assert read_coordinates(answer) is None


# ---- the command ---------------------------------------------------------------------------------


def start_brain(agent="random", **options):
    return start([*BRAIN, agent], **options)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_command_reads_lines_in_pieces_and_the_last_without_an_end(size):
    said = b"ABOUT\r\n\r\n  \nSTART 15\r\nINFO rule 0\nTURN 3,3\r\nFOO\nTAKEBACK 3,3\r\nRESTART"
    with start_brain() as brain:
        output = say_in_pieces(brain, said, size)
    about, ok, move, unknown, taken, again = output.splitlines()
    assert about.startswith('name="hexenv random"')
    assert re.fullmatch(r"\d+,\d+", move)
    assert (ok, unknown, taken, again) == ("OK", "UNKNOWN command FOO", "OK", "OK")
    assert "\r" not in output


def test_end_ends_it_and_nothing_more_is_said():
    with start_brain() as brain:
        output, _ = brain.communicate(b"START 15\r\nEND\r\nSTART 15\r\n", timeout=60)
    assert (output, brain.returncode) == (b"OK\n", 0)


def test_very_long_lines_are_cut():
    lines = list(read_lines(io.BytesIO(b"x" * 1_000_000 + b"\r\nSTART 15\r\n")))
    assert [len(lines[0]), *lines[1:]] == [10_000, "START 15"]


def test_a_manager_that_is_gone_ends_it_quietly():
    more = b"BEGIN\nBEGIN\nTURN 3,3\nABOUT\n"
    assert_exits_without_reader(start_brain(), b"START 15\n", b"OK\n", more)


def test_ctrl_c_ends_it_quietly():
    with hearing_interrupts(), start_brain() as brain:
        brain.stdin.write(b"ABOUT\n")
        brain.stdin.flush()
        brain.stdout.readline()
        brain.send_signal(2)
        _, errors = brain.communicate(timeout=60)
    assert brain.returncode != 0
    assert b"Traceback" not in errors


def test_what_agents_print_is_no_answer(tmp_path):
    (tmp_path / "talker.py").write_text(
        "from agents import RandomAgent\nclass Talker(RandomAgent):\n"
        "    def act(self, env):\n        print('hello')\n        return super().act(env)\n"
    )
    with start_brain("talker.Talker", cwd=tmp_path) as brain:
        output, errors = brain.communicate(b"START 15\nBEGIN\n", timeout=60)
    assert re.fullmatch(rb"OK\n\d+,\d+\n", output)
    assert b"hello" in errors


@pytest.mark.parametrize("command", ["gomocup", "htp"])
def test_a_wrong_agent_is_named(command):
    result = CliRunner().invoke(main, [command, "--agent", "nobody"])
    assert result.exit_code == 2
    assert "expected an agent of" in result.output


@pytest.mark.parametrize(
    ("agent", "turn_ms"), [("uct:simulations=30", 1000), ("uct:seconds=9", 50)]
)
def test_the_reference_manager_runs_the_brain(agent, turn_ms):
    manager = [sys.executable, HERE / "reference_manager.py", "9", str(turn_ms), "2"]
    found = subprocess.run(
        [*manager, *BRAIN, agent], capture_output=True, text=True, timeout=300, check=False
    )
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert told["status"] == 0
    assert told["about"].startswith(f'name="hexenv {agent}"')
    for winner, moves, times in told["played"]:
        assert winner in ("brain", "manager", "nobody")
        assert len(moves) >= 9
        assert np.median(times) < turn_ms  # the manager bears with single ones that are late


# ---- engines -------------------------------------------------------------------------------------


def test_what_an_engine_is_told(tmp_path):
    limits = {"seconds": PROMPTLY, "match_seconds": 600, "memory": 350}
    results, said = match_told(gomoku_v0.env(6), GomocupEngine, tmp_path / "log", **limits)
    assert said[:8] == [
        "START 6", "INFO timeout_turn 20000", "INFO timeout_match 600000",
        "INFO max_memory 367001600", "INFO game_type 1", "INFO rule 0", "INFO time_left 600000",
        "BEGIN",
    ]  # fmt: skip
    first, second = results
    replies = [f"TURN {action % 6},{action // 6}" for action in first.actions[1::2]]
    turns = [line for line in said[: said.index("RESTART")] if line.startswith("TURN")]
    assert turns == replies[: first.moves[0] - 1]
    restart = said.index("RESTART")
    number, opening = next(
        (number, line) for number, line in enumerate(said[restart:], restart) if line[:4] == "TURN"
    )
    clocks = [line for line in said[:number] if line.startswith("INFO time_left")]
    assert clocks[-1] == "INFO time_left 600000"  # told once, if a fast engine has used none
    assert opening == f"TURN {second.actions[0] % 6},{second.actions[0] // 6}"
    assert said[-1] == "END"


def test_without_limits_an_engine_is_told_each_value_once(tmp_path):
    env = gomoku_v0.env(6, rule="standard")
    _, said = match_told(env, GomocupEngine, tmp_path / "log")
    info = [line for line in said if line.startswith("INFO")]
    assert "RESTART" in said
    assert len(info) == len(set(info)) == 6
    assert {"INFO timeout_match 0", "INFO time_left 2147483647", "INFO rule 1"} <= set(info)


@pytest.mark.parametrize(
    ("rule", "forbidden", "number"),
    [("renju", "masked", 4), ("renju", "loses", 4), ("caro", "masked", 8)],
)
def test_an_engine_is_told_the_rule(rule, forbidden, number, tmp_path):
    env = gomoku_v0.env(6, rule=rule, forbidden=forbidden)
    assert f"INFO rule {number}" in match_told(env, GomocupEngine, tmp_path / "log")[1]


@pytest.mark.parametrize(
    ("fault", "choice"), [("", ["swap"]), ("stone", ["f6"]), ("two", ["place_two", "d6", "e6"])]
)
def test_an_engine_plays_swap2(fault, choice, tmp_path):
    log = tmp_path / "log"
    env = gomoku_v0.env(6, opening="swap2")
    env.reset()
    agents = [engine(GomocupEngine, "", log), engine(GomocupEngine, fault)]
    result = play_game(env, agents)
    for agent in agents:
        agent.close()
    texts = [env.unwrapped.game.action_text(action) for action in result.actions]
    assert texts[: 3 + len(choice)] == ["a6", "b6", "c6", *choice]
    assert result.forfeit is None
    said = log.read_text().splitlines()
    start = said.index("SWAP2BOARD")
    assert said[start + 1] == "DONE"
    if fault == "two":
        assert texts[6] == "swap"  # the first engine takes black
        start = said.index("SWAP2BOARD", start + 1)
        assert said[start + 1 : start + 7] == ["0,0", "1,0", "2,0", "3,0", "4,0", "DONE"]
    black = 2 if fault == "" else 1  # who has black when the first engine has to move
    assert said[said.index("BOARD") + 1] == f"0,0,{black}"
    assert said.count("BOARD") == 1


@pytest.mark.parametrize(("fault", "asked"), [("fields", 2), ("plain", 1)])
def test_both_dialects_of_swap2board(fault, asked, tmp_path):
    """Rapfi wants the stones with fields, and takes others for none."""
    log = tmp_path / "log"
    env = gomoku_v0.env(6, opening="swap2")
    second = engine(GomocupEngine, fault, log)
    for game in range(2):
        env.reset()
        second.reset()
        result = play_game(env, [engine(GomocupEngine), second])
        texts = [env.unwrapped.game.action_text(action) for action in result.actions]
        assert result.forfeit is None
        assert texts[:4] == ["a6", "b6", "c6", "swap"]
        said = log.read_text().splitlines()
        assert said.count("SWAP2BOARD") == asked + game
    second.close()
    start = said.index("SWAP2BOARD")
    assert said[start + 1 : start + 5] == ["0,0", "1,0", "2,0", "DONE"]
    last = len(said) - said[::-1].index("SWAP2BOARD")
    stones = ["0,0,2", "1,0,1", "2,0,2"] if fault == "fields" else ["0,0", "1,0", "2,0"]
    assert said[last : last + 4] == [*stones, "DONE"]


@pytest.mark.parametrize(
    ("options", "named"),
    [({"connect": 4}, "connect=4"), *(({"opening": o}, o) for o in ("swap", "pro", "long_pro"))],
)
def test_games_that_the_protocol_does_not_have(options, named):
    env = gomoku_v0.env(15, **options)
    env.reset()
    with pytest.raises(ValueError, match=f"got .*{named}"):
        engine(GomocupEngine).prepare(env)


def test_a_rectangle_and_a_position_to_start_from(tmp_path):
    log = tmp_path / "log"
    agent = engine(GomocupEngine, "", log)
    env = gomoku_v0.env((6, 8))
    env.reset(options={"moves": "a6 b5 c4"})  # from the top left: 0,0 then 1,1 then 2,2
    assert agent.act(env) == 1
    env.reset(options={"board": "X O . . . . . .\n" + ". . . . . . . .\n" * 5})
    assert agent.act(env) == 2
    env.reset()
    assert agent.act(env) == 0
    agent.close()
    said = log.read_text().splitlines()
    assert said[0] == "RECTSTART 8,6"
    assert said.count("RESTART") == 2
    start = said.index("BOARD")
    assert said[start : start + 5] == ["BOARD", "0,0,2", "1,1,1", "2,2,2", "DONE"]
    start = said.index("BOARD", start + 1)
    assert said[start : start + 4] == ["BOARD", "0,0,1", "1,0,2", "DONE"]
    assert said.index("RESTART") < start


@pytest.mark.parametrize(
    ("fault", "options", "again"),
    [
        ("no-time", {"match_seconds": 600}, 0),  # of INFO alone
        ("errors", {}, 0),
        ("deafened", {"match_seconds": 600}, 1),
        ("error", {}, 1),
        ("unknown", {}, 1),
        ("error", {"match_seconds": 600, "seconds": 0.5, "tolerance": 2.0}, 1),
    ],
)
def test_what_an_engine_did_not_take_is_asked_once_more(fault, options, again, tmp_path):
    log = tmp_path / "log"
    result = game_against(gomoku_v0.env(6), engine(GomocupEngine, fault, log, **options))
    assert result.forfeit is None
    said = [line for line in log.read_text().splitlines() if line.startswith("TURN")]
    assert len(said) - len(set(said)) == again


def test_a_match_can_run_out_of_time():
    agent = engine(GomocupEngine, "hang", match_seconds=0.5, tolerance=0.5)
    result = game_against(gomoku_v0.env(6), agent)
    assert re.fullmatch(r"no move in 0(\.\d+)? s", result.forfeit)


def test_the_clock_of_a_match_runs_on_from_a_position_as_well(tmp_path, monkeypatch):
    """The test has a clock of its own, which goes on by 100 s when the engine answers a move."""
    now = [0.0]
    monkeypatch.setattr("agents.apps.protocols.engine_process.time.monotonic", lambda: now[0])
    read = GomocupEngine._read

    def read_slowly(self, *arguments):
        now[0] += 100
        return read(self, *arguments)

    monkeypatch.setattr(GomocupEngine, "_read", read_slowly)
    log = tmp_path / "log"
    agent = engine(GomocupEngine, "", log, match_seconds=250, tolerance=0, seconds=1000)
    env = gomoku_v0.env(6)
    env.reset(options={"board": "X O . . . .\n" + ". . . . . .\n" * 5})
    for move in (35, 34, 33):
        env.step(agent.act(env))
        env.step(move)
    agent.close()
    said = log.read_text().splitlines()
    assert "RESTART" not in said
    left = [int(line.split()[2]) for line in said if line.startswith("INFO time_left")]
    assert left == [250_000, 150_000, 50_000]


def test_after_a_crash_the_next_game_has_a_new_engine():
    agent = engine(GomocupEngine, "crash")
    results = list(play_match(gomoku_v0.env(6), [agent, RandomAgent()], 3))
    agent.close()
    assert [result.moves[0] for result in results] == [3, 3, 3]
    assert all(result.forfeit for result in results)


def test_one_that_ends_between_games_is_started_again():
    agent = engine(GomocupEngine, "once")
    env = gomoku_v0.env(6)
    for _ in range(2):
        env.reset()
        assert agent.act(env) == 0
        wait_for(agent.engine().has_ended)
        agent.reset()
    agent.close()


@sees_processes
def test_an_engines_children_end_with_it(tmp_path):
    log = tmp_path / "log"
    agent = engine(GomocupEngine, "child", log)
    env = gomoku_v0.env(6)
    env.reset()
    agent.act(env)
    child = int(log.read_text().split()[0])
    agent.close()
    wait_for(lambda: not is_alive(child))


def test_forfeits_on_the_command_line():
    reason = "the engine exited with status 3: a bug of mine"
    crashing = f"gomocup:command={COMMANDS[GomocupEngine]} crash,seconds=20"
    words = ["gomoku", "--option", "board_size=6"]
    match = ["match", *words, "random", crashing, "--games", "2"]
    output = CliRunner().invoke(main, match).stdout
    assert f"game 1: B forfeits: {reason}\ngame 2: B forfeits: {reason}\n" in output
    told = json.loads(CliRunner().invoke(main, [*match, "--json"]).stdout)
    assert (told["wins"], told["forfeits"], told["illegal_moves"]) == (2, [0, 2], [0, 0])
    assert told["reasons"] == [f"game {number}: B forfeits: {reason}" for number in (1, 2)]
    moves = "f1\ne1\nd1\nc1\n"
    played = CliRunner().invoke(main, ["play", *words, crashing], input=moves)
    assert f"the agent forfeits: {reason}" in played.stdout
    assert played.exit_code == 0


def test_a_failed_start_is_an_error_and_no_forfeit(monkeypatch):
    env = gomoku_v0.env(6)
    env.reset()
    with pytest.raises(ValueError, match="I know 20 alone"):
        engine(GomocupEngine, "size").prepare(env)
    monkeypatch.setattr("agents.apps.protocols.gomocup.START_SECONDS", 0.05)
    with pytest.raises(ValueError, match="in time"):
        engine(GomocupEngine, "mute").prepare(env)


@pytest.mark.parametrize("options", [{"match_seconds": 0}, {"memory": -1}])
def test_limits_out_of_range_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        engine(GomocupEngine, **options)
