"""What is stored: every table of the project, one module per subject."""

from memoryconsole.models.access import Membership, Role, Scope, SignInFailure, Token, TokenGrant, User
from memoryconsole.models.documents import Document, DocumentVersion, Passage
from memoryconsole.models.facts import (
    ContradictionGroup,
    ContradictionMember,
    Decision,
    Fact,
    FactEvidence,
    FactWindow,
    WindowCitation,
)
from memoryconsole.models.graph import Association, Entity, EntityAlias, Mention, MergeEvent
from memoryconsole.models.jobs import IdempotencyKey, Job, JobChunk
from memoryconsole.models.payloads import Payload
from memoryconsole.models.records import Record, RecordNode, Session
from memoryconsole.models.search import EmbeddingSpace, EntryVector, IndexEntry, IndexPart
from memoryconsole.models.stores import Store, StoreCounter, StoreSettings
from memoryconsole.models.summaries import Summary, SummarySource
from memoryconsole.models.testimony import Claim, ClaimCurrency, ClaimOccurrence
from memoryconsole.models.traces import LostTraces, SessionNotice, Trace

__all__ = [
    "Association",
    "Claim",
    "ClaimCurrency",
    "ClaimOccurrence",
    "ContradictionGroup",
    "ContradictionMember",
    "Decision",
    "Document",
    "DocumentVersion",
    "EmbeddingSpace",
    "Entity",
    "EntityAlias",
    "EntryVector",
    "Fact",
    "FactEvidence",
    "FactWindow",
    "IdempotencyKey",
    "IndexEntry",
    "IndexPart",
    "Job",
    "JobChunk",
    "LostTraces",
    "Membership",
    "Mention",
    "MergeEvent",
    "Passage",
    "Payload",
    "Record",
    "RecordNode",
    "Role",
    "Scope",
    "Session",
    "SessionNotice",
    "SignInFailure",
    "Store",
    "StoreCounter",
    "StoreSettings",
    "Summary",
    "SummarySource",
    "Token",
    "TokenGrant",
    "Trace",
    "User",
    "WindowCitation",
]
