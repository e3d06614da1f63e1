"""From what the spine has read to what an answer says of it: values in, values out.

Nothing below this folder reads a clock, a setting, a file or a database.

``types`` are the requests, ``seen`` is what was read for one; ``claims_and_sources``, ``facts_context`` and
``resolve_entity`` make an envelope of the two, ``bundle`` puts two envelopes side by side. ``contradiction_members`` is
where the other sides of a fact go on. ``temporal`` decides what a scope selects, ``schema`` says what an envelope is,
``codec`` keeps what was seen for a trace.
"""

from provenance.context_bundle.core.bundle import ChildBroken, bundle
from provenance.context_bundle.core.claims import ClaimsDecided, claims_and_sources, decide_claims
from provenance.context_bundle.core.cursor import MalformedCursor, Position, Token, decode, encode, fitting
from provenance.context_bundle.core.envelope import envelope
from provenance.context_bundle.core.facts import FactsDecided, decide_facts, fact_result, facts_context
from provenance.context_bundle.core.members import contradiction_members, decide_members
from provenance.context_bundle.core.reach import expand
from provenance.context_bundle.core.resolve import resolve_entity
from provenance.context_bundle.core.schema import BUNDLE_SCHEMA, SCHEMA
from provenance.context_bundle.core.seen import ClaimsSeen, FactsSeen, InvalidSeen, ResolveSeen
from provenance.context_bundle.core.types import (
    ClaimsRequest,
    FactsRequest,
    InvalidRequest,
    MembersRequest,
    ResolveRequest,
)

CORE = "context_bundle/2"
"""Which rules decide. Changes with every change of what is decided, so that a replay can say whose rules it used."""

__all__ = [
    "BUNDLE_SCHEMA",
    "CORE",
    "SCHEMA",
    "ChildBroken",
    "ClaimsDecided",
    "ClaimsRequest",
    "ClaimsSeen",
    "FactsDecided",
    "FactsRequest",
    "FactsSeen",
    "InvalidRequest",
    "InvalidSeen",
    "MalformedCursor",
    "MembersRequest",
    "Position",
    "ResolveRequest",
    "ResolveSeen",
    "Token",
    "bundle",
    "claims_and_sources",
    "contradiction_members",
    "decide_claims",
    "decide_facts",
    "decide_members",
    "decode",
    "encode",
    "envelope",
    "expand",
    "fact_result",
    "facts_context",
    "fitting",
    "resolve_entity",
]
