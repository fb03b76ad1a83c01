"""A server on loopback that answers chat completions as a script says: well, badly, slowly, or not at all."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Turn:
    """What the server does with one request.

    Attributes:
        status: of the response.
        body: text of it; None for a completion that says which question and which try it was.
        headers: further ones.
        stall: seconds before anything is sent.
        claimed: bytes that Content-Length promises beyond the body, before the connection is cut.
        drip: seconds between single bytes of the body.
    """

    status: int = 200
    body: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    stall: float = 0.0
    claimed: int = 0
    drip: float = 0.0


@dataclass
class Log:
    """What the server has seen.

    Attributes:
        requests: bodies, in the order in which they came.
        times: of each (monotonic s).
        keys: authorization headers.
        most: requests that were under way at once.
    """

    requests: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    under_way: int = 0
    most: int = 0


Script = Callable[[str, int], Turn]
"""From the content of the last message and the number of the try (from 0) to what is done."""


def completion(content: str | None, *, reason: str = "stop", **message: Any) -> str:
    """The body of a completion."""
    said = {"role": "assistant", "content": content, **message}
    return json.dumps(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "finish_reason": reason, "message": said}],
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        }
    )


@contextmanager
def stand_in(script: Script) -> Iterator[tuple[str, Log]]:
    """The address (base URL) of a server that follows the script, and its log."""
    log, lock, tries, closing = Log(), threading.Lock(), defaultdict[str, int](int), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            content = request["messages"][-1]["content"]
            with lock:
                which = f"{content} {request.get('seed')}"
                turn = script(content, tries[which])
                tries[which] += 1
                log.requests.append(request)
                log.times.append(time.monotonic())
                log.keys.append(self.headers.get("Authorization", ""))
                log.under_way += 1
                log.most = max(log.most, log.under_way)
            try:
                self._follow(turn, content)
            except (BrokenPipeError, ConnectionResetError):
                pass
            finally:
                with lock:
                    log.under_way -= 1

        def _follow(self, turn: Turn, content: str) -> None:
            closing.wait(turn.stall)
            body = (completion(f"answer to {content}") if turn.body is None else turn.body).encode()
            self.send_response(turn.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body) + turn.claimed))
            for name, value in turn.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if turn.drip:
                for byte in body:
                    if closing.wait(turn.drip):
                        break
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
            else:
                self.wfile.write(body)
            if turn.claimed or turn.drip:
                self.close_connection = True

        def log_message(self, *arguments: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

        def handle_error(self, *arguments: Any) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", log
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
