"""How the console writes times, numbers, states and stored text."""

import json
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from memoryconsole import registry
from memoryconsole.pages import graphemes
from memoryconsole.times import read_stamp, write_stamp

register = template.Library()

# Three lines of a wide page; the stylesheet shows no more of it.
BRIEF_CHARS = 400

# The kind of badge of each state a page may meet: what it means, beside the word itself.
KINDS = {
    "answered": "ok",
    "done": "ok",
    "running": "busy",
    "empty": "none",
    "queued": "none",
    "cancelled": "none",
    "degraded": "warn",
    "hint": "warn",
    "failed": "bad",
    "refused": "bad",
    "fault": "bad",
}


# What the jobs of each kind count; others just count.
UNITS = {"import": "lines", "export": "lines", "erase": "rows", "erase_store": "rows"}


@register.simple_tag
def moment(at: datetime | None) -> SafeString | str:
    """An instant of the server's own: UTC to the minute, the whole of it on hover; a dash for none."""
    if at is None:
        return "—"
    return _time(at, write_stamp(at))


@register.simple_tag
def stamp(text: str) -> SafeString:
    """A caller's stamp: what it means in UTC, as it was stored on hover. Unknown time is said, never guessed."""
    at = read_stamp(text)
    if at is not None:
        return _time(at, f"stored as {inert(text)}")
    hover = f"stored as {inert(text)}" if text else "stored without a time"
    return format_html('<span class="undated" title="{}">unknown time</span>', hover)


def _time(at: datetime, hover: str) -> SafeString:
    at = at.astimezone(UTC)
    # By hand: strftime's day and month depend on the platform and its locale.
    month = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")[at.month - 1]
    shown = f"{at.day} {month} {at.year}, {at.hour:02}:{at.minute:02} UTC"
    return format_html('<time datetime="{}" title="{}">{}</time>', write_stamp(at), hover, shown)


@register.filter
def brief(text: str) -> str:
    """The beginning of a stored text, cut between two characters as a reader sees them, and an ellipsis if cut."""
    text = text.strip()
    start = graphemes.cut(text, BRIEF_CHARS)
    return text if start == text else start + "…"


@register.filter
def question(summary: Mapping[str, Any]) -> str:
    """What a trace, as lists show it, was asked: the beginning of its words, or why there are none."""
    query = summary["query"]
    if query:
        return brief(query)
    if query == "":
        return "(no words: the latest)"
    unasked = registry.operation(summary["operation"]).unasked
    return f"({unasked or 'the question was not kept'})"


@register.filter
def inert(text: str) -> str:
    """Text for places without markup of their own (titles, tooltips): one line, without direction controls."""
    kept = (" " if char.isspace() else char for char in text)
    return "".join(
        char for char in kept if unicodedata.category(char) not in ("Cc", "Cf") or char == "\u200d"
    )


@register.filter
def count(number: int | None) -> str:
    """A number with its thousands apart; a dash for one that is not known."""
    return "—" if number is None else f"{number:,}"


@register.simple_tag
def badge(word: str, kind: str = "") -> SafeString:
    """A state as a shape, a word and a colour. The kind follows from the word where it is not given."""
    return format_html('<span class="badge {}">{}</span>', kind or KINDS.get(word, "none"), word)


@register.filter
def micros(duration_us: int) -> str:
    """Microseconds as milliseconds a person reads."""
    return f"{duration_us / 1000:,.1f} ms" if duration_us < 10_000_000 else f"{duration_us / 1e6:,.1f} s"


@register.filter
def kind(state: str) -> str:
    """The kind of badge of a state."""
    return KINDS.get(state, "none")


@register.filter
def pretty(value: object) -> str:
    """A JSON value as a person reads it."""
    return json.dumps(value, ensure_ascii=False, indent=2)


@register.filter
def unit(kind: str) -> str:
    """What a job of this kind counts."""
    return UNITS.get(kind, "steps")
