"""The analysis board without a browser: positions, what is pasted, and agents that go on."""

import base64
import json
import queue
import time
from pathlib import Path

import pytest
from web_games import serving

from agents.apps.web.choices import NOTHING_MORE, Offer, choices
from agents.apps.web.desk import Desk, Kept, Look, Start, explained
from agents.apps.web.protocol import MessageError, parse
from agents.records import GameRecord
from agents.records.explorer import Explorer
from agents.records.files import as_text
from agents.records.psq import write_psq
from agents.records.sgf import write_sgf
from agents.records.variations import Variation
from agents.solvers import solver
from hexenv import connect4_v0

SOON = 30.0


class Page:
    """What a page gets."""

    def __init__(self, offer=NOTHING_MORE):
        self.got = queue.Queue()
        self.desk = Desk(self.got.put, offer)

    def ask(self, number=1, game="tictactoe", options=(), **more):
        self.desk.answer(Look(number, game, tuple(options), **more))

    def next(self, kind):
        """The next message of a kind."""
        end = time.monotonic() + SOON
        while True:
            message = self.got.get(timeout=max(0.01, end - time.monotonic()))
            json.dumps(message)
            if message["type"] == kind:
                return message


@pytest.fixture
def page():
    page = Page()
    yield page
    page.desk.close()


def test_a_position_has_the_frames_that_the_page_lacks(page):
    page.ask(moves=(4, 0, 8), since=2)
    found = page.next("position")
    assert [frame["owners"] for frame in found["frames"]] == ["O...X....", "O...X...X"]
    assert sorted(map(int, found["choices"]["cells"])) == [1, 2, 3, 5, 6, 7]
    assert found["about"] is None  # it knows the board
    page.ask()
    assert page.next("position")["about"]["columns"] == 3


def test_a_game_begins_where_stones_were_placed(page):
    page.ask(start=Start("X../.O./...", 0))
    assert page.next("position")["frames"][0]["owners"] == "X...O...."


@pytest.mark.parametrize(
    "more",
    [
        {"moves": (9,)},
        {"moves": (4, 4)},
        {"moves": (0, 3, 1, 4, 2, 5)},
        {"game": "module:game"},
        {"options": ("no_option=1",)},
        {"agents": ("uct:simulations=1000000000",)},
        {"agents": ("module.Class",)},
        {"text": "z9"},
        {"text": "#11c1,a1zz"},
        {"text": "(;FF["},
        {"text": "X.."},
    ],
)
def test_what_is_not_possible_is_refused(page, more):
    page.ask(**more)
    assert "expected" in page.next("error")["error"]


@pytest.mark.parametrize("text", ["{}", "[]", "", '{"number": -1, "game": "hex", "options": []}'])
def test_other_messages_are_refused(text):
    with pytest.raises(MessageError):
        parse(text, Look, complete=True)


def test_a_game_of_ones_own_is_analysed(page, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "examples" / "games")
    own = "othello:env"
    page.ask(game=own)
    assert "expected a game" in page.next("error")["error"]
    offer = Offer(games=(own,))
    assert choices(offer)["games"][own]["opponents"][0]["agent"] == "uct:simulations=10"
    page.desk = Desk(page.got.put, offer)
    page.ask(game=own, agents=("uct",))
    assert page.next("position")["about"]["title"]
    assert page.next("search")["lines"]


def test_the_page_shows_what_was_played(page):
    games = [
        GameRecord.of("tictactoe", (), line) for line in ((4, 0, 2, 1, 6), (0, 4, 2), (2, 4, 0))
    ]
    page.desk = Desk(page.got.put, explorer=Explorer(games))
    page.ask(moves=(0, 4))
    assert page.next("position")["played"] == [
        {"action": 2, "games": 1, "score": None, "text": "3"}
    ]
    page.ask(moves=(4,))
    assert page.next("position")["played"] == [{"action": 0, "games": 1, "score": 0.0, "text": "1"}]
    page.ask(moves=(2, 4, 0))  # two games came here, and neither went on
    assert page.next("position")["played"] == []


def test_the_search_goes_on_until_the_next_question(page):
    page.ask(moves=(4,), agents=("uct",))
    first = page.next("search")
    assert (first["number"], first["place"]) == (1, 0)
    assert first["lines"][0]["move"] in {line["text"] for line in first["search"]["actions"]}
    page.ask(number=2, moves=(4, 0))
    assert page.next("done")["number"] == 1


def test_a_win_that_is_seen_is_told(page):
    page.ask(game="hex", options=("board_size=4",), moves=(5, 0, 9), agents=("uct",))
    found = page.next("win")
    assert (found["player"], found["line"]) == (0, [])
    page.ask(game="gomoku", moves=(112, 0, 113, 1, 114, 2), agents=("uct",))
    found = page.next("win")
    assert (found["player"], len(found["line"])) == (0, 3)


def test_two_agents_search_side_by_side(page):
    page.ask(game="connect4", moves=(3, 3, 4), agents=("uct", "greedy"))
    assert {page.next("search")["place"] for _ in range(20)} == {0, 1}


def test_the_solver_tells_the_exact_values(page):
    env = connect4_v0.env(rows=4, columns=5)
    env.reset(options={"moves": "33"})
    page.ask(
        game="connect4",
        options=("rows=4", "columns=5"),
        moves=tuple(env.unwrapped.actions),
        agents=("solver",),
    )
    found = page.next("search")
    while len(found["search"]["actions"]) < 5:
        found = page.next("search")
    exact = {one["action"]: one["value"] for one in found["search"]["actions"]}
    for action, value in exact.items():
        after = env.clone()
        after.step(action)
        assert value == -solver.value(after)


def test_a_closed_desk_searches_no_more(page):
    page.ask(agents=("uct",))
    page.next("search")
    page.desk.close()
    page.next("done")
    page.ask(number=2)
    with pytest.raises(queue.Empty):
        page.got.get(timeout=0.1)


# ---- what is pasted ------------------------------------------------------------------------------

HEX = GameRecord.of("hex", ("board_size=5",), (12, 6, 7))
GOMOKU = GameRecord.of("gomoku", (), (112, 113, 97))


@pytest.mark.parametrize(
    ("game", "text", "wanted"),
    [
        ("connect4", "4453", ("connect4", [3, 3, 4, 2])),
        ("hex", "c3 b2", ("hex", [24, 12])),
        ("hex", "https://hexworld.org/board/#5c1,c3b2", ("hex", [12, 6])),
        ("hex", "https://hexworld.org/board/#5nc1,b2:sc3", ("hex", [6, 25, 12])),
        ("hex", write_sgf([HEX]), ("hex", list(HEX.actions))),
        ("hex", "(;GM[11]SZ[3]C[https://hexworld.org/board/#5c1,c3b2];B[b2])", ("hex", [4])),
        ("hex", write_psq(GOMOKU), ("gomoku", list(GOMOKU.actions))),
        ("tictactoe", "X.O\n.X.\n...", ("tictactoe", [])),
        ("connect4", as_text(GOMOKU), ("gomoku", list(GOMOKU.actions))),
        (
            "hex",
            '{"boardXSize": 3, "initialStones": [["B", "a1"]], "moves": [["W", "b2"]], '
            '"boardYSize": 3}',
            ("hex", [4]),
        ),
    ],
)
def test_a_text_is_read_as_a_game(page, game, text, wanted):
    page.ask(game=game, text=text)
    found = page.next("tree")
    moves = tuple(action for _, action, *_ in found["moves"])
    assert (found["game"], list(moves)) == wanted
    assert (found["start"] is not None) == ("X" in text or "initialStones" in text)
    page.ask(game=found["game"], options=found["options"], moves=moves)
    assert page.next("position")


def test_a_tree_is_saved_and_read_again(page):
    moves = (Variation(-1, 4, "centre ]"), Variation(0, 0, "", "TE[1]"), Variation(0, 8, "or this"))
    page.ask(game="hex", options=("board_size=3",), save=Kept(moves, "start"))
    file = page.next("file")
    assert file["name"] == "hex.sgf"
    page.ask(game="gomoku", text=file["text"])
    found = page.next("tree")
    assert (found["game"], list(found["options"])) == ("hex", ["board_size=3"])
    assert [tuple(move) for move in found["moves"]] == [
        (m.parent, m.action, m.comment, m.rest) for m in moves
    ]
    assert found["comment"] == "start"
    page.ask(game="connect4", save=Kept(moves[:1]))
    page.ask(game="hex", text=page.next("file")["text"])
    found = page.next("tree")
    assert (found["game"], list(found["moves"])) == ("connect4", [[-1, 4, "", ""]])
    page.ask(save=Kept(moves[:2], film=True))
    assert base64.b64decode(page.next("file")["base64"])[:4] == b"GIF8"
    for bad in (Kept((Variation(-1, 4000),)), Kept((Variation(-1, 4), Variation(0, 4)))):
        page.ask(save=bad)
        assert "4" in page.next("error")["error"]


def test_a_search_is_explained_from_the_board():
    assert "<title>tictactoe after 51" in explained(Look(0, "tictactoe", (), (4, 0)))
    for look in (
        Look(0, "tictactoe", (), (4, 4)),
        Look(0, "tictactoe", (), (), agents=("solver",)),
    ):
        with pytest.raises(ValueError, match="expected"):
            explained(look)


# ---- over HTTP -----------------------------------------------------------------------------------


def test_a_page_that_goes_away_ends_its_search():
    websockets = pytest.importorskip("websockets.sync.client")
    with serving(max_games=1) as (port, _):
        address = f"ws://127.0.0.1:{port}/analysis/socket"
        with websockets.connect(address) as socket:
            socket.send("nonsense")
            assert json.loads(socket.recv())["type"] == "error"
            question = {"number": 1, "game": "tictactoe", "options": [], "agents": ["uct"]}
            socket.send(json.dumps(question))
            assert json.loads(socket.recv())["type"] == "position"
            with websockets.connect(address) as other, pytest.raises(Exception, match="1013"):
                other.recv()  # no more pages than games
        end = time.monotonic() + SOON
        while time.monotonic() < end:
            try:
                with websockets.connect(address) as socket:
                    socket.send(json.dumps({**question, "agents": []}))
                    assert json.loads(socket.recv())["type"] == "position"
                return
            except Exception:
                time.sleep(0.05)
        raise AssertionError("expected room for a page after another has gone")
