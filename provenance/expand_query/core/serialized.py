"""The context as an answer of its own (contract, section E.4).

Rule 1: here the budget bounds what is sent, so it is measured on the serialized list, escapes and all.
Rule 2: a block is there whole or not at all; what goes, goes from the end, and is told.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import replace

from provenance.expand_query.core.collect import Context
from provenance.expand_query.core.pages import TokenCounter
from provenance.expand_query.core.shapes import write_blocks


def fit_serialized(context: Context, *, budget: int, count: TokenCounter) -> tuple[Context, int]:
    """The context with as many of its first blocks as fit into ``budget`` tokens as a list, and its tokens.

    An empty list costs its two brackets whatever the budget is.
    """
    written = write_blocks(context.blocks)

    def tokens(blocks: int) -> int:
        return count(json.dumps(written[:blocks]))

    kept = bisect_right(range(1, len(written) + 1), budget, key=tokens)
    fitting = replace(context, blocks=context.blocks[:kept], dropped=context.blocks[kept:])
    return fitting, tokens(kept)
