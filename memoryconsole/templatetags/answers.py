"""How the console writes answers and their traces: marked quotes, linked sentences, shares, times of stages."""

import re
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from memoryconsole.pages import saying
from memoryconsole.pages.marks import Asked, spans
from memoryconsole.refs import is_named, split_ref

register = template.Library()

# The units of a verdict that are shares of a whole.
_SHARES = ("coverage", "cosine")


@register.simple_tag
def marked(text: str, asked: Asked | None) -> SafeString | str:
    """A stored text with the words that were asked for in `mark`. Every piece of it is escaped."""
    found = spans(text, asked) if asked is not None else []
    if not found:
        return text
    reached = 0
    pieces: list[tuple[str, str]] = []
    for start, end in found:
        pieces.append((text[reached:start], text[start:end]))
        reached = end
    return format_html("{}{}", format_html_join("", "{}<mark>{}</mark>", pieces), text[reached:])


@register.simple_tag(takes_context=True)
def ref(context: template.Context, name: str) -> SafeString:
    """A link to a row's own page."""
    return ref_link(context["store"].public_id, name)


def ref_link(public_id: str, name: str) -> SafeString:
    if is_named(name):
        # What is known by its UUID has no page of its own.
        return format_html('<span class="ref">{}</span>', name)
    kind, number = split_ref(name)
    page = "console:record" if kind == "mem" else "console:summary"
    return format_html('<a class="ref" href="{}">{}</a>', reverse(page, args=[public_id, number]), name)


@register.simple_tag(takes_context=True)
def say(context: template.Context, said: saying.Said | str) -> SafeString:
    """A sentence: its refs are links, stored names are quoted and isolated."""
    parts = (said,) if isinstance(said, str) else said
    return format_html_join("", "{}", ((_part(context, part),) for part in parts))


def _part(context: template.Context, part: saying.Part) -> Any:
    if isinstance(part, saying.AtRef):
        return ref(context, part.ref)
    if isinstance(part, saying.Named):
        return format_html("<q><bdi>{}</bdi></q>", part.text)
    if isinstance(part, saying.Word):
        return format_html("<bdi>{}</bdi>", part.text)
    return part


@register.simple_tag(takes_context=True)
def sentence(context: template.Context, text: str, live: str = "") -> SafeString:
    """A sentence of ours about rows: the ref of the `live` one is a link, the others stay text."""
    pieces = re.split(rf"{re.escape(live)}(?![0-9])", text) if live else [text]
    link = ref(context, live) if live else ""
    joined = [part for piece in pieces for part in (link, piece)][1:]
    return format_html_join("", "{}", ((part,) for part in joined))


@register.filter
def figure(value: int, unit: str | None) -> str:
    """A number of a verdict without its unit. Shares are kept in 1/10,000, and written as the sentences write them."""
    return f"{value / 100:.2f} %" if unit in _SHARES else f"{value:,}"


@register.filter
def amount(value: int, unit: str | None) -> str:
    """A number of a verdict with its unit; what lies between two shares is in points of a percentage."""
    if unit in _SHARES:
        return f"{value / 100:.2f} points of {unit}"
    name = unit or ""
    return f"{figure(value, unit)} {name.removesuffix('s') if value == 1 else name}".strip()


@register.filter
def share(value: int | None) -> str:
    """A share or cosine in 1/10,000, as a number of two digits."""
    return saying.share(value)


@register.filter
def ordinal(number: int) -> str:
    return saying.ordinal(number)


@register.filter
def seconds(microseconds: int) -> str:
    """A stage's time in milliseconds, fine enough for the shortest."""
    return f"{microseconds / 1000:,.2f} ms"


@register.filter
def get(members: dict[str, Any] | None, name: str) -> Any:
    """A member by a name that is itself a value; empty for none."""
    return (members or {}).get(name, "")
