"""A taken port is no reason to fail."""

import socket
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from memoryconsole.embedded.errors import StartFailed
from memoryconsole.embedded.listen import NEXT_PORTS, answers, base_url, listen


def never(line: str) -> None:
    pytest.fail(f"nothing was to be said, but: {line}")


def free_range(ports: int) -> int:
    """The first of `ports` neighbouring ports that are all free at the moment."""
    for first in range(20_000, 60_000, ports):
        with ExitStack() as held:
            try:
                for port in range(first, first + ports):
                    probe = held.enter_context(socket.socket())
                    probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    raise AssertionError("no free ports on this machine")


def test_the_wanted_port_when_it_is_free() -> None:
    port = free_range(1)
    with listen("127.0.0.1", port, never) as listener:
        assert base_url(listener) == f"http://127.0.0.1:{port}"
        assert listener.getsockname() == ("127.0.0.1", port)


def test_the_next_port_when_it_is_taken_and_a_line_that_says_so() -> None:
    port = free_range(3)
    said: list[str] = []
    with listen("127.0.0.1", port, never), listen("127.0.0.1", port, said.append) as second:
        assert second.getsockname()[1] == port + 1
        assert said == [f"port {port} is taken by another program: using {port + 1} instead"]
        with listen("127.0.0.1", port, said.append) as third:
            assert third.getsockname()[1] == port + 2


def test_a_port_taken_for_every_address_counts_as_taken() -> None:
    port = free_range(2)
    said: list[str] = []
    with listen("0.0.0.0", port, never) as everywhere, listen("127.0.0.1", port, said.append) as ours:
        assert base_url(everywhere) == f"http://127.0.0.1:{port}"
        assert ours.getsockname()[1] == port + 1


def test_when_all_are_taken_it_says_which() -> None:
    port = free_range(NEXT_PORTS + 1)
    with ExitStack() as held:
        for taken in range(port, port + NEXT_PORTS + 1):
            held.enter_context(listen("127.0.0.1", taken, never))
        with pytest.raises(StartFailed, match=rf"ports {port} to {port + NEXT_PORTS} .* --port"):
            listen("127.0.0.1", port, never)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(StartFailed, match=r"cannot listen on 192\.0\.2\.1"):
        listen("192.0.2.1", 0, never)


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (302, True), (400, False), (503, False)])
def test_answers_means_a_status_below_400(status: int, healthy: bool) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.headers["Host"] == "console.example" else 400)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        assert answers(server.socket, "/healthz", "console.example") is healthy
        thread.join(5)


def test_silence_is_no_answer() -> None:
    with socket.socket() as bound_only:
        bound_only.bind(("127.0.0.1", 0))
        assert not answers(bound_only, "/healthz", "localhost")
