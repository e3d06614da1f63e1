"""The embedded broker comes up, whatever happened to it before, and keeps what was queued."""

import os
import signal
import stat

import pytest
from kombu import Connection

from memoryconsole.embedded import broker as broker_module
from memoryconsole.embedded import processes
from memoryconsole.embedded.broker import Broker, available
from memoryconsole.embedded.errors import StartFailed, Unavailable
from memoryconsole.embedded.paths import broker_url

pytestmark = [
    pytest.mark.usefixtures("state"),
    pytest.mark.skipif(not available(), reason="no embedded broker for this platform"),
]


def put(text: str) -> None:
    with Connection(broker_url()) as connection:
        connection.SimpleQueue("kept").put(text)


def take() -> str:
    with Connection(broker_url()) as connection:
        message = connection.SimpleQueue("kept").get(timeout=5)
        message.ack()
        return str(message.payload)


def test_start_twice_stop_twice_and_the_queue_stays() -> None:
    broker = Broker()
    assert not broker.stop()
    assert broker.start()
    pid = broker.pid()
    assert not broker.start()
    assert broker.pid() == pid
    put("work")
    assert broker.stop()
    assert not broker.stop()
    assert not broker.is_running()
    assert broker.start()
    assert take() == "work"


def test_it_is_ours_alone() -> None:
    broker = Broker()
    broker.start()
    assert stat.S_IMODE(broker.places.broker_socket_dir.stat().st_mode) == 0o700
    assert stat.S_IMODE(broker.places.broker_socket.stat().st_mode) == 0o700
    running = processes.live_process(broker.pid() or 0)
    assert running is not None
    assert running.net_connections("inet") == []


def test_killed_it_starts_again_with_its_queue() -> None:
    broker = Broker()
    broker.start()
    put("work")
    os.kill(broker.pid() or 0, signal.SIGTERM)  # SIGTERM writes the file, as a second of life would have
    assert processes.wait_until(lambda: not broker.is_running(), 5)
    broker.start()
    os.kill(broker.pid() or 0, signal.SIGKILL)
    assert broker.start()
    assert take() == "work"


def test_a_half_written_last_entry_does_not_block() -> None:
    broker = Broker()
    broker.start()
    put("work")
    broker.stop()
    (entries,) = broker.places.broker_home.glob("appendonlydir/*.incr.aof")
    with entries.open("ab") as file:
        file.write(b"*3\r\n$3\r\nSET\r\n$5\r\nhal")
    assert broker.start()
    assert take() == "work"


def test_a_damaged_file_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "START_SECONDS", 1.0)
    broker = Broker()
    broker.start()
    put("work")
    broker.stop()
    (entries,) = broker.places.broker_home.glob("appendonlydir/*.incr.aof")
    entries.write_bytes(b"not an entry\r\n" * 10)
    with pytest.raises(StartFailed, match=r"(?s)remove .*/broker.*Bad file format"):
        broker.start()


def test_without_a_program_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "broker_program", lambda: None)
    assert not available()
    with pytest.raises(Unavailable, match="CELERY_BROKER_URL"):
        Broker().start()
