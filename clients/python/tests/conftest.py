"""Each test runs with both clients: the asynchronous one is called through an event loop in another thread."""

import functools
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from stillframe import AsyncStillframe, Stillframe


class Called:
    """Calls an asynchronous client as if it blocked."""

    def __init__(self, portal, client):
        self._portal, self._client = portal, client

    def __getattr__(self, name):
        member = getattr(self._client, name)
        if name in ("settings", "sign_link"):
            return member
        if name == "each_job":
            return lambda **query: self._portal.call(functools.partial(all_of, member, query))
        return lambda *args, **options: self._portal.call(functools.partial(member, *args, **options))


async def all_of(each, query):
    return [item async for item in each(**query)]


@pytest.fixture(scope="session")
def portal():
    with start_blocking_portal() as started:
        yield started


@pytest.fixture(scope="session", params=["blocking", "asynchronous"])
def connect(request, portal):
    """Returns a function that makes a client. They share connections: each httpx client loads all certificates."""
    if request.param == "blocking":
        with httpx.Client() as http:
            yield lambda url, key="sf_live_test", **options: Stillframe(url, key, http_client=http, **options)
    else:
        http = httpx.AsyncClient()
        yield lambda url, key="sf_live_test", **options: Called(
            portal, AsyncStillframe(url, key, http_client=http, **options)
        )
        portal.call(http.aclose)


@pytest.fixture(scope="session")
def stillframe(connect, portal):
    """A client of the real server with connections of its own."""
    if "STILLFRAME_URL" not in os.environ:
        pytest.skip("STILLFRAME_URL and STILLFRAME_KEY name no server.")
    server = (os.environ["STILLFRAME_URL"], os.environ["STILLFRAME_KEY"])
    if isinstance(connect(*server), Stillframe):
        with Stillframe(*server) as client:
            yield client
    else:
        client = AsyncStillframe(*server)
        yield Called(portal, client)
        portal.call(client.aclose)


class StandIn:
    """A server that answers as scripted, the last answer for all further requests."""

    def __init__(self):
        self.requests = []
        self.reactions = []
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def react(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                stand_in.requests.append((self.command, self.path, self.headers, body))
                at = min(len(stand_in.requests), len(stand_in.reactions)) - 1
                stand_in.reactions[at](self)

            do_GET = do_POST = do_PUT = do_DELETE = react

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def script(self, *reactions):
        self.requests.clear()
        self.reactions = list(reactions)

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def answer(status, body, **headers):
    def react(handler):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"content-length": len(content), **headers}.items():
            handler.send_header(name.replace("_", "-"), str(value))
        handler.end_headers()
        handler.wfile.write(content)

    return react


def data(value, status=200, **headers):
    return answer(status, {"ok": True, "request_id": "req_1", "data": value}, **headers)


def failure(status, code, retriable=False, details=None, **headers):
    error = {"code": code, "message": "No.", "retriable": retriable, "request_id": "req_1", "details": details or {}}
    return answer(status, {"ok": False, "request_id": "req_1", "error": error}, **headers)


def cut(handler):
    handler.close_connection = True


def cut_in_body(handler):
    handler.send_response(200)
    handler.send_header("content-length", "100")
    handler.end_headers()
    handler.wfile.write(b"half")
    handler.close_connection = True


@pytest.fixture(scope="session")
def started_stand_in():
    server = StandIn()
    yield server
    server.close()


@pytest.fixture
def stand_in(started_stand_in):
    started_stand_in.script()
    return started_stand_in
