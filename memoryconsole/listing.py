"""Keyset pages over rows in order of something public: their number (newest first), a store's id, a time, a place.

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
    rows: "models.QuerySet[Row]",
    query: dict[str, Any],
    *,
    order: str | tuple[str, str] = "number",
    **bound: Any,
) -> tuple[list[Row], str | None]:
    """One page of `rows` by descending `order` (one field, or two where the first may tie; ascending where it begins
    with '+'), and the cursor of the next (None at the end).

    `query` is a PageIn with the list's filters; a cursor is good for exactly these filters and `bound`.
    Raises InvalidCursor.
    """
    filters = {name: value for name, value in query.items() if name not in ("limit", "cursor")}
    bound = bound | filters
    named = (order,) if isinstance(order, str) else order
    rising = named[0].startswith("+")
    fields = tuple(name.removeprefix("+") for name in named)
    if "cursor" in query:
        rows = rows.filter(_beyond(fields, read_cursor(query["cursor"], **bound), rising=rising))
    limit = query["limit"]
    sign = "" if rising else "-"
    found = list(rows.order_by(*(f"{sign}{name}" for name in fields))[: limit + 1])
    if len(found) <= limit:
        return found, None
    last = found[limit - 1]
    return found[:limit], write_cursor([_plain(getattr(last, name)) for name in fields], **bound)


def _beyond(fields: tuple[str, ...], position: Any, *, rising: bool) -> models.Q:
    """The rows after a position: below its first field, or tied there and below its second; above, when `rising`.
    Raises InvalidCursor.
    """
    if not isinstance(position, list) or len(position) != len(fields):
        raise InvalidCursor()
    first, *others = fields
    past = "gt" if rising else "lt"
    beyond = models.Q(**{f"{first}__{past}": position[0]})
    for name, value in zip(others, position[1:], strict=True):
        beyond |= models.Q(**{first: position[0], f"{name}__{past}": value})
    return beyond


def _plain(value: Any) -> int | str:
    return value if isinstance(value, int) else str(value)
