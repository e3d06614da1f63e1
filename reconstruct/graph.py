"""The declared graph: relations between entities, hop by hop, and the records that mention them. Called inside the
caller's snapshot.
"""

from django.db.models import Q, QuerySet

from memoryconsole.identity import Following, findable, has_merges
from memoryconsole.models import Association, Mention, Store
from memoryconsole.scope import ReadScope
from reconstruct.core.types import EntityRelation


def relations_around(
    store: Store, scope: ReadScope, keys_of: dict[int, int], max_hops: int, following: Following
) -> tuple[EntityRelation, ...]:
    """Entity relations within max_hops of the known entities, and those that lead one hop further.

    `keys_of` is given what lies at their ends. Ends are survivors.
    """
    both_ends = Q(subject_entity__isnull=False, object_entity__isnull=False)
    readable = (
        scope.context()
        & both_ends
        & scope.context(through="subject_entity")
        & scope.context(through="object_entity")
        & findable("subject_entity")
        & findable("object_entity")
    )
    told = has_merges(store)
    relations: dict[int, EntityRelation] = {}
    frontier = set(keys_of.values())
    for _ in range(max_hops + 1):
        if not frontier:
            break
        around = following.known.members_of(frontier)
        rows = Association.objects.filter(
            Q(subject_entity__in=around) | Q(object_entity__in=around), readable, store=store
        ).values_list(
            "number", "predicate", "declared_at",
            "subject_entity", "subject_entity__number", "object_entity", "object_entity__number", told,
        )  # fmt: skip
        frontier = set()
        for (
            number,
            predicate,
            declared_at,
            subject_key,
            subject_number,
            object_key,
            object_number,
            merged,
        ) in rows:
            subject = following.survivor(subject_key, subject_number, told=merged)
            object_ = following.survivor(object_key, object_number, told=merged)
            if subject is None or object_ is None:
                continue
            relations[number] = EntityRelation(
                number=number,
                subject=subject.number,
                predicate=predicate,
                object=object_.number,
                declared_at=declared_at,
            )
            frontier |= {end.pk for end in (subject, object_) if end.number not in keys_of}
            keys_of |= {subject.number: subject.pk, object_.number: object_.pk}
    return tuple(relations[number] for number in sorted(relations))


def in_records(mentions: "QuerySet[Mention]", scope: ReadScope) -> "QuerySet[Mention]":
    """Those in live records that the scope reads. Of a document's passages, those of its current version alone:
    others are no candidates (decisions 20).
    """
    version = "record__passage__version"
    return mentions.filter(
        scope.records(through="record"),
        record__isnull=False,
        record__deleted_at=None,
        **dict.fromkeys(
            (f"{version}__superseded_at", f"{version}__deleted_at", f"{version}__document__deleted_at")
        ),
    )
