"""Keyset pages over rows in descending order of something public: their number (newest first), a store's id.

A row that comes or goes while somebody pages appears once or not at all, never twice: the position is a value, not
a count.
"""

from typing import Any, TypeVar

from django.db import models

from memoryconsole.cursor import read_cursor, write_cursor
from memoryconsole.errors import InvalidCursor
from memoryconsole.serializers import StrictSerializer, Text, Whole

Row = TypeVar("Row", bound=models.Model)

DEFAULT_LIMIT = 50
MAX_LIMIT = 200


class PageIn(StrictSerializer):
    limit = Whole(min_value=1, max_value=MAX_LIMIT, default=DEFAULT_LIMIT)
    cursor = Text(max_length=2000, required=False)


def page(
    rows: "models.QuerySet[Row]", query: dict[str, Any], *, order: str = "number", **bound: Any
) -> tuple[list[Row], str | None]:
    """One page of `rows` by descending `order`, and the cursor of the next (None at the end).

    `query` is a PageIn with the list's filters; a cursor is good for exactly these filters and `bound`.
    Raises InvalidCursor.
    """
    filters = {name: value for name, value in query.items() if name not in ("limit", "cursor")}
    bound = bound | filters
    if "cursor" in query:
        position = read_cursor(query["cursor"], **bound)
        if not isinstance(position, int | str):
            raise InvalidCursor()
        rows = rows.filter(**{f"{order}__lt": position})
    limit = query["limit"]
    found = list(rows.order_by(f"-{order}")[: limit + 1])
    if len(found) <= limit:
        return found, None
    return found[:limit], write_cursor(getattr(found[limit - 1], order), **bound)
