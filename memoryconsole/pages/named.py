"""What a page shows of what is known by its UUID: claims, facts, entities. Read live: what is gone is gone here too."""

import uuid
from collections.abc import Iterable
from typing import Any

from django.db.models import Q

from memoryconsole.models import Claim, Entity, Store
from memoryconsole.models.facts import FactKind
from memoryconsole.pages.shown import Shown
from memoryconsole.refs import is_named, split_name
from memoryconsole.services.facts.counting import visible_facts
from memoryconsole.services.facts.endpoints import ends_of, label_of


def read_named(store: Store, refs: Iterable[str]) -> dict[str, Shown]:
    """What is still there of these refs (at most four statements). A claim goes with its passage, a fact with the last
    of its testimony.
    """
    ids: dict[str, list[uuid.UUID]] = {}
    for ref in refs:
        if is_named(ref):
            kind, name = split_name(ref)
            ids.setdefault(kind, []).append(uuid.UUID(name))
    found: dict[str, Shown] = {}
    if "claim" in ids:
        claims = Claim.objects.filter(store=store, uuid__in=ids["claim"], record__deleted_at=None)
        found |= _shown(("claim", each.uuid, each.claim_text) for each in claims)
    facts = {kind: names for kind, names in ids.items() if kind in FactKind.values}
    if facts:
        found |= _facts(store, facts)
    if "entity" in ids:
        entities = Entity.objects.filter(store=store, uuid__in=ids["entity"])
        found |= _shown(("entity", each.uuid, each.name) for each in entities)
    return found


def _facts(store: Store, ids: dict[str, list[uuid.UUID]]) -> dict[str, Shown]:
    either = Q()
    for kind, wanted in ids.items():
        either |= Q(kind=kind, uuid__in=wanted)
    facts = list(visible_facts(store).filter(either))
    ends = ends_of(store, facts)
    return _shown((fact.kind, fact.uuid, label_of(fact, ends)) for fact in facts)


def _shown(rows: Iterable[tuple[str, Any, str]]) -> dict[str, Shown]:
    return {
        (ref := f"{kind}:{name}"): Shown(
            ref=ref,
            text=text,
            length=len(text),
            timestamp="",
            project_id=None,
            channel=None,
            message_id="",
            source={"type": "", "id": "", "name": ""},
        )
        for kind, name, text in rows
    }
