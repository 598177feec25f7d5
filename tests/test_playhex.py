"""The calls that playhex.org makes to its engines."""

import http.client
import json

import pytest
from web_games import serving

from agents.apps.web.playhex import HexService
from agents.solvers import solver
from hexenv import hex_v0


@pytest.fixture(scope="module")
def service():
    return HexService("solver", seconds=60.0)


def asked(history, size=4, player="black", swap=False, **ai):
    game = {"size": size, "movesHistory": history, "currentPlayer": player, "swapRule": swap}
    return json.dumps({"game": game, "ai": {"engine": "mohex", **ai}}).encode()


def at(history, swap=False):
    env = hex_v0.env(board_size=4, swap=swap)
    env.reset(options={"moves": history})
    return env


@pytest.mark.parametrize("history", ["", "b2 c3", "a1 d4 b3"])
def test_a_move_is_played_that_keeps_the_win(service, history):
    env = at(history)
    player = ("black", "white")[len(history.split()) % 2]
    move = service.calculate_move(asked(history, player=player))
    assert env.unwrapped.game.parse_action(move) in solver.best_actions(env)


def test_the_swap_has_the_name_that_the_site_knows(service):
    assert solver.value(at("b3")) == -1  # so white has to take it over
    assert service.calculate_move(asked("b3", player="white", swap=True)) == "swap-pieces"
    move = service.calculate_move(asked("b3 swap-pieces", swap=True))
    env = at("b3 swap", swap=True)
    assert env.unwrapped.is_legal(env.unwrapped.game.parse_action(move))


def test_max_games_is_the_number_of_simulations():
    service = HexService("uct:seed=1", seconds=100.0)
    assert service.calculate_move(asked("b2 c3", maxGames=3))


def test_a_game_is_analysed_with_the_values_of_its_positions(service):
    moves = "b2 c1 c2 b4 a4 a3 b3"  # black joins top and bottom
    env = at("")
    body = json.dumps({"movesHistory": moves, "size": 4}).encode()
    found = service.analyze_game(body)
    assert [one["move"]["move"] for one in found] == moves.split()
    for index, one in enumerate(found):
        value = solver.value(env)
        assert (one["moveIndex"], one["color"]) == (index, ("black", "white")[index % 2])
        assert one["whiteWin"] == ((value == 1) if index % 2 else (value == -1))
        assert one["whiteWin"] == (found[index - 1]["move"]["whiteWin"] if index else 0.0)
        assert 1 <= len(one["bestMoves"]) <= 4
        for best in one["bestMoves"]:
            assert env.unwrapped.is_legal(env.unwrapped.game.parse_action(best["move"]))
        env.step(env.unwrapped.game.parse_action(one["move"]["move"]))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        asked("b2 b2"),
        asked("b2 pass"),
        asked("z9"),
        asked("", player="white"),
        asked("", size=40),
        asked("", maxGames="many"),
        asked("b2", player="white", maxGames=0),
        b'{"game": {"size": 4}, "ai": {}}',
    ],
)
def test_what_cannot_be_answered_is_refused(service, body):
    with pytest.raises(ValueError, match=r"expected|taken"):
        service.calculate_move(body)


def test_the_calls_are_served():
    def post(path, body, kind="application/json"):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", path, body, {"Content-Type": kind})
        response = connection.getresponse()
        answer = response.status, response.read()
        connection.close()
        return answer

    with serving(service=HexService("uct:simulations=5,seed=1")) as (port, _):
        assert post("/calculate-move", asked("b2", player="white"))[0] == 200
        status, body = post("/analyze-game", json.dumps({"movesHistory": "b2 c3", "size": 4}))
        assert (status, len(json.loads(body))) == (200, 2)
        assert post("/calculate-move", asked("z9"))[0] == 400
        assert post("/calculate-move", asked("b2"), "text/plain")[0] == 415
    with serving() as (port, _):
        assert post("/calculate-move", asked(""))[0] == 404
