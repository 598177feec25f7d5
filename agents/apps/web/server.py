"""The local server: its pages, its websockets, and whose requests it accepts.

A request can make agents compute on this machine. So its ``Host`` must name this machine: this
stops DNS rebinding, where another site binds its own name to our address. And a request that comes
from a page must come from one of ours (``Origin``).
"""

import asyncio
import ipaddress
import json
import socket
from asyncio import wrap_future
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from agents.apps.web.choices import choices
from agents.apps.web.desk import Desk, Look, explained
from agents.apps.web.games import FullError, GameRoom, Games, PageQueue, UnknownGameError
from agents.apps.web.page import analysis_page, play_page, replay_page
from agents.apps.web.playhex import HexService
from agents.apps.web.protocol import (
    MOST_PASTED,
    MessageError,
    parse,
    parse_message,
    parse_setup,
)
from agents.core.background import Slots, in_background
from agents.records import GameRecord
from agents.records.explorer import Explorer
from agents.records.files import as_text
from hexenv.compiled.cpus import usable_cpus

UNKNOWN_GAME: Final = 4404
"""The code that closes a socket for an unknown game."""
MOST_BYTES: Final = 4 * MOST_PASTED
"""Size of a websocket's message; a longer one ends the connection."""


def make_app(
    games: Games,
    hosts: frozenset[str] = frozenset(),
    service: HexService | None = None,
    explorer: Explorer | None = None,
) -> Starlette:
    """The server's application.

    `hosts` are names of this machine besides ``localhost``; `service` answers playhex.org's calls;
    `explorer` knows what was played before.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        yield
        games.close()

    server = Server(games, explorer)
    routes = [
        Route("/", server.page),
        Route("/games", server.create, methods=["POST"]),
        Route("/games/{name}", server.page),
        Route("/games/{name}/record.json", server.record),
        Route("/games/{name}/replay", server.replay),
        WebSocketRoute("/games/{name}/socket", server.socket),
        Route("/analysis", server.analysis),
        WebSocketRoute("/analysis/socket", server.desk),
        Route("/analysis/steps", server.steps),
    ]
    if service is not None:
        routes += [
            Route("/calculate-move", _call(service.calculate_move), methods=["POST"]),
            Route("/analyze-game", _call(service.analyze_game), methods=["POST"]),
        ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.add_middleware(OwnHostOnly, hosts=hosts)  # type: ignore[arg-type]
    return app


def config(app: Starlette) -> uvicorn.Config:
    """The configuration that serves the application."""
    return uvicorn.Config(
        app,
        log_level="warning",
        ws="websockets-sansio",
        ws_max_size=MOST_BYTES,
        timeout_graceful_shutdown=2,
    )


class PatientServer(uvicorn.Server):
    """A server that shuts down in order, also after a second Ctrl-C."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:
            super().handle_exit(sig, frame)


class OwnHostOnly:
    """Refuses requests that do not name this machine, or that come from other sites' pages."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = HTTPConnection(scope).headers
        host, origin = headers.get("host", ""), headers.get("origin")
        if is_own_host(host, self.hosts) and (origin is None or is_same_origin(origin, host)):
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            response = Response("expected a request from this server's own pages", 403)
            await response(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})  # before accept: HTTP 403


def is_own_host(host: str, hosts: frozenset[str]) -> bool:
    """Whether a ``Host`` header names this machine: by an address, or by one of its names."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    name = name.removeprefix("[").removesuffix("]").lower()
    if name == "localhost" or name in hosts:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_same_origin(origin: str, host: str) -> bool:
    """Whether a page of this origin was served under this ``Host``."""
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


def own_names() -> frozenset[str]:
    """The names of this machine, for a server that other machines can reach."""
    name = socket.gethostname().lower()
    return frozenset({name, f"{name}.local"})


class Server:
    """Answers requests."""

    def __init__(self, games: Games, explorer: Explorer | None = None) -> None:
        self.games, self._explorer = games, explorer
        offered = choices(games.offer)
        self._page, self._policy = play_page(offered)
        self._analysis = analysis_page(offered)
        self._desks = 0
        self._slots = Slots(usable_cpus())

    async def page(self, request: Request) -> Response:
        """The page to play on; its script reads the game from its own address."""
        name, status = request.path_params.get("name"), 200
        try:
            if name is not None:
                self.games.room(name)
        except UnknownGameError:
            status = 404  # the page itself tells the reader
        return HTMLResponse(self._page, status, _headers(self._policy))

    async def analysis(self, request: Request) -> Response:
        """The analysis board; its script reads the position from its own address."""
        return HTMLResponse(self._analysis[0], 200, _headers(self._analysis[1]))

    async def create(self, request: Request) -> Response:
        """Begin a game; answers ``{"id": ...}``, or ``{"error": ...}``."""
        body = await _body(request)
        if isinstance(body, Response):
            return body
        try:
            name = await self.games.create(parse_setup(body))
        except MessageError as error:
            return JSONResponse({"error": str(error)}, 400)
        except FullError as error:
            return JSONResponse({"error": str(error)}, 503)
        return JSONResponse({"id": name}, 201)

    async def record(self, request: Request) -> Response:
        """The record of a game, as a download."""
        name = request.path_params["name"]
        headers = {"Content-Disposition": f'attachment; filename="{name}.json"'}

        def answer(record: GameRecord) -> Response:
            return Response(as_text(record), media_type="application/json", headers=headers)

        return await self._of_game(name, answer)

    async def replay(self, request: Request) -> Response:
        name = request.path_params["name"]
        return await self._of_game(name, lambda record: HTMLResponse(replay_page(record)))

    async def _of_game(self, name: str, answer: Callable[[GameRecord], Response]) -> Response:
        """An answer from the record of a game, made on a thread."""
        try:
            make = self.games.room(name).game.record_maker()
        except UnknownGameError as error:
            return JSONResponse({"error": str(error)}, 404)
        return await asyncio.to_thread(lambda: answer(make()))

    async def socket(self, socket: WebSocket) -> None:
        """Exchange messages with one page, until it leaves."""
        await socket.accept()
        try:
            room = self.games.room(socket.path_params["name"])
        except UnknownGameError as error:
            await socket.send_json({"type": "gone", "error": str(error)})
            await socket.close(UNKNOWN_GAME)
            return
        page = room.join()
        sending = asyncio.create_task(_send_all(socket, page))
        try:
            await _receive_all(socket, room, page)
        finally:
            sending.cancel()
            room.leave(page)

    async def steps(self, request: Request) -> Response:
        """The search of an agent step by step; the question is the part ``look`` of the address."""
        try:
            look = parse(request.query_params.get("look", ""), Look)
            made = in_background(partial(explained, look, self.games.offer))
            return HTMLResponse(await wrap_future(made))
        except (ValueError, OSError, ImportError) as error:
            return Response(str(error), 400)

    async def desk(self, socket: WebSocket) -> None:
        """Answer the questions of an analysis board, until its page leaves."""
        await socket.accept()
        if self._desks >= self.games.max_games:
            await socket.close(1013)
            return
        loop, waiting = asyncio.get_running_loop(), PageQueue()

        def send(message: Any) -> None:  # on any thread
            loop.call_soon_threadsafe(waiting.send, [message])

        desk = Desk(send, self.games.offer, self._slots, self._explorer)
        sending = asyncio.create_task(_send_all(socket, waiting))
        self._desks += 1
        try:
            while True:
                received = await socket.receive()
                if received["type"] == "websocket.disconnect":
                    return
                text = received.get("text") or received.get("bytes") or ""
                try:
                    asked = parse(text, Look, most=MOST_PASTED)
                except MessageError as error:
                    send({"type": "error", "number": None, "error": str(error)})
                else:
                    await wrap_future(in_background(partial(desk.answer, asked)))
        finally:
            self._desks -= 1
            sending.cancel()
            desk.close()


def _headers(policy: str) -> dict[str, str]:
    """Those of a page."""
    return {
        "Content-Security-Policy": policy,
        "X-Frame-Options": "DENY",
        "Cache-Control": "no-store",
    }


async def _body(request: Request) -> bytes | Response:
    """The JSON that a request brings, or the answer that refuses it."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        return JSONResponse({"error": "expected application/json"}, 415)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return JSONResponse({"error": "expected a shorter message"}, 413)
    return body


def _call(answer: Callable[[bytes], Any]) -> Callable[[Request], Awaitable[Response]]:
    """What answers requests by a function that takes its time: with text, or with JSON."""

    async def respond(request: Request) -> Response:
        body = await _body(request)
        if isinstance(body, Response):
            return body
        try:
            found = await wrap_future(in_background(lambda: answer(body)))
        except ValueError as error:
            return Response(str(error), 400)
        return Response(found) if isinstance(found, str) else JSONResponse(found)

    return respond


async def _send_all(socket: WebSocket, page: PageQueue) -> None:
    """Send a page its messages."""
    while not page.is_lost:
        message = await page.waiting.get()
        await socket.send_text(json.dumps(message, allow_nan=False))
    await socket.close(1013)  # the page connects again and gets the whole state


async def _receive_all(socket: WebSocket, room: GameRoom, page: PageQueue) -> None:
    """Handle the messages of a page; an error goes to this page only."""
    while True:
        received = await socket.receive()
        if received["type"] == "websocket.disconnect":
            return
        try:
            text = received.get("text") or received.get("bytes") or ""
            room.receive(parse_message(text), page)
        except MessageError as error:
            page.send([{"type": "error", "error": str(error)}])
