"""The documents say what the code does: routes and scopes, error codes, settings."""

import re
from pathlib import Path

from django.urls import URLPattern, URLResolver, get_resolver

from memoryconsole import errors
from memoryconsole.environment import VARIABLES
from memoryconsole.views import ConsoleView

DOCS = Path(__file__).resolve().parents[2] / "docs"


def api_routes() -> set[tuple[str, str, str]]:
    """(method, address, scope) of every API route there is."""
    found: set[tuple[str, str, str]] = set()

    def walk(patterns, prefix):
        for pattern in patterns:
            here = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                walk(pattern.url_patterns, here)
            elif isinstance(pattern, URLPattern):
                view = getattr(pattern.callback, "view_class", None)
                if view is not None and issubclass(view, ConsoleView):
                    address = "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", here)
                    for method, scope in view.scopes.items():
                        found.add((method, address, scope.value))

    walk(get_resolver().url_patterns, "")
    return found


def table(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    section = text.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split(" | ")] for line in lines]


def all_of(kind):
    """A class and whatever is derived from it, as far as it is loaded."""
    yield kind
    for child in kind.__subclasses__():
        yield from all_of(child)


def test_every_view_names_a_scope_for_each_method_it_has():
    for method, address, _ in api_routes():
        assert method in {"GET", "POST", "PATCH", "PUT", "DELETE"}, address

    def walk(patterns):
        for pattern in patterns:
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns)
            else:
                yield pattern

    for pattern in walk(get_resolver().url_patterns):
        view = getattr(pattern.callback, "view_class", None)
        if view is not None and issubclass(view, ConsoleView):
            offered = {m.upper() for m in view.http_method_names if hasattr(view, m)} - {"OPTIONS", "HEAD"}
            assert offered == set(view.scopes), view


def test_the_table_of_routes_is_the_code():
    rows = table((DOCS / "api.md").read_text(encoding="utf-8"), "Routes and scopes")
    documented = {tuple(row[:3]) for row in rows}
    assert documented == api_routes()


def test_the_table_of_errors_is_the_code():
    rows = table((DOCS / "api.md").read_text(encoding="utf-8"), "Errors")
    documented = {(int(row[0]), row[1]) for row in rows}
    assert documented == {(error.status, error.code) for error in all_of(errors.ConsoleError)}


def test_the_table_of_settings_is_the_code():
    rows = table((DOCS / "settings.md").read_text(encoding="utf-8"), "Environment")
    documented = [(row[0], row[1], row[2]) for row in rows]
    assert documented == [(v.name, _shown(v.default), v.meaning) for v in VARIABLES]


def _shown(default: object) -> str:
    if default is None:
        return "unset"
    if isinstance(default, bool):
        return str(int(default))
    if isinstance(default, list):
        return ",".join(default) or "empty"
    return str(default)
