"""The Celery application: background work over the broker. Started as `celery -A memoryconsole.celery worker`."""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging
from django.conf import settings
from django.utils.log import configure_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryconsole.settings")

app = Celery("memoryconsole")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def _log_as_everywhere(**_: Any) -> None:
    """Keeps Celery from writing the workers' log its own way: other lines, and errors with all that they quote."""
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
