"""The addresses of this floor's pages."""

from django.urls import path

from memoryconsole import converters  # noqa: F401  (registers the address parts)
from reconstruct import pages, reading_pages

app_name = "ask"

urlpatterns = [
    path("stores/<store:store>/ask", pages.ask, name="ask"),
    path("stores/<store:store>/ask/candidates", pages.recall, name="recall"),
    path(
        "stores/<store:store>/read/mem:<number:number>",
        reading_pages.read,
        {"kind": "mem"},
        name="read-record",
    ),
    path(
        "stores/<store:store>/read/ep:<number:number>",
        reading_pages.read,
        {"kind": "ep"},
        name="read-summary",
    ),
]
