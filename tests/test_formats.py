"""Games in the formats of the field: SGF, psq and strings of columns."""

import dataclasses
import errno
import os
import re
from contextlib import nullcontext, suppress
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from recorded import random_record, with_searches
from reference_swap import ExchangeGame

from agents.apps.cli import main
from agents.apps.web.page import replay_data
from agents.records import GameRecord, Search, StartPosition, load_record, save_record
from agents.records.columns import read_columns
from agents.records.files import as_text
from agents.records.films import film_of
from agents.records.formats import load_games, save_games
from agents.records.psq import read_psq, write_psq
from agents.records.sgf import read_sgf, trees, write_sgf
from hexenv.games.base import cell_owners
from hexenv.games.gomoku import rule_name

CASES = [
    ("connect4", (), ".txt"),
    ("connect4", ("rows=4", "columns=11"), ".txt"),
    ("hex", ("board_size=5", "swap=true"), ".sgf"),
    ("hex", ("board_size=4x7",), ".sgf"),
    ("gomoku", ("board_size=7",), ".sgf"),
    ("gomoku", ("board_size=5", "rule=renju"), ".sgf"),
    ("gomoku", ("board_size=6x8", "rule=standard"), ".sgf"),
    ("gomoku", ("board_size=7", "rule=caro"), ".sgf"),
    ("gomoku", ("board_size=8x6",), ".psq"),
    ("gomoku", ("board_size=6", "rule=caro"), ".psq"),
]
IDS = [f"{game}{suffix}-{'-'.join(options)}" for game, options, suffix in CASES]


def written(records, path):
    save_games(records, path, force=True)
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("count", [25, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("game", "options", "suffix"), CASES, ids=IDS)
def test_games_come_back_as_they_were(game, options, suffix, count, tmp_path):
    """Record -> file of the format -> record, and the same file again."""
    path = tmp_path / f"games{suffix}"
    agents = ("", "") if suffix == ".txt" else ("a [b] \\ c:d", "zwei \u2665")
    records = [random_record(game, options, chance, agents=agents) for chance in range(count)]
    records = [record for record in records if record.actions]
    for several in [records] if suffix != ".psq" else [[record] for record in records]:
        text = written(several, path)
        found = list(load_games(path, options=options if suffix == ".txt" else ()))
        assert found == several
        assert written(found, path) == text


# ---- SGF -----------------------------------------------------------------------------------------


def only(records):
    (record,) = records
    return record


def stones(record):
    """The last position as text: X, O and dots, row by row."""
    symbols = {-1: ".", 0: "X", 1: "O"}
    board = cell_owners(record.rules(), record.states()[-1])
    return [" ".join(symbols[int(owner)] for owner in row) for row in board]


HEXGUI = r"""(;AP[HexGui:0.10.GIT]FF[4]GM[11]SZ[3]PB[Ann \] B.]PW[Bob]C[two: \] and \\
lines (;B[a1\])]
;B[a3];W[swap-pieces]C[taken];W[b2]
;B[a2];W[b1])
"""
"""As HexGui writes: properties in no order, comments with anything in them, lines anywhere."""


def test_a_file_of_hexgui():
    record = only(read_sgf(HEXGUI))
    assert record.moves == "a3 swap b2 b1 a2"
    assert record.agents == ("Ann ] B.", "Bob")
    assert record.options == ("board_size=3", "swap=true")
    assert (record.outcome, record.reason) == (None, None)
    assert stones(record) == [". O O", "X X .", ". . ."]
    mirrored_pieces = HEXGUI.replace("W[b2]", "B[b2]").replace("B[a2]", "W[b1]")
    mirrored_pieces = mirrored_pieces.replace("W[b1])", "B[a2])")
    assert only(read_sgf(mirrored_pieces)) == record


def test_a_hundred_swapped_games_are_written_as_another_implementation_plays_them():
    for chance in range(100):
        record = random_record("hex", ("board_size=4", "swap=true"), chance)
        if record.actions[1:2] != (16,):
            record = GameRecord.of("hex", record.options, (*record.actions[:1], 16))
        text = write_sgf([record])
        game = ExchangeGame(4)
        for colour, move in re.findall(r";([BW])\[(.*?)\]", text):
            if move != "swap-pieces":
                assert colour == game.to_move[0].upper()
            game.play(move)
        shown = [row.translate(str.maketrans("BW", "XO")) for row in game.as_pieces()]
        assert shown == [row.replace(" ", "") for row in stones(record)]
        assert record.outcome == {None: None, 0: 1, 1: -1}[game.winner()]


def test_a_game_of_twogtp():
    """PB and the B of RE are who began; it asks for moves until one resigns."""
    text = (
        "(;GM[11]SZ[3]PB[first]PW[other]RE[{}]US[twogtp.py];B[a3];W[swap-pieces];W[b2];B[a2];W[{}"
    )
    won = only(read_sgf(text.format("B+", "c1];B[c2];W[b1];B[b3];W[a1];B[resign])")))
    assert (won.outcome, won.reason, won.agents) == (1, None, ("first", "other"))
    resigned = only(read_sgf(text.format("B+", "b1];B[resign])")))
    assert (resigned.outcome, resigned.reason) == (1, "resigned")
    late = only(read_sgf(text.format("B+Time", "b1])")))
    assert (late.outcome, late.reason) == (1, "time")
    assert only(read_sgf(write_sgf([late]))) == late


def test_the_cells_of_searches_are_those_of_the_file():
    record = GameRecord.of("hex", ("board_size=3", "swap=true"), (2, 9, 1, 3))
    searches = [Search(seconds=0.0, simulations=5, principal_variation=plan)
                for plan in ((2, 9, 1), (9, 1), (1, 3), (3,))]  # fmt: skip
    record = dataclasses.replace(record, searches=tuple(searches))
    ((nodes, _),) = trees(write_sgf([record]))
    said = [node["C"].values[0].partition("simulations, ")[2] for node in nodes[1:]]
    assert said == ["c1 swap-pieces a2", "swap-pieces a2", "a2 b1", "b1"]


def mirrored(move):
    return f"{chr(96 + int(move[1:]))}{ord(move[0]) - 96}"


def as_plays(colours, moves, head="GM[11]SZ[5]"):
    played = "".join(f";{colour}[{move}]" for colour, move in zip(colours, moves, strict=False))
    return f"(;{head}{played})"


@pytest.mark.parametrize("word", ["swap-sides", "swap-pieces", "swap"])
def test_swapped_sides_are_the_mirrored_game(word):
    """Where white is next after a swap the players have exchanged colours, whatever the word."""
    for chance in range(30):
        rest = random_record("hex", ("board_size=5", "swap=true"), chance).moves.split()[2:]
        first = "c4"
        rest = [move for move in rest if move not in ("swap", mirrored(first))]
        pieces = as_plays("BW" * 20, [first, "swap-pieces", *rest])
        sides = as_plays("BW" + "WB" * 20, [first, word, *map(mirrored, rest)])
        with suppress(ValueError):  # a game that goes on after its end
            expected = only(read_sgf(pieces))
            assert only(read_sgf(sides)) == expected
            assert expected.actions[1] == 25
    assert expected.moves.startswith("c4 swap ")


def test_a_game_that_white_begins_is_mirrored():
    for chance in range(20):
        record = random_record("hex", ("board_size=3x5",), chance, agents=("a", "b"))
        moves = [mirrored(move) for move in record.moves.split()]
        text = as_plays("WB" * 20, moves, "GM[11]SZ[3:5]PW[a]PB[b]")
        if record.outcome is not None:
            text = text.replace("PW", f"RE[{'W' if record.outcome > 0 else 'B'}+]PW")
        if record.actions:
            assert only(read_sgf(text)) == record


def test_a_file_without_the_game_needs_its_name():
    """Little Golem names no game, writes W for PB, who begins, and cells as in Go."""
    text = "(;FF[4]EV[hex.ch]PB[Bill]PW[Ben]SZ[13]RE[B]SO[x];W[am];B[ii];W[de];B[resign])"
    with pytest.raises(ValueError, match=r"line 1: expected a game of hex, gomoku, got GM\[\]"):
        list(read_sgf(text))
    record = only(read_sgf(text, game="hex"))
    assert record.moves == "a13 i9 d5"
    assert (record.outcome, record.reason, record.agents) == (1, "resigned", ("Bill", "Ben"))
    swapped = "(;FF[4]PB[first]PW[other]SZ[11]RE[B];W[ad];B[swap];W[eg];B[resign])"
    record = only(read_sgf(swapped, game="hex"))
    assert record.moves == "a4 swap e7"
    assert (record.outcome, record.agents) == (1, ("first", "other"))


@pytest.mark.parametrize(
    ("text", "moves", "outcome", "reason"),
    [
        ("GM[4]RE[B+R];B[hh];W[hi]", "h8 h7", 1, "resigned"),
        ("GM[4]RE[W+Resign];B[hh]", "h8", -1, "resigned"),
        ("GM[4]RE[w+];B[hh]", "h8", -1, "not played out"),
        ("GM[4]RE[B+T];B[hh]", "h8", 1, "time"),
        ("GM[4]RE[W+F];B[hh]", "h8", -1, "forfeit"),
        ("GM[4]RE[B];B[hh]", "h8", 1, "not played out"),
        ("GM[4]RE[0];B[hh]", "h8", 0, "not played out"),
        ("GM[4]RE[Draw];B[hh]", "h8", 0, "not played out"),
        ("GM[4]RE[?];B[hh]", "h8", None, None),
        ("GM[4]RE[Void];B[hh]", "h8", None, None),
        ("GM[11];B[a1];W[b2];B[resign]", "a1 b2", -1, "resigned"),
        ("GM[11];B[a1];W[forfeit]", "a1", 1, "forfeit"),
    ],
)
def test_results_of_games_without_an_end(text, moves, outcome, reason):
    record = only(read_sgf(f"(;{text})"))
    assert (record.moves, record.outcome, record.reason) == (moves, outcome, reason)


def test_the_main_line_is_taken():
    text = "(;GM[4]SZ[7](;B[aa](;W[bb];B[cc](;W[dd])(;W[ee]))(;W[ff]))(;B[gg]))"
    with pytest.warns(UserWarning, match="3 variations left out"):
        assert only(read_sgf(text)).moves == "a7 b6 c5 d4"


HEXGUI_POSITION = """(;AP[HexGui:0.2]FF[4]GM[11]SZ[4];
AB[a2][b2]
AW[c1][d1]PL[W];W[a1];B[c3])
"""
"""As HexGui saves a position: in the node after the root. White is to move, out of turn."""


def test_a_position_is_a_start(tmp_path):
    record = only(read_sgf(HEXGUI_POSITION))
    assert record.start == StartPosition("..OO/XX../..../....", 1)
    assert record.moves == "a1 c3"
    assert stones(record) == ["O . O O", "X X . .", ". . X .", ". . . ."]
    assert [int(state.ply) % 2 for state in record.states()] == [1, 0, 1]
    assert only(read_sgf(write_sgf([record]))) == record
    save_record(record, tmp_path / "game.json")
    assert load_record(tmp_path / "game.json") == record
    *_, env = record.replay()
    assert cell_owners(env.unwrapped.game, env.unwrapped.state)[0].tolist() == [1, -1, 1, 1]
    again = env.unwrapped.clone()  # another environment begins at the same position
    again.reset(options={"state": env.unwrapped.state})
    assert again.agent_selection == env.agent_selection
    assert len(film_of(record)) == len(replay_data(record)["frames"]) == 3


@pytest.mark.parametrize(
    ("text", "board", "to_play", "warning"),
    [
        ("GM[11]SZ[3]AB[a1]AW[b2]", "X../.O./...", 0, None),
        ("GM[11]SZ[3]AB[a1][c2]AW[b2]", "X../.OX/...", 1, None),
        ("GM[11]SZ[3]AB[a1][c2]", "X../..X/...", 0, "no PL"),
        ("GM[11]SZ[3]AB[a1][c2];PL[white]", "X../..X/...", 1, None),
        ("GM[11]SZ[3]AB[a1];AW[b2]AE[a1];B[c3]", ".../.O./...", 0, None),
        ("GM[11]SZ[3]AB[aa:cb]AE[b1][a2]PL[W]", "X.X/.XX/...", 1, None),
        ("GM[11]SZ[3]AB[cb:aa]AE[b1][a2]PL[W]", "X.X/.XX/...", 1, None),
        ("GM[11]SZ[3]AB[ca:ab]AE[b1][a2]PL[W]", "X.X/.XX/...", 1, None),
        ("GM[11]SZ[3];B[a1];W[c1];AB[b2]PL[W]", "X.O/.X./...", 1, "left out before a set-up: 2"),
        ("GM[4]SZ[5]AB[aa][bb]AW[cc]", "X..../.X.../..O../...../.....", 1, None),
    ],
)
def test_stones_are_set_up(text, board, to_play, warning):
    context = nullcontext() if warning is None else pytest.warns(UserWarning, match=warning)
    with context:
        record = only(read_sgf(f"(;{text})"))
    assert record.start == StartPosition(board, to_play)
    assert only(read_sgf(write_sgf([record]))) == record


def test_the_swap_after_a_stone_that_is_set_up():
    text = "(;GM[11]SZ[3]RU[swap]AB[a3]PL[W];W[swap-pieces];W[b2])"
    record = only(read_sgf(text))
    assert record.moves == "swap b2"
    assert stones(record) == [". . O", ". X .", ". . ."]
    assert only(read_sgf(write_sgf([record]))) == record


@pytest.mark.parametrize("declared", ["", "CA[ISO-8859-1]", "CA[cp1250]", "CA[UTF-8]"])
def test_texts_are_in_the_encoding_that_the_file_says(declared, tmp_path):
    codec = declared[3:-1] or "latin-1"
    path = tmp_path / "game.sgf"
    path.write_bytes(f"(;{declared}GM[11]PB[L\xf6c]PW[Ann])".encode(codec))
    assert only(load_games(path)).agents == ("L\xf6c", "Ann")


@pytest.mark.parametrize("named", ["CA[klingon]", "CA[hex]", "CA[utf-16]", "CA[\0x]"])
def test_an_encoding_that_is_none_is_refused_with_its_line(named, tmp_path):
    path = tmp_path / "game.sgf"
    path.write_bytes(b"(;GM[11]\n" + named.encode() + b"PB[L\xf6c])")
    with pytest.raises(ValueError, match=r"game.sgf: line 2: expected the name of an encoding"):
        load_games(path)


def test_the_rules_of_a_file_of_c_gomoku_cli():
    text = "(;FF[4]GM[4]GN[1]RU[{}]SZ[15]PB[a]PW[b]RE[W+1]TE[x]\n;B[hh]C[opening move];W[hi]C[3ms])"
    assert only(read_sgf(text.format(4))).options == ("rule=renju",)
    assert only(read_sgf(text.format(0))).options == ()
    for rule in (8, "Caro"):
        assert only(read_sgf(text.format(rule))).options == ("rule=caro",)
    with pytest.warns(UserWarning, match="omok"):
        assert only(read_sgf(text.format("Omok"))).options == ()


@pytest.mark.filterwarnings("default")
def test_what_a_file_leaves_out_is_a_line_of_the_command(tmp_path):
    path = tmp_path / "game.sgf"
    path.write_text("(;GM[11];B[a1](;W[b1])(;W[c1]))")
    result = CliRunner().invoke(main, ["convert", str(path), str(tmp_path / "game.json")])
    assert result.exit_code == 0
    assert "warning: game 1 of the SGF: 1 variation left out" in result.stderr


def test_gomoku_of_a_renju_program():
    text = (
        "(;GM[4]FF[4]CA[UTF-8]AP[Some Editor:1.0]ST[0]SZ[15]RU[Renju]PB[Hanako]PW[Taro]\r\n"
        ";B[hh]C[tengen];W[ig]TR[ig];B[ii];W[gg])\r\n"
    )
    record = only(read_sgf(text))
    assert record.moves == "h8 i9 i7 g9"
    assert record.options == ("rule=renju",)
    assert record.agents == ("Hanako", "Taro")


def test_searches_are_written_as_comments(tmp_path):
    record = with_searches(random_record("hex", ("board_size=3",), 3), 3)
    text = written([record], tmp_path / "game.sgf")
    search = record.searches[0]
    said = f"{search.simulations} simulations, value {search.value:+.3f}, {record.moves[:2]}"
    assert f"C[{said}]" in text
    assert only(read_sgf(text)).actions == record.actions


def test_properties_are_read_as_the_format_says():
    ((nodes, _),) = trees("junk (;A[1]\n[2\\]]bBc[x\\\ny];C[a\\:b]) ")
    assert [{key: kept.values for key, kept in node.items()} for node in nodes] == [
        {"A": ["1", "2]"], "B": ["xy"]},
        {"C": ["a:b"]},
    ]
    assert nodes[0]["B"].line == 2


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, r"\(;, got the end"),
        ("nothing", 1, r"\(;, got the end"),
        ("(;GM[11]\n;B[a1]", 2, r"\), got the end"),
        ("(;GM[11]\n;B[a1", 2, "SGF, got '"),
        ("(;GM[11]\n;B;W[a1])", 2, "value"),
        ("(;GM[11]\n;[a1])", 2, "property before"),
        ("(;GM[11]);", 1, r"\(, got ;"),
        ("(;GM[11](B[a1]))", 1, "; before"),
        ("(;GM[11])\n()", 2, "node in every game"),
        ("(;GM[1])", 1, r"GM\[1\]"),
        ("(;GM[11]\nSZ[11:x])", 2, r"SZ\[columns:rows\]"),
        ("(;GM[11]\nSZ[99])", 2, "size from 2 to 19"),
        ("(;GM[11]SZ[3:5]\n;B[a1];W[swap])", 1, "square"),
        ("(;GM[11]SZ[3]\nAB[d4])", 2, "d4"),
        ("(;GM[11]\nAB[a1]\nPL[red])", 3, r"PL\[B\]"),
        ("(;GM[11]\nAB" + "[aa:zz]" * 100 + ")", 2, "at most 10000 stones"),
        ("(;GM[11]" + "\n;AB[aa:zz]" * 100 + ")", 16, "at most 10000 stones"),
        ("(;GM[11]" + ";AE[a1]PL[B];B[a1];AE[a1]PL[W];W[a1]" * 10**3 + ")", 1, "100 set-ups"),
        ("(;GM[11]SZ[2]\nAB[a1][a2]PL[B])", 2, "has won"),
        ("(;GM[4]\nAB[aa][bb])", 2, "2 X and 0 O"),
        ("(;GM[11]\n;B[a1][a2])", 2, "one move"),
        ("(;GM[11]\n;B[a1]W[a2])", 2, "one move"),
        ("(;GM[11];B[a1]\n;B[a2])", 2, "of W, got one of B"),
        ("(;GM[11];B[a1]\n;W[a1])", 2, "a1 is taken"),
        ("(;GM[11];B[a1]\n;W[a12])", 2, "a1 to k11, got 'a12'"),
        ("(;GM[11];B[a1]\n;W[zz])", 2, "11 columns and 11 rows"),
        ("(;GM[11];B[a1]\n;W[])", 2, "a1 to k11, got ''"),
        ("(;GM[11];B[resign]\n;W[a1])", 1, "after resign"),
        ("(;GM[11]SZ[2];B[a1];W[a2];B[b1];W[b2]\n;B[a2])", 2, "illegal action 2"),
        ("(;GM[11]SZ[2]\nRE[W+];B[b1];W[a1];B[b2])", 2, "RE"),
        ("(;GM[11]SZ[2];B[b1];W[a1];B[b2]\n;B[resign])", 2, "after the end"),
        ("(;GM[4]\n;B[h8])", 2, "'h8'"),
        ("(;GM[4]\n;B[])", 2, "got ''"),
        ("(;GM[4]SZ[15]\n;B[pp])", 2, "15 columns and 15 rows"),
    ],
)
def test_a_wrong_sgf_is_refused_with_its_line(text, line, message):
    with pytest.raises(ValueError, match=f"^line {line}: .*{message}"):
        list(read_sgf(text))


@pytest.mark.parametrize(
    ("game", "options", "suffix", "message"),
    [
        ("gomoku", ("opening=swap2",), ".sgf", "without an opening"),
        ("gomoku", ("connect=4",), ".psq", "connect=4"),
        ("tictactoe", (), ".sgf", "for SGF, got tictactoe"),
        ("hex", (), ".psq", "for psq, got hex"),
        ("hex", (), ".txt", "connect4, got one of hex"),
        ("hex", (), ".mp3", "got .mp3"),
    ],
)
def test_what_a_format_cannot_say_is_refused(game, options, suffix, message, tmp_path):
    record = random_record(game, options, 2)
    path = tmp_path / f"game{suffix}"
    with pytest.raises(ValueError, match=message):
        save_games([record], path)
    assert not list(tmp_path.iterdir())


def test_columns_have_no_start(tmp_path):
    start = StartPosition("/".join([7 * "."] * 5 + ["XO....."]), 0)
    record = GameRecord.of("connect4", (), (0, 1), start=start)
    with pytest.raises(ValueError, match="got one from a position"):
        save_games([record], tmp_path / "game.txt")


# ---- psq -----------------------------------------------------------------------------------------

PISKVORK = """Piskvorky 20x15, 11:11, 1
10,8,0
11,8,1234
20,15,3
pbrain-one.exe
pbrain two.zip
-1
1,Standard
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_of_piskvork(end):
    record = read_psq(PISKVORK.replace("\n", end))
    assert record.options == ("board_size=15x20", "rule=standard")
    assert record.actions == (7 * 20 + 9, 7 * 20 + 10, 14 * 20 + 19)
    assert record.moves == "j8 k8 t1"
    assert record.agents == ("pbrain two.zip", "pbrain-one.exe")  # the second player begins
    assert record.seconds == (0, 1.234, 0.003)
    assert (record.outcome, record.reason) == (-1, "not played out")


GOMOCUP = """Piskvorky 15x15, 11:11, 0
8,8,0
9,9,0
{}10,8,1250
8,10,31
ALPHA25.zip
BETA.zip
-1
{}
"""
"""As Gomocup's judge writes: an opening without times, names, -1, the result, the tournament."""


@pytest.mark.parametrize(
    ("opening", "last", "outcome", "rule"),
    [
        ("", "1,Freestyle15_1", 1, "freestyle"),
        ("", "2,Renju", -1, "renju"),
        ("", "0,Fastgame", 0, "freestyle"),
        ("", "2,Standard", -1, "standard"),
        ("", "1,Caro", 1, "caro"),
        ("3,3,0\n", "1,Freestyle15_2", -1, "freestyle"),  # the second player thought first
        ("3,3,0\n", "2,Freestyle15_2", 1, "freestyle"),
    ],
)
def test_a_file_of_gomocup(opening, last, outcome, rule):
    record = read_psq(GOMOCUP.format(opening, last))
    assert record.agents == ("ALPHA25.zip", "BETA.zip")
    assert (record.outcome, record.reason) == (outcome, "not played out")
    assert rule_name(record.rules().rule) == rule
    assert read_psq(write_psq(record)) == record


def test_a_tournament_of_an_unknown_rule_needs_the_rule():
    with pytest.raises(ValueError, match=r"line 9: .*'Omok'.*option rule"):
        read_psq(GOMOCUP.format("", "1,Omok"))
    record = read_psq(GOMOCUP.format("", "1,Autumn"), ("rule=standard",))
    assert (record.outcome, record.options) == (1, ("rule=standard",))


def test_the_rules_count_more_than_the_result_of_a_file():
    moves = "1,1\n1,2\n2,1\n2,2\n3,1\n3,2\n4,1\n4,2\n5,1\n"
    record = read_psq(f"Piskvorky 15x15, 11:11, 0\n{moves}a\nb\n-1\n2,Freestyle\n")
    assert (record.outcome, record.reason) == (1, None)


def test_names_may_be_left_empty():
    record = read_psq("Piskvorky 15x15, 11:11, 0\n8,8,0\n9,9,0\n\n\n0\n")
    assert (record.agents, len(record.actions)) == (("", ""), 2)


def test_piskvorks_number_for_a_timeout_is_read():
    record = read_psq("Piskvorky 15x15, 11:11, 0\n8,8,15\n9,9,5\n7,7,3\na\nb\n15\n")
    assert (record.outcome, record.reason) == (1, "time")


def test_a_timeout_is_kept_with_its_result():
    record = read_psq(GOMOCUP.format("", "1,Freestyle15_1").replace("\n-1\n", "\n15\n"))
    assert (record.outcome, record.reason) == (1, "time")
    assert read_psq(write_psq(record)) == record


def test_moves_without_times_and_with_blanks_are_moves():
    record = read_psq("Piskvorky 15x15, 0:0, 0\n8, 8\n9, 9\n-1\n")
    assert (record.moves, record.agents) == ("h8 i7", ("", ""))


def test_names_of_psq_may_be_in_latin_1(tmp_path):
    path = tmp_path / "game.psq"
    path.write_bytes(b"Piskvorky 15x15, 0:0, 0\n8,8,1\nJos\xe9\nb\n-1\n")
    assert only(load_games(path)).agents == ("Jos\xe9", "b")


def test_psq_of_a_game_by_hand_has_no_names():
    record = read_psq("Piskvorky 15x15, 0:0, 0\n8,8\n9,9,5\n0\n", ("rule=renju",))
    assert (record.moves, record.agents) == ("h8 i7", ("", ""))
    assert record.options == ("rule=renju",)


def test_times_are_kept_to_the_millisecond(tmp_path):
    record = with_searches(random_record("gomoku", ("board_size=7",), 1), 1)
    save_games([record], tmp_path / "game.psq")
    loaded = only(load_games(tmp_path / "game.psq"))
    assert loaded.seconds == record.seconds
    assert (loaded.agents, loaded.moves) == (record.agents, record.moves)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "header .*got ''"),
        ("Gomoku 15x15\n", 1, "header .*'Gomoku 15x15'"),
        ("Piskvorky 15x15, 11:11, 2\n-1\n", 1, "header"),
        ("Piskvorky 99x99, 0:0, 0\n-1\n", 1, "size from 5 to 20"),
        ("Piskvorky 15x15, 0:0, 0\n16,1,0\n-1\n", 2, "1,1 to 15,15"),
        ("Piskvorky 15x15, 0:0, 0\n0,1,0\n-1\n", 2, "1,1 to 15,15"),
        ("Piskvorky 15x15, 0:0, 0\n1,1,0\n1,1,0\n-1\n", 3, "a15 is taken"),
        ("Piskvorky 15x15, 0:0, 0\n1,1,0\n", 3, "got the end of the file"),
        ("Piskvorky 15x15, 0:0, 0\n1;1;0\n-1\n", 2, "'1;1;0'"),
        ("Piskvorky 15x15, 0:0, 0\n8;8\n9;9\n-1\n", 2, "'8;8'"),
        ("Piskvorky 15x15, 0:0, 0\n1,1,0\na\nb\nc\nd\n", 3, "'a'"),
    ],
)
def test_a_wrong_psq_is_refused_with_its_line(text, line, message):
    with pytest.raises(ValueError, match=f"^line {line}: .*{message}"):
        read_psq(text)


# ---- columns -------------------------------------------------------------------------------------


def test_test_sets_of_pons_are_read():
    text = "2252576253462244111563365343671351441 -1\n\n7422341735647741166133573473242566 1\n44\n"
    records = list(read_columns(text))
    assert [len(record.actions) for record in records] == [37, 34, 2]
    assert records[0].moves == "2252576253462244111563365343671351441"
    assert all(record.outcome is None for record in records)


@pytest.mark.parametrize(
    ("text", "options", "line", "message"),
    [
        ("", (), 1, "got an empty file"),
        ("44\n4x\n", (), 2, "move 2 of 2: .*'x'"),
        ("48\n", (), 1, "move 2 of 2: .*from 1 to 7, got '8'"),
        ("4444444\n", (), 1, "move 7 of 7: .*column 4 is full"),
        ("1122334455\n", (), 1, "move 8 of 10: .*the game is over"),
        ("44 3 3\n", (), 1, "'44 3 3'"),
        ("44 x\n", (), 1, "'44 x'"),
        ("1 2 12\n", ("rows=4", "columns=11"), 1, "move 3 of 3: .*from 1 to"),
    ],
)
def test_wrong_columns_are_refused_with_their_line(text, options, line, message):
    with pytest.raises(ValueError, match=f"^line {line}: .*{message}"):
        list(read_columns(text, options))


# ---- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "game", "options"),
    [
        (".sgf", "hex", ("board_size=4", "swap=true")),
        (".psq", "gomoku", ("board_size=6",)),
        (".txt", "connect4", ()),
    ],
)
def test_a_file_cut_off_is_refused_or_read_as_far_as_it_goes(suffix, game, options, tmp_path):
    path, record = tmp_path / f"game{suffix}", random_record(game, options, 4)
    save_games([record], path)
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        try:
            found = list(load_games(path))
        except ValueError as error:
            assert str(error).startswith(f"{path}:"), error  # noqa: PT017
            continue
        assert suffix != ".sgf" or size == len(data) - 1  # the last is a line's end
        for each in found:
            assert each.actions == record.actions[: len(each.actions)]


@pytest.mark.parametrize("suffix", [".sgf", ".psq", ".txt", ".json"])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 1000,
        b"\xff\xfe" + "(;GM[11])".encode("utf-16-le"),
        b"(;" * 200_000,
        b"(;GM[11]" + b"(;B[a1]" * 100_000,
        b"(;GM[11]C[" + b"\\" * 500_001 + b"])",
        b"[" * 500_000,
        b"9" * 500_000,
        b"Piskvorky 15x15, 0:0, 0\n" + b"9" * 500_000 + b",1,0\n-1\n",
        b"Piskvorky " + b"9" * 500_000 + b"x15, 0:0, 0\n-1\n",
        b"(;GM[11]SZ[" + b"9" * 500_000 + b"])",
        b"\n" * 500_000,
        b"(;GM[11]" + b";B[a1]" * 500_000 + b")",
        b"(" * 500_000,
        b"Piskvorky 15x15, 0:0, 0\n" + b"1,1,0\n" * 500_000 + b"-1\n",
    ],
    ids=range(15),
)
def test_what_is_no_game_at_all_is_refused(suffix, data, tmp_path):
    path = tmp_path / f"game{suffix}"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=re.escape(str(path))) as error:
        list(load_games(path))
    assert len(str(error.value)) < 500


# ---- the command ---------------------------------------------------------------------------------


def convert(*words):
    return CliRunner().invoke(main, ["convert", *map(str, words)])


def test_convert_goes_by_the_suffixes(tmp_path):
    record = random_record("gomoku", ("board_size=7",), 1)
    save_record(record, tmp_path / "a.json")
    steps = ["a.json", "b.sgf", "c.psq", "games", "d.sgf", "e.json"]
    for source, target in pairwise(steps):
        result = convert(tmp_path / source, tmp_path / target)
        assert result.exit_code == 0, result.output
        assert result.stderr == f"{tmp_path / target}: 1 game\n"
    assert load_record(tmp_path / "e.json") == record
    assert load_record(tmp_path / "games" / "000001.json") == record


def test_convert_replaces_nothing_unasked(tmp_path):
    source, target = tmp_path / "game.json", tmp_path / "game.sgf"
    good = as_text(random_record("hex", ("board_size=3",), 1))
    other = as_text(random_record("tictactoe", (), 1))
    target.write_text("mine")
    for text, options, code in ((good, [], 1), ("{", ["--force"], 2), (other, ["--force"], 2)):
        source.write_text(text)
        result = convert(source, target, *options)
        assert result.exit_code == code
        assert ("exists already" in result.output) == (not options)
        assert target.read_text() == "mine"
    source.write_text(good)
    assert convert(source, target, "--force").exit_code == 0
    assert target.read_text().startswith("(;FF[4]")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["game.json", "game.sgf"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.json", "x.sgf"], "none.json: No such file"),
        (["two.txt", "x.json"], "one game, got 2"),
        (["two.txt", "x.sgf"], "for SGF, got connect4"),
        (["two.txt", "x.png"], "got .png"),
        (["two.mp3", "x.json"], "got .mp3"),
        (["two.txt", "x.json", "--game", "hex"], "connect4, got hex"),
        (["two.txt", "x", "--option", "columns=1"], "two.txt: line 1: move 1 of 2"),
        ([".", "x.json"], "a directory with records"),
        (["bad.sgf", "x.json"], "bad.sgf: line 1:"),
    ],
)
def test_convert_says_what_is_wrong(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.txt").write_text("44\n45\n")
    (tmp_path / "two.mp3").write_text("44\n45\n")
    (tmp_path / "bad.sgf").write_text("(;GM[11]")
    before = sorted(tmp_path.iterdir())
    result = convert(*words)
    assert result.exit_code != 0
    assert message in result.output
    assert sorted(tmp_path.iterdir()) == before


def test_other_records_do_not_come_among_the_new(tmp_path):
    games, two, one = (tmp_path / name for name in ("games", "two.txt", "one.txt"))
    two.write_text("44\n45\n")
    one.write_text("46\n")
    assert [convert(two, games, *force).exit_code for force in ([], [], ["--force"])] == [0, 1, 0]
    assert [record.moves for record in load_games(games)] == ["44", "45"]
    before = [path.read_bytes() for path in sorted(games.iterdir())]
    result = convert(one, games, "--force")
    assert result.exit_code == 1
    assert "000002.json: would be among the new games" in result.output
    assert [path.read_bytes() for path in sorted(games.iterdir())] == before


def test_a_file_that_a_killed_program_left_is_no_record(tmp_path):
    save_games([random_record("connect4", (), 1)], tmp_path / "games")
    (tmp_path / "games" / ".000002.1a2b3c4d.json").write_text("{")
    assert len(list(load_games(tmp_path / "games"))) == 1


def test_on_a_full_disk_all_stays_as_it_was(tmp_path, monkeypatch):
    games = tmp_path / "games"
    save_games([random_record("connect4", (), chance) for chance in (1, 2)], games)
    before = {path: path.read_bytes() for path in games.iterdir()}
    write = Path.write_text

    def fail(path, *arguments, **options):
        if "000002" in path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(OSError, match="No space left") as error:
        save_games([random_record("connect4", (), chance) for chance in (3, 4)], games, force=True)
    assert error.value.filename == str(games / "000002.json")
    assert {path: path.read_bytes() for path in games.iterdir()} == before


def test_options_of_records_are_their_own(tmp_path):
    save_record(random_record("hex", ("board_size=3",), 1), tmp_path / "game.json")
    for source in ("game.json", "."):
        result = convert(tmp_path / source, tmp_path / "game.sgf", "--option", "swap=true")
        assert result.exit_code == 2
        assert "expected no options for games with their own, got swap=true" in result.output
