"""The Celery application: background work over the broker. Started as `celery -A memoryconsole.celery worker`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryconsole.settings")

app = Celery("memoryconsole")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
