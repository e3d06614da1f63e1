"""What a log line holds: one JSON object, and nothing that is stored."""

import json
import logging
import subprocess
import sys

import pytest
from django.db import IntegrityError
from django.utils import timezone

from memoryconsole.middleware import JsonFormatter
from memoryconsole.models import Entity


def raised(fault: BaseException) -> None:
    raise fault


def line_of(fault: BaseException) -> dict[str, str]:
    try:
        raised(fault)
    except BaseException:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "job %s failed", ("j1",), sys.exc_info())
    told = JsonFormatter().format(record)
    assert "\n" not in told
    line: dict[str, str] = json.loads(told)
    return line


def test_a_fault_of_the_database_is_told_without_the_row_that_it_quotes(store):
    row = {
        "store": store,
        "number": 1,
        "uuid": "00000000-0000-0000-0000-000000000001",
        "name": "Secret\nQuay",
    }
    with pytest.raises(IntegrityError) as caught:
        Entity.objects.create(
            **row, declared_key="secret quay", declared_by="nobody", created_at=timezone.now()
        )
    # The database does quote it.
    assert "Secret" in str(caught.value)
    told = line_of(caught.value)["exception"]
    assert "Quay" not in told
    assert 'violates check constraint "entity_declared_by"' in told
    # Both errors are there, the driver's first, each with the place where it was raised.
    assert told.index("psycopg.errors.CheckViolation") < told.index("django.db.utils.IntegrityError")
    assert "test_logging.py" in told


def test_other_faults_are_told_whole():
    fault = ValueError("what was wrong\nin two lines")
    fault.__cause__ = KeyError("refs")
    line = line_of(fault)
    assert (line["level"], line["message"]) == ("ERROR", "job j1 failed")
    assert line["exception"].endswith("ValueError: what was wrong\nin two lines")
    assert line["exception"].startswith("builtins.KeyError: 'refs'")


def test_faults_that_led_to_one_another_end():
    first, second = ValueError("first"), ValueError("second")
    first.__context__, second.__context__ = second, first
    assert line_of(second)["exception"].count("ValueError: ") == 2


def test_a_worker_logs_as_everything_else_does():
    # In a process of its own: it sets up logging for all of it.
    started = (
        "import logging; from memoryconsole.celery import app; app.log.setup(loglevel='INFO');"
        "logging.getLogger('celery.worker').warning('said %s', 1)"
    )
    told = subprocess.run(
        [sys.executable, "-c", started], capture_output=True, text=True, check=True, timeout=60
    )
    line = json.loads(told.stderr)
    assert (line["logger"], line["message"], line["request_id"]) == ("celery.worker", "said 1", "-")
