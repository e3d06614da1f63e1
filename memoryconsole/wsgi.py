"""The web server's entry."""

import contextlib
import gc
import importlib
import os

from django.core.wsgi import get_wsgi_application

# A look in several answers.
OBJECTS_UNTIL_LOOKED = 10_000

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryconsole.settings")
application = get_wsgi_application()


def warm() -> None:
    """Load the routes and the embedding model now, before the first request has to wait for them. The model's failure
    is no start's failure.
    """
    from django.conf import settings

    from memoryconsole import embedding

    importlib.import_module(settings.ROOT_URLCONF)
    with contextlib.suppress(embedding.EmbeddingFailed):  # logged where it happened; answers will say so
        embedding.current()
    settle()


def settle() -> None:
    """What is loaded by now stays for good: looking through all of it for garbage takes a tenth of a second, and a
    request that makes many objects has to wait for that.

    An answer makes some thousands of them, nearly all of which go by themselves. To look for the few that only refer to
    each other at every 700th, as is usual, is a twentieth of its time. What such a few may hold is a body:
    `LargeBodyMiddleware` looks at once where that is large.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(OBJECTS_UNTIL_LOOKED)


warm()
