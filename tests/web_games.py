"""What the tests of the served games share: games without a server, and a server on a thread."""

import threading
from contextlib import contextmanager

import pytest

from agents.apps.web.choices import NOTHING_MORE, start
from agents.apps.web.game import ServedGame
from agents.apps.web.protocol import Message, Setup


def served(game="tictactoe", options=(), agent="random", side=0, seed=1, player=None, **more):
    """A game of a page, and its agent; `player` takes the agent's place."""
    setup = Setup(game, tuple(options), agent, side, seed)
    env, made = start(setup)
    return ServedGame(setup, env, player or made, **more)


def settle(game):
    """Let the agent do all there is to do; returns the messages."""
    messages = []

    def report(search):
        messages.extend(game.show_search(task, search))

    while (task := game.session.next_task()) is not None:
        try:
            result = task.run(report)
        except Exception as error:
            result = error
        messages += game.finish(task, result)
    return messages


def ready(**options):
    """A game in which it is the person's turn."""
    game = served(**options)
    settle(game)
    return game


def send(game, kind, **more):
    return game.handle(Message(type=kind, ply=game.ply, **more))


def state_of(game):
    """All that a page sees but the clocks."""
    state = game.greeting()[-1]
    return {key: value for key, value in state.items() if key not in ("turn", "seconds")}


@contextmanager
def serving(offer=NOTHING_MORE, port=0, service=None, **options):
    """A server on a thread of its own: its port, and its games."""
    uvicorn, *_ = (
        pytest.importorskip(name, reason="the extra web is not installed")
        for name in ("uvicorn", "starlette", "websockets")
    )

    from agents.apps.cli.serve import listen
    from agents.apps.web.games import Games
    from agents.apps.web.server import config, make_app

    socket = listen("127.0.0.1", port)
    games = Games(offer, **options)
    server = uvicorn.Server(config(make_app(games, service=service)))
    thread = threading.Thread(target=lambda: server.run(sockets=[socket]))
    thread.start()
    try:
        yield socket.getsockname()[1], games
    finally:
        server.should_exit = True
        thread.join(20)
        socket.close()
        assert not thread.is_alive()
