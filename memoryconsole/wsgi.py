"""The web server's entry."""

import contextlib
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryconsole.settings")
application = get_wsgi_application()


def warm() -> None:
    """Load the embedding model now, before the first request has to wait for it. Its failure is no start's failure."""
    from memoryconsole import embedding

    with contextlib.suppress(embedding.EmbeddingFailed):  # logged where it happened; answers will say so
        embedding.current()


warm()
