"""JSON as bytes, quickly: an answer and its trace are half a megabyte of it."""

import json
from typing import Any

import orjson

# Instants, dataclasses and subclasses have a form of their own with whoever sends them: they are refused here.
_PLAIN = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def write_plain(value: Any, *, ordered: bool = False) -> bytes:
    """A plain value in UTF-8 without spaces, the members of objects in their order; `ordered`: by name, so that equal
    values give equal bytes. A UUID or an enumeration's member is its text; what is no number (NaN) is null.

    Raises TypeError for any other value, and for what is rare: a lone surrogate, an integer of more than 64 bits.
    """
    return orjson.dumps(value, option=_PLAIN | orjson.OPT_SORT_KEYS if ordered else _PLAIN)


def write(value: Any, *, ordered: bool = False) -> bytes:
    """The same of any value that the standard library writes. A lone surrogate is kept, as three bytes.

    Raises TypeError for what is no JSON.
    """
    try:
        return write_plain(value, ordered=ordered)
    except TypeError:
        text = json.dumps(value, sort_keys=ordered, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")
