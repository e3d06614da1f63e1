"""From a session's graph to what an answer says of it: values in, values out.

Nothing below this folder reads a clock, a setting, a file or a database.

``collect`` goes down from selected summaries (``sources``) and gives the context (``blocks``).
``write_blocks`` is what a synthesizer or a caller sees of it, ``fit_serialized`` bounds it when it is the
answer itself, ``context_pagination`` tells where it goes on, and ``build_provenance`` what an answer says it
was given. ``expand_node``, ``expand_message`` and ``expand_payload`` open a locator. See ``blocks`` for the
words.
"""

from provenance.expand_query.core.blocks import InvalidBlocks, Message, Page, Payload, Scope
from provenance.expand_query.core.collect import Context, collect
from provenance.expand_query.core.cursors import context_pagination
from provenance.expand_query.core.expansion import Window, expand_message, expand_node, expand_payload
from provenance.expand_query.core.pages import TokenCounter, estimate_tokens
from provenance.expand_query.core.provenance import SynthesisStatus, build_provenance
from provenance.expand_query.core.serialized import fit_serialized
from provenance.expand_query.core.shapes import read_blocks, write_blocks
from provenance.expand_query.core.sources import Lineage, Node

CORE = "expand_query/1"
"""Which rules decide. Changes with every change of what is decided, so that a replay can say whose rules it used."""

__all__ = [
    "CORE",
    "Context",
    "InvalidBlocks",
    "Lineage",
    "Message",
    "Node",
    "Page",
    "Payload",
    "Scope",
    "SynthesisStatus",
    "TokenCounter",
    "Window",
    "build_provenance",
    "collect",
    "context_pagination",
    "estimate_tokens",
    "expand_message",
    "expand_node",
    "expand_payload",
    "fit_serialized",
    "read_blocks",
    "write_blocks",
]
