"""Is the process alive, and are the parts it needs there."""

import logging

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from kombu import Connection

log = logging.getLogger(__name__)

# A health check that waits is itself a fault.
_BROKER_TIMEOUT_S = 1.0


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers. Touches nothing else."""
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when database, migrations and broker are there, else 503; the body names each part's state."""
    parts = {"database": _database(), "broker": _broker()}
    parts["migrations"] = _migrations() if parts["database"] == "ok" else "unknown"
    return JsonResponse(parts, status=200 if all(state == "ok" for state in parts.values()) else 503)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "unreachable"
    return "ok"


def _migrations() -> str:
    executor = MigrationExecutor(connection)
    return "pending" if executor.migration_plan(executor.loader.graph.leaf_nodes()) else "ok"


def _broker() -> str:
    if settings.JOBS_INLINE:
        return "ok"
    options = {
        "socket_timeout": _BROKER_TIMEOUT_S,
        "socket_connect_timeout": _BROKER_TIMEOUT_S,
        "max_retries": 0,
    }
    try:
        with Connection(
            settings.CELERY_BROKER_URL, connect_timeout=_BROKER_TIMEOUT_S, transport_options=options
        ) as broker:
            broker.ensure_connection(max_retries=1, timeout=_BROKER_TIMEOUT_S)
    except Exception as fault:
        # Whatever the transport raises, the answer is the same: it cannot be reached. The text may hold a password.
        log.warning("the broker cannot be reached: %s", type(fault).__name__)
        return "unreachable"
    return "ok"
