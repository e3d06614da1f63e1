"""JSON as bytes, quickly: an answer and its trace are half a megabyte of it."""

import json
from typing import Any

import orjson

# What has another form in JSON than its type's own is no plain value: it is refused here, as `json` refuses it.
_PLAIN = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME


def write(value: Any, *, ordered: bool = False) -> bytes:
    """A plain value in UTF-8 without spaces, the members of objects in their order; `ordered`: by name, so that equal
    values give equal bytes. A lone surrogate is kept, as three bytes.

    Raises TypeError for what is no JSON.
    """
    try:
        return orjson.dumps(value, option=_PLAIN | orjson.OPT_SORT_KEYS if ordered else _PLAIN)
    except TypeError:
        # A surrogate, an integer of more than 64 bits, a subclass: rare, and no fault.
        text = json.dumps(value, sort_keys=ordered, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "surrogatepass")
