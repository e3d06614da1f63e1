"""The web server's listening socket, and asking whether something answers behind it."""

import errno
import http.client
import socket
from collections.abc import Callable

from memoryconsole.embedded.errors import StartFailed

NEXT_PORTS = 20
BACKLOG = 512  # connections that wait while the web server is being restarted
ANSWER_SECONDS = 5.0


def listen(host: str, port: int, say: Callable[[str], None]) -> socket.socket:
    """Listen on the first free port from `port` to `port` + 20, saying which when it is not the first.

    The caller keeps the socket, so that a web server that dies is followed by another on the very same port
    and no connection is refused in between. Raises StartFailed.
    """
    family, address = _resolve(host)
    last = min(port + NEXT_PORTS, 65535) if port else 0  # 0: whichever the system picks
    for candidate in range(port, last + 1):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address, candidate))
            listener.listen(BACKLOG)
        except OSError as fault:
            listener.close()
            if fault.errno != errno.EADDRINUSE:
                raise StartFailed(f"cannot listen on {host} port {candidate}: {fault.strerror}") from fault
            continue
        if candidate != port:
            say(f"port {port} is taken by another program: using {candidate} instead")
        return listener
    raise StartFailed(f"ports {port} to {last} of {host} are all taken: choose another with --port")


def base_url(listener: socket.socket) -> str:
    """Where a browser on this machine finds it."""
    address, port = listener.getsockname()[:2]
    if address in ("0.0.0.0", "::"):  # noqa: S104 (read, not bound)
        address = "127.0.0.1" if listener.family == socket.AF_INET else "::1"
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def answers(listener: socket.socket, path: str, host_header: str) -> bool:
    """Whether a GET there is answered with a status below 400."""
    address, port = base_url(listener).removeprefix("http://").rsplit(":", 1)
    connection = http.client.HTTPConnection(address.strip("[]"), int(port), timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", path, headers={"Host": host_header})
        return connection.getresponse().status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _resolve(host: str) -> tuple[socket.AddressFamily, str]:
    try:
        family, _kind, _protocol, _name, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    except OSError as fault:
        raise StartFailed(f"{host} is no address of this machine: {fault.strerror or fault}") from fault
    return family, str(address[0])
