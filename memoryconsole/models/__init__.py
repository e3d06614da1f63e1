"""What is stored: every table of the project, one module per subject."""

from memoryconsole.models.access import Membership, Role, Scope, SignInFailure, Token, TokenGrant, User
from memoryconsole.models.graph import Association, Entity, EntityAlias, Mention
from memoryconsole.models.jobs import IdempotencyKey, Job, JobChunk
from memoryconsole.models.payloads import Payload
from memoryconsole.models.records import Record, RecordNode, Session
from memoryconsole.models.search import EmbeddingSpace, EntryVector, IndexEntry
from memoryconsole.models.stores import Store, StoreCounter, StoreSettings
from memoryconsole.models.summaries import Summary, SummarySource
from memoryconsole.models.traces import LostTraces, SessionNotice, Trace

__all__ = [
    "Association",
    "EmbeddingSpace",
    "Entity",
    "EntityAlias",
    "EntryVector",
    "IdempotencyKey",
    "IndexEntry",
    "Job",
    "JobChunk",
    "LostTraces",
    "Membership",
    "Mention",
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
]
