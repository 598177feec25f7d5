"""Games in the browser without a browser: the game's logic, the messages, the server."""

import asyncio
import http.client
import importlib.util
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from web_games import ready, send, served, serving, settle, state_of

from agents.core.agent import ForfeitError
from agents.play import session as session_module
from agents.play.session import AbandonedError, Answer
from agents.records import load_record
from agents.registry import agent_classes
from agents.web.choices import allowed_agents, bounded, choices, start
from agents.web.games import FullError, Games, PageQueue, UnknownGameError
from agents.web.protocol import (
    MOST_CHARACTERS,
    Message,
    MessageError,
    Setup,
    parse_message,
    parse_setup,
)

needs_server = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("starlette", "uvicorn", "websockets")),
    reason="the extra web is not installed",
)


class Scripted:
    """An agent that plays, or raises, what it is told."""

    statistics = None

    def __init__(self, *answers):
        self.answers = list(answers)

    def reset(self, seed=None):
        pass

    def act(self, env):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


# ---- a game --------------------------------------------------------------------------------------


def over():
    game = ready(player=Scripted(3, 4))
    for action in (0, 1, 2):
        send(game, "play", action=action)
        settle(game)
    return game


def thinking():
    game = ready(player=Scripted(3))
    send(game, "play", action=0)
    return game


def test_a_game_is_prepared_and_then_the_person_may_move():
    game = served("hex", ["board_size=3"])
    assert game.session.status == "preparing"
    with pytest.raises(MessageError, match="still being prepared"):
        send(game, "play", action=0)
    assert [message["type"] for message in settle(game)] == ["state"]
    board, state = game.greeting()
    assert board["title"] == "hex board_size=3"
    assert board["board"]["svg"].startswith("<svg")
    assert state["status"] == "yours"
    assert list(state["choices"]["cells"]) == list(range(9))
    assert state["frames"][0]["owners"] == "." * 9
    assert json.dumps(state)


def test_a_move_and_the_answer_to_it():
    game = ready(player=Scripted(8))
    (state,) = send(game, "play", action=4)
    assert (state["since"], state["status"]) == (0, "thinking")
    (state,) = settle(game)
    assert (state["since"], state["status"]) == (1, "yours")
    assert [frame["owners"] for frame in state["frames"]] == ["....X....", "....X...O"]
    assert [frame["move"]["text"] for frame in state["frames"]] == ["5", "9"]
    assert 8 not in state["choices"]["cells"]


@pytest.mark.parametrize(
    ("game", "options"),
    [
        ("tictactoe", ()),
        ("connect4", ("rows=4", "columns=4", "connect=3")),
        ("hex", ("board_size=3", "swap=true")),
        ("gomoku", ("board_size=6", "opening=swap2")),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_a_game_to_its_end_is_kept_as_a_record(game, options, side):
    playing = ready(game=game, options=options, side=side)
    rng = random.Random(3)
    while playing.session.status != "over":
        offered = playing.greeting()[-1]["choices"]
        actions = [choice["action"] for choice in offered["cells"].values()]
        actions += [choice["action"] for choice in offered["others"]]
        send(playing, "play", action=rng.choice(actions))
        settle(playing)
    record = playing.record_maker()()
    assert record.game == game
    assert record.options == options
    assert record.agents[side] == "human"
    assert len(list(record.replay())) == playing.ply + 1
    words = {1: ("you win", "random wins"), -1: ("random wins", "you win"), 0: ("a draw",) * 2}
    assert state_of(playing)["result"] == words[record.outcome][side]


def test_the_person_may_be_the_second_player():
    game = ready(side=1, player=Scripted(4))
    assert game.ply == 1
    assert game.names == ("random", "you")
    assert state_of(game)["frames"][1]["owners"] == "....X...."


def test_undo_takes_back_the_own_move_and_the_answer():
    game = ready(player=Scripted(1, 2))
    before = state_of(game)
    send(game, "play", action=0)
    settle(game)
    after = state_of(game)
    send(game, "play", action=4)
    settle(game)
    (state,) = send(game, "undo")
    assert state["since"] == 2
    assert state_of(game) == after
    send(game, "undo")
    assert state_of(game) == before
    with pytest.raises(MessageError, match="no move of yours"):
        send(game, "undo")


def test_undo_while_the_agent_thinks():
    before = state_of(ready())
    game = thinking()
    task = game.session.next_task()
    send(game, "undo")
    assert task.abandoned.is_set()
    assert game.session.next_task() is None  # the agent is still at it
    assert game.finish(task, Answer(1)) == []
    assert state_of(game) == before
    assert game.session.next_task() is None


def test_undo_after_the_end():
    game = over()
    assert state_of(game)["result"] == "you win"
    send(game, "undo")
    assert (game.session.status, game.ply) == ("yours", 4)
    assert state_of(game)["result"] == ""


def test_a_hint_is_what_the_agent_would_play():
    game = ready(agent="uct:simulations=200")
    (state,) = send(game, "hint")
    assert state["is_asked"]
    state = settle(game)[-1]
    assert state["hint"]["text"] == "5"  # the centre
    assert state["hint"]["cell"] == 4
    assert state["frames"][-1]["search"]["simulations"] == 200
    send(game, "play", action=4)
    assert state_of(game)["hint"] is None
    assert game.record_maker()().searches == ()  # the person chose


def test_a_move_while_the_agent_looks_for_a_hint():
    game = ready(player=Scripted(3))
    send(game, "hint")
    task = game.session.next_task()
    send(game, "play", action=0)
    assert game.finish(task, Answer(8)) == []
    settle(game)
    state = state_of(game)
    assert (state["frames"][-1]["owners"], state["hint"]) == ("X..O.....", None)


def test_a_hint_to_swap_marks_no_cell():
    swap = 9
    options = ["board_size=3", "swap=true"]
    game = ready(game="hex", options=options, side=1, player=Scripted(4, swap))
    send(game, "hint")
    hint = settle(game)[-1]["hint"]
    assert (hint["action"], hint["text"], hint["cell"]) == (swap, "swap", None)


def test_resigning():
    game = thinking()
    task = game.session.next_task()
    send(game, "resign")
    assert task.abandoned.is_set()
    state = state_of(game)
    assert (state["status"], state["result"]) == ("over", "random wins (resigned)")
    record = game.record_maker()()
    assert (record.outcome, record.reason) == (-1, "resigned")


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (4, "you win (illegal action 4)"),
        ("x", "you win (illegal action 'x')"),
        (ForfeitError("too late"), "you win (forfeit: too late)"),
    ],
)
def test_an_agent_that_breaks_the_rules_loses(answer, result):
    game = ready(player=Scripted(answer))
    send(game, "play", action=4)
    settle(game)
    assert state_of(game)["result"] == result


def test_an_agent_that_fails_may_try_again():
    game = ready(player=Scripted(RuntimeError("no memory"), 1))
    send(game, "play", action=4)
    settle(game)
    assert state_of(game)["error"] == "RuntimeError: no memory"
    assert game.session.status == "failed"
    send(game, "retry")
    settle(game)
    assert (game.session.status, game.ply) == ("yours", 2)


@pytest.mark.parametrize(
    ("make", "message", "why"),
    [
        (ready, {"type": "play", "action": 9, "ply": 0}, "illegal action 9"),
        (ready, {"type": "play", "action": 0, "ply": 1}, "the game has gone on"),
        (ready, {"type": "retry", "ply": 0}, "nothing to try again"),
        (thinking, {"type": "play", "action": 1, "ply": 1}, "not your turn"),
        (thinking, {"type": "hint", "ply": 1}, "not your turn"),
        (over, {"type": "play", "action": 8, "ply": 5}, "the game is over"),
        (over, {"type": "hint", "ply": 5}, "the game is over"),
        (over, {"type": "resign", "ply": 5}, "no game to resign"),
    ],
)
def test_what_cannot_be_done_changes_nothing(make, message, why):
    game = make()
    before = state_of(game)
    with pytest.raises(MessageError, match=why):
        game.handle(Message(**message))
    assert state_of(game) == before


def test_clocks_count_the_time_of_both():
    now = [0.0]
    game = ready(player=Scripted(3), clock=lambda: now[0])
    now[0] = 5.0
    assert game.greeting()[-1]["turn"] == 5.0
    send(game, "play", action=0)
    assert game.greeting()[-1]["seconds"][0] == 5.0
    assert game.greeting()[-1]["turn"] == 0.0
    settle(game)
    assert game.record_maker()().seconds[0] == 5.0


def test_moves_without_a_cell_are_offered_as_buttons():
    game = ready(game="hex", options=["board_size=3", "swap=true"], side=1, player=Scripted(1))
    assert state_of(game)["choices"]["others"] == [{"action": 9, "text": "swap"}]


def test_a_column_is_chosen_by_any_of_its_cells():
    game = ready(game="connect4", player=Scripted(3))
    send(game, "play", action=3)
    settle(game)
    cells = state_of(game)["choices"]["cells"]
    assert {cell: choice["action"] for cell, choice in cells.items()} == {
        cell: cell % 7 for cell in range(42)
    }
    assert cells[3]["cell"] == 3 * 7 + 3  # on top of two stones


# ---- searches ------------------------------------------------------------------------------------


def test_a_search_is_shown_while_it_runs(monkeypatch):
    monkeypatch.setattr(session_module, "REPORT_SECONDS", 0.0)
    game = served(agent="uct:simulations=3000", side=1)
    messages = settle(game)
    shown = [message for message in messages if message["type"] == "search"]
    counts = [message["search"]["simulations"] for message in shown]
    assert counts == sorted(counts)
    assert counts[-1] <= 3000
    first = shown[0]["search"]
    assert sum(action["visits"] for action in first["actions"]) > 0
    assert {action["cell"] for action in first["actions"]} <= set(range(9))
    assert first["line"][0]["player"] == 0
    final = messages[-1]["frames"][0]["search"]
    assert final["simulations"] == 3000
    assert final["actions"][0]["visits"] >= final["actions"][1]["visits"]


def test_a_search_that_nobody_waits_for_ends():
    game = ready(game="hex", options=["board_size=5"], agent="uct:simulations=200000")
    send(game, "play", action=0)
    task = game.session.next_task()
    task.abandoned.set()
    with pytest.raises(AbandonedError):
        task.run(lambda search: None)


def test_an_opening_is_shown_without_searches():
    options = ["board_size=6", "opening=swap2"]
    game = served("gomoku", options, agent="greedy", side=1)
    settle(game)
    assert game.ply == 3
    assert all(frame["search"] is None for frame in state_of(game)["frames"])
    assert [other["text"] for other in state_of(game)["choices"]["others"]] == ["swap", "place_two"]
    assert state_of(game)["question"]


# ---- what may be asked for -----------------------------------------------------------------------

NOT_FOR_PAGES = {"anet", "gomocup", "gumbel", "htp", "puct", "rllib", "sb3"}
"""Agents that take a policy, a path or a command."""


NEED_A_NETWORK = {"alphazero", "network"}


@pytest.mark.parametrize("has_torch", [True, False])
def test_agents_that_need_nothing_from_outside_may_be_started(monkeypatch, has_torch):
    monkeypatch.setattr("agents.web.choices.find_spec", lambda name: has_torch or None)
    left_out = NOT_FOR_PAGES if has_torch else NOT_FOR_PAGES | NEED_A_NETWORK
    assert set(allowed_agents()) == set(agent_classes()) - left_out


@pytest.mark.parametrize(
    "text",
    [
        "sb3:path=model.zip", "gomocup:command=rm", "htp:command=rm", "os.system:command=true",
        "uct:simulations=1000000000", "uct:simulations=-1", "uct:seconds=nan", "uct:seconds=1e9",
        "uct:max_nodes=100000000", "uct:workers=1000", "uct:route=environment", "uct:simulations",
        "uct:final_move=visits", "uct:seed=1", "solver:book=/etc/passwd",
        "alphazero:net=/etc/passwd", "network:net=../hex5", "nrpa:code=os.system", "", ":",
    ],
)  # fmt: skip
def test_agents_that_pages_may_not_start(text):
    with pytest.raises(ValueError, match="expected"):
        start(Setup("tictactoe", (), text, 0))


@pytest.mark.parametrize("game", ["os:system", "hexenv.hex_v0:env", "go", "", "json:loads"])
def test_games_that_pages_may_not_start(game):
    with pytest.raises(ValueError, match="expected a game of"):
        start(Setup(game, (), "random", 0))


def test_every_budget_is_bounded():
    assert bounded("random") == "random"
    assert bounded("uct") == "uct:seconds=1.0,max_nodes=1000000"
    assert bounded("uct:simulations=5") == "uct:simulations=5,seconds=30.0,max_nodes=1000000"
    assert bounded("alphabeta:depth=3") == "alphabeta:depth=3,seconds=30.0"
    assert bounded("solver") == "solver:seconds=1.0"


def test_who_starts_the_server_may_offer_any_agent():
    text = "uct:simulations=7,workers=2"
    with pytest.raises(ValueError, match="workers"):
        start(Setup("tictactoe", (), text, 0))
    _, agent = start(Setup("tictactoe", (), text, 0), extra=[text])
    assert agent.workers == 2
    assert choices([text])["agents"][0] == {"name": text, "parameters": []}


def test_what_is_offered_can_be_started():
    offered = choices()
    for game, options in offered["games"].items():
        pairs = [f"{key}={option['default']}" for key, option in options.items()]
        assert start(Setup(game, tuple(pairs), "random", 0))
    for agent in offered["agents"]:
        if agent["name"] not in NEED_A_NETWORK:
            assert start(Setup("hex", (), agent["name"], 0))


# ---- messages ------------------------------------------------------------------------------------

GOOD_SETUP = {"game": "hex", "options": ["board_size=3"], "agent": "random", "side": 0, "seed": 1}


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "3", '"play"', "{}", '{"type": "play"}', "[" * 4000,
        '{"type": "play", "action": 1.0, "ply": 0}', '{"type": "play", "action": true, "ply": 0}',
        '{"type": "play", "action": "1", "ply": 0}', '{"type": "play", "action": -1, "ply": 0}',
        '{"type": "play", "action": NaN, "ply": 0}', '{"type": "play", "action": 1e400, "ply": 0}',
        '{"type": "play", "action": 1, "ply": 0, "more": 1}', '{"type": ["play"], "ply": 0}',
        '{"type": "__class__", "ply": 0}', '{"type": "undo"}', '{"type": "undo", "ply": null}',
        '{"type": "undo", "ply": 99999999999999999999}', b"\xff\xfe\x00", "x" * 100_000,
    ],
)  # fmt: skip
def test_bad_messages_are_refused(text):
    with pytest.raises(MessageError):
        parse_message(text)


@pytest.mark.parametrize(
    "change",
    [
        {"game": 3}, {"game": None}, {"options": "board_size=3"}, {"options": [3]},
        {"options": ["a"] * 17}, {"agent": ["random"]}, {"side": 2}, {"side": True}, {"side": "0"},
        {"seed": -1}, {"seed": 0.5}, {"seed": True}, {"more": 1},
    ],
)  # fmt: skip
def test_bad_setups_are_refused(change):
    assert parse_setup(json.dumps(GOOD_SETUP)).options == ("board_size=3",)
    with pytest.raises(MessageError):
        parse_setup(json.dumps({**GOOD_SETUP, **change}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a":' * 500 + "1" + "}" * 500, "levels"),
        ('{"type": "undo", "ply": 0, "action": ' + "[" * 900 + "]" * 900 + "}", "levels"),
        ('{"type": "undo", "type": "hint", "ply": 0}', "'type' twice"),
        ('{"type": "undo", "ply": NaN}', "NaN"),
        ('{"type": "undo", "ply": 0, "action": 1}', "no action for other types, got 1"),
        ('{"type": "play", "ply": 0}', "an action for play"),
        ("undo", "JSON"),
        (b"\xff", "JSON"),
    ],
)
def test_hostile_json_is_a_refused_message(text, message):
    for parse in (parse_message, parse_setup) if "action" not in message else (parse_message,):
        with pytest.raises(MessageError, match=message):
            parse(text)


def test_fuzzed_messages_do_what_they_say_or_nothing():
    """Every state is one that moves have led to, whatever is sent."""
    rng = random.Random(7)
    kinds = ["undo", "hint", "resign", "retry"]
    game = ready()
    values = [0, 1, 4, 8, 9, -1, 2**40, True, None, 0.5, "0", [], {}, "\ud800"]
    for _ in range(600):
        kind = rng.choice([*kinds, "play", "play", "play", "stop", "", None])
        message = {"type": kind, "ply": rng.choice([game.ply, game.ply, rng.choice(values)])}
        if rng.random() < 0.8:
            message["action"] = rng.choice(values)
        text = json.dumps(message)
        if rng.random() < 0.3:
            cut = rng.randrange(len(text))
            text = text[:cut] + rng.choice(["", "}", '"', "\x00"]) + text[cut + 1 :]
        before = state_of(game)
        try:
            parsed = parse_message(text)
            game.handle(parsed)
        except MessageError:
            assert state_of(game) == before
        settle(game)
        assert game.record_maker()().replay()
        if game.session.status == "over":
            game = ready()


# ---- several games -------------------------------------------------------------------------------


def setup_of(**changes):
    return parse_setup(json.dumps({**GOOD_SETUP, **changes}))


def test_games_are_forgotten_when_nobody_looks():
    async def run():
        now = [0.0]
        games = Games(max_games=2, idle_seconds=100.0, clock=lambda: now[0])
        first = await games.create(setup_of())
        page = games.room(first).join()
        now[0] = 10.0
        second = await games.create(setup_of())
        now[0] = 60.0
        third = await games.create(setup_of())  # replaces the second, as the first has a page
        with pytest.raises(UnknownGameError):
            games.room(second)
        other = games.room(third).join()
        with pytest.raises(FullError, match="2 games"):
            await games.create(setup_of())
        games.room(first).leave(page)
        now[0] = 161.0
        with pytest.raises(UnknownGameError):
            games.room(first)
        assert games.room(third).pages == {other}
        assert len(games) == 1
        games.close()
        assert len(games) == 0

    asyncio.run(run())


def test_an_agent_that_comes_when_there_is_no_room_any_more_is_closed(monkeypatch):
    closed = []

    async def run():
        games = Games(max_games=1)
        table = games.room(await games.create(setup_of()))

        def start_slowly(setup, extra):
            env, agent = start(setup, extra)
            agent.close = lambda: closed.append(agent)
            table.pages.add(PageQueue())  # meanwhile somebody looks at the only game that could go
            return env, agent

        monkeypatch.setattr("agents.web.games.start", start_slowly)
        with pytest.raises(FullError):
            await games.create(setup_of())
        assert len(games) == 1

    asyncio.run(run())
    assert len(closed) == 1


@pytest.mark.parametrize("error", [OSError("no file"), ImportError("no torch"), ValueError("no")])
def test_an_agent_that_cannot_be_started_is_told_to_the_page(monkeypatch, error):
    def fail(setup, extra):
        raise error

    monkeypatch.setattr("agents.web.games.start", fail)
    with pytest.raises(MessageError, match=str(error)):
        asyncio.run(Games().create(setup_of()))


def test_a_page_that_takes_no_messages_is_lost():
    async def run():
        games = Games()
        page = games.room(await games.create(setup_of())).join()
        page.send([{"type": "error", "error": ""}] * 300)
        assert page.is_lost
        games.close()

    asyncio.run(run())


def test_two_agents_think_at_the_same_time_and_the_loop_goes_on(monkeypatch):
    together = threading.Barrier(3, timeout=60)

    class Waiting(Scripted):
        def act(self, env):
            together.wait()
            return 8

    monkeypatch.setattr("agents.web.games.start", lambda setup, extra: _with(Waiting(), setup))

    async def run():
        games = Games(threads=2)
        tables = [games.room(await games.create(setup_of(side=1))) for _ in range(2)]
        for table in tables:
            table.join()
        await asyncio.to_thread(together.wait)  # the third: both agents are at it
        while any(table.game.session.status != "yours" for table in tables):
            await asyncio.sleep(0.01)
        assert [table.game.ply for table in tables] == [1, 1]
        games.close()

    asyncio.run(asyncio.wait_for(run(), 120))


def _with(agent, setup):
    return start(setup)[0], agent


# ---- the server ----------------------------------------------------------------------------------


def request(port, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode(), dict(answer.headers)
    connection.close()
    return found


def new_game(port, **changes):
    body = json.dumps({**GOOD_SETUP, **changes})
    status, text, _ = request(port, "POST", "/games", body, Content_Type="application/json")
    assert status == 201, text
    return json.loads(text)["id"]


def connect(port, name, **options):
    from websockets.sync.client import connect as open_socket

    return open_socket(f"ws://127.0.0.1:{port}/games/{name}/socket", **options)


def receive_until(connection, is_wanted):
    while True:
        message = json.loads(connection.recv(timeout=60))
        if is_wanted(message):
            return message


def is_yours(message):
    return message["type"] == "state" and message["status"] == "yours"


@pytest.fixture(scope="module")
def port():
    pytest.importorskip("starlette", reason="the extra web is not installed")
    with serving() as (port, _):
        yield port


@needs_server
def test_a_game_over_the_websocket_and_again_after_a_break(port, tmp_path):
    name = new_game(port)
    with connect(port, name) as connection:
        assert json.loads(connection.recv(timeout=60))["type"] == "board"
        receive_until(connection, is_yours)
        connection.send('{"type": "play", "action": 4, "ply": 0}')
        state = receive_until(connection, is_yours)
        played = state["frames"][-1]["owners"]
    with connect(port, name) as connection:
        state = receive_until(connection, is_yours)
        assert state["since"] == 0
        assert state["frames"][-1]["owners"] == played
        assert played.count("X") == 1
    status, text, headers = request(port, "GET", f"/games/{name}/record.json")
    assert status == 200
    assert "attachment" in headers["content-disposition"]
    (tmp_path / "record.json").write_text(text, encoding="utf-8")
    record = load_record(tmp_path / "record.json")
    assert record.actions[0] == 4
    assert record.agents == ("human", "random")
    status, text, _ = request(port, "GET", f"/games/{name}/replay")
    assert status == 200
    assert text.startswith("<!DOCTYPE html>")


@needs_server
def test_two_pages_of_one_game_see_the_same(port):
    name = new_game(port)
    with connect(port, name) as one, connect(port, name) as other:
        for connection in (one, other):
            receive_until(connection, is_yours)
        one.send('{"type": "play", "action": 4, "ply": 0}')
        states = [receive_until(connection, is_yours) for connection in (one, other)]
        assert states[0]["frames"] == states[1]["frames"]


@needs_server
def test_what_is_wrong_is_told_to_its_sender_alone(port):
    name = new_game(port)
    with connect(port, name) as one, connect(port, name) as other:
        receive_until(one, is_yours)
        receive_until(other, is_yours)
        illegal = '{"type": "play", "action": 99, "ply": 0}'
        for text in ("{", "x" * (MOST_CHARACTERS + 1), illegal, b"\xff"):
            one.send(text)
            assert json.loads(one.recv(timeout=60))["type"] == "error"
        with pytest.raises(TimeoutError):
            other.recv(timeout=0.05)
        one.send('{"type": "play", "action": 4, "ply": 0}')
        assert receive_until(one, is_yours)["frames"][-1]["owners"].count("X") == 1


@needs_server
def test_a_huge_message_ends_the_connection_and_nothing_else(port):
    from websockets.exceptions import ConnectionClosed

    name = new_game(port)
    with connect(port, name) as connection:
        receive_until(connection, is_yours)
        with pytest.raises(ConnectionClosed):  # noqa: PT012
            connection.send("x" * 1_000_000)
            for _ in range(10):
                connection.recv(timeout=60)
    with connect(port, name) as connection:
        assert receive_until(connection, is_yours)["frames"][-1]["owners"] == "." * 9


@needs_server
def test_a_game_that_is_not_there(port):
    from websockets.exceptions import ConnectionClosed

    with connect(port, "nothing") as connection:
        assert json.loads(connection.recv(timeout=60))["type"] == "gone"
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(timeout=60)
        assert closed.value.rcvd.code == 4404
    for path in ("", "/record.json", "/replay"):
        assert request(port, "GET", f"/games/nothing{path}")[0] == 404


@needs_server
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 415),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/json"}, 201),
        ({"Content_Type": "application/json", "Origin": "http://evil.example"}, 403),
        ({"Content_Type": "application/json", "Origin": "null"}, 403),
        ({"Content_Type": "application/json", "Host": "evil.example"}, 403),
        ({"Content_Type": "application/json", "Host": "evil.example:8000"}, 403),
        ({"Content_Type": "application/json", "Host": "localhost:1"}, 201),
        ({"Content_Type": "application/json", "Host": "127.0.0.1.evil.example"}, 403),
    ],
)
def test_who_may_begin_a_game(port, headers, status):
    assert request(port, "POST", "/games", json.dumps(GOOD_SETUP), **headers)[0] == status


@needs_server
@pytest.mark.parametrize(
    ("host", "is_own"),
    [
        ("localhost", True), ("LOCALHOST:8000", True), ("127.0.0.1:8000", True), ("[::1]", True),
        ("[::1]:8000", True), ("192.168.1.2:8000", True), ("box:8000", True), ("box.local", False),
        ("", False), (":8000", False), ("evil.example", False), ("localhost.evil.example", False),
        ("127.0.0.1.evil.example:80", False), ("127.0.0.1@evil.example", False),
    ],
)  # fmt: skip
def test_hosts_that_name_this_machine(host, is_own):
    from agents.web.server import is_own_host

    assert is_own_host(host, frozenset({"box"})) == is_own


@needs_server
def test_a_page_of_another_site_gets_no_socket(port):
    from websockets.exceptions import InvalidStatus

    name = new_game(port)
    with pytest.raises(InvalidStatus, match="403"):
        connect(port, name, origin="http://evil.example")
    with connect(port, name, origin=f"http://127.0.0.1:{port}") as connection:
        receive_until(connection, is_yours)


@needs_server
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"game": "go"}, "a game of"),
        ({"options": ["board_size=99"]}, "board size"),
        ({"options": ["komi=7"]}, "expected an option of"),
        ({"agent": "htp:command=rm"}, "expected an agent of"),
        ({"agent": "uct:simulations=0"}, "expected simulations"),
        ({"side": 3}, "expected side"),
    ],
)
def test_games_that_cannot_begin_say_why(port, change, why):
    body = json.dumps({**GOOD_SETUP, **change})
    status, text, _ = request(port, "POST", "/games", body, Content_Type="application/json")
    assert status == 400
    assert why in json.loads(text)["error"]
    long = "x" * 1_000_000
    assert request(port, "POST", "/games", long, Content_Type="application/json")[0] == 413


@needs_server
def test_the_page_may_load_nothing_and_be_framed_nowhere(port):
    status, text, headers = request(port, "GET", "/")
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "script-src 'sha256-" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


@needs_server
def test_the_command_serves_until_it_is_interrupted():
    command = [sys.executable, "-m", "agents.cli", "serve", "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        line = run.stdout.readline()
        address = line.split("http://")[1].split()[0]
        port = int(address.rpartition(":")[2])
        assert request(port, "GET", "/")[0] == 200
        name = new_game(port, agent="uct:simulations=200000", side=1)
        with connect(port, name) as connection:
            connection.recv(timeout=60)
            run.send_signal(signal.SIGINT)
            time.sleep(0.05)
            run.send_signal(signal.SIGINT)  # of somebody who cannot wait
            output, errors = run.communicate(timeout=60)
        assert run.returncode == 0
        assert output == "stopped\n"
        assert "Traceback" not in errors


@needs_server
def test_the_command_says_what_is_wrong():
    from click.testing import CliRunner

    from agents.cli import main

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(main, ["serve", "--port", port])
        assert result.exit_code == 1
        assert f"127.0.0.1:{port}" in result.output
    result = CliRunner().invoke(main, ["serve", "--agent", "nobody"])
    assert result.exit_code == 2
    assert "expected an agent of" in result.output


@needs_server
def test_serving_others_is_warned_of(monkeypatch):
    from click.testing import CliRunner

    from agents.cli import main

    monkeypatch.setattr("agents.cli.serve._run", lambda app, listening: listening.close())
    result = CliRunner().invoke(main, ["serve", "--host", "0.0.0.0", "--port", "0"])
    assert "warning: 0.0.0.0 is reached by other machines" in result.output
    result = CliRunner().invoke(main, ["serve", "--port", "0"])
    assert "warning" not in result.output
