"""What a body of declarations says: the items that can be declared, and why the others cannot (reconstruct J).

Nothing here looks at a store. A malformed item is dropped under its path; the rest stands.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from memoryconsole.folding import declared_key
from memoryconsole.models.records import storable
from memoryconsole.serializers import LARGEST

# Contract, section J: per call, per entity, and characters of a name, an alias or a predicate.
MAX_ENTITIES = 64
MAX_RELATIONS = 64
MAX_ALIASES = 32
MAX_NAME_CHARS = 256
# The contract bounds no retraction. As many as records come in one call.
MAX_RETRACTIONS = 1000
# Items dropped beyond these are counted: a body of a million wrong ones must not make an answer of them.
MAX_DROPPED = 1000

_REF = re.compile(r"(mem|ep):([0-9]+)")
# As long a number as an address takes (converters.py).
_MAX_DIGITS = 15
_SHOWN_MEMBER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")


@dataclass(frozen=True, slots=True)
class RowRef:
    """`mem:<number>` or `ep:<number>` in its canonical form. Number 0 is no row's."""

    kind: Literal["mem", "ep"]
    number: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"


@dataclass(frozen=True, slots=True)
class Name:
    """A name, alias or predicate: the text as given, trimmed, and the key under which it is found."""

    text: str
    key: str


End = Name | RowRef


@dataclass(frozen=True, slots=True)
class WantedEntity:
    path: str
    name: Name
    aliases: tuple[tuple[str, Name], ...] = ()


@dataclass(frozen=True, slots=True)
class WantedRelation:
    path: str
    subject: End
    predicate: Name
    object: End


class Dropped:
    """What is not declared, as `{item, reason}`. Reasons hold no text of the caller's."""

    def __init__(self) -> None:
        self._items: list[dict[str, str]] = []
        self._more = 0

    def add(self, item: str, reason: str) -> None:
        if len(self._items) < MAX_DROPPED:
            self._items.append({"item": item, "reason": reason})
        else:
            self._more += 1

    def listed(self) -> list[dict[str, str]]:
        if not self._more:
            return list(self._items)
        return [*self._items, {"item": "dropped", "reason": f"and {self._more} more, not listed"}]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """One declaration, read. `anchor` None with `anchor_given`: what was given is no ref.

    `declares` and `retracts` say whether the call brought anything of the kind, well-formed or not.
    """

    project_id: str = ""
    channel: str = ""
    entities: tuple[WantedEntity, ...] = ()
    relations: tuple[WantedRelation, ...] = ()
    anchor: RowRef | None = None
    anchor_given: bool = False
    declares: bool = False
    retracts: bool = False
    gone_relations: tuple[int, ...] = ()
    gone_mentions: tuple[tuple[int, RowRef], ...] = ()
    dropped: Dropped = field(default_factory=Dropped)


def read_declaration(
    associations: Any,
    *,
    anchor_ref: str = "",
    retract: Mapping[str, Any] | None = None,
    project_id: str = "",
    channel: str = "",
) -> Declaration:
    """Read a body's members. Anything is accepted as `associations`: what it cannot mean is in `dropped`."""
    dropped = Dropped()
    entities, relations = _read_associations(associations, dropped)
    gone_relations, gone_mentions = _read_retract(retract or {}, dropped)
    declares = associations is None or bool(associations) or not isinstance(associations, Mapping)
    return Declaration(
        project_id=project_id,
        channel=channel,
        entities=entities,
        relations=relations,
        anchor=read_ref(anchor_ref),
        anchor_given=bool(anchor_ref.strip()),
        declares=declares,
        retracts=bool(retract) and any(member != [] for member in (retract or {}).values()),
        gone_relations=gone_relations,
        gone_mentions=gone_mentions,
        dropped=dropped,
    )


def read_ref(value: Any) -> RowRef | None:
    """The ref a text is, None when it is none: `mem:001` is `mem:1`, spaces around it do not matter."""
    match = _REF.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    digits = match[2].lstrip("0")
    number = int(digits) if 0 < len(digits) <= _MAX_DIGITS else 0
    return RowRef("mem" if match[1] == "mem" else "ep", number)


def _read_associations(
    associations: Any, dropped: Dropped
) -> tuple[tuple[WantedEntity, ...], tuple[WantedRelation, ...]]:
    if not isinstance(associations, Mapping):
        dropped.add("associations", "must be an object")
        return (), ()
    _drop_unknown(associations, ("entities", "relations"), "", dropped)
    entities = (
        _entity(path, item, dropped)
        for path, item in _items(associations, "entities", MAX_ENTITIES, "", dropped)
    )
    relations = (
        _relation(path, item, dropped)
        for path, item in _items(associations, "relations", MAX_RELATIONS, "", dropped)
    )
    return tuple(filter(None, entities)), tuple(filter(None, relations))


def _items(
    members: Mapping[str, Any], name: str, limit: int, prefix: str, dropped: Dropped
) -> Iterator[tuple[str, Any]]:
    """(path, item) of a list member, as far as the limit goes."""
    items = members.get(name, [])
    if not isinstance(items, list):
        dropped.add(f"{prefix}{name}", "must be a list")
        return
    for index, item in enumerate(items):
        path = f"{prefix}{name}[{index}]"
        if index < limit:
            yield path, item
        else:
            dropped.add(path, f"beyond the {limit} that one call takes")


def _drop_unknown(members: Mapping[str, Any], known: Iterable[str], prefix: str, dropped: Dropped) -> None:
    for name in members:
        if name not in known:
            shown = name if _SHOWN_MEMBER.fullmatch(name) else "?"
            dropped.add(f"{prefix}{shown}", "no such member")


def _entity(path: str, item: Any, dropped: Dropped) -> WantedEntity | None:
    if not isinstance(item, Mapping):
        dropped.add(path, "must be an object")
        return None
    name = _name(item.get("name"))
    if isinstance(name, str):
        dropped.add(path, f"name {name}")
        return None
    _drop_unknown(item, ("name", "aliases"), f"{path}.", dropped)
    aliases = []
    for alias_path, text in _items(item, "aliases", MAX_ALIASES, f"{path}.", dropped):
        alias = _name(text)
        if isinstance(alias, str):
            dropped.add(alias_path, alias)
        else:
            aliases.append((alias_path, alias))
    return WantedEntity(path, name, tuple(aliases))


def _relation(path: str, item: Any, dropped: Dropped) -> WantedRelation | None:
    if not isinstance(item, Mapping):
        dropped.add(path, "must be an object")
        return None
    predicate = _name(item.get("predicate"))
    if isinstance(predicate, str):
        dropped.add(path, f"predicate {predicate}")
        return None
    ends = {name: _end(item.get(name)) for name in ("subject", "object")}
    for name, end in ends.items():
        if isinstance(end, str):
            dropped.add(f"{path}.{name}", end)
    subject, object_ = ends["subject"], ends["object"]
    if isinstance(subject, str) or isinstance(object_, str):
        return None
    _drop_unknown(item, ("subject", "predicate", "object"), f"{path}.", dropped)
    return WantedRelation(path, subject, predicate, object_)


def _end(value: Any) -> End | str:
    return read_ref(value) or _name(value)


def _name(value: Any) -> Name | str:
    """The name, or why the value is none."""
    if not isinstance(value, str):
        return "must be a text"
    text = value.strip()
    if len(text) > MAX_NAME_CHARS:
        return f"is longer than {MAX_NAME_CHARS} characters"
    if not storable(text):
        return "holds NUL or a lone surrogate"
    key = declared_key(text)
    return Name(text, key) if key else "is blank"


def _read_retract(
    retract: Mapping[str, Any], dropped: Dropped
) -> tuple[tuple[int, ...], tuple[tuple[int, RowRef], ...]]:
    _drop_unknown(retract, ("relations", "mentions"), "retract.", dropped)
    relations = []
    for path, number in _items(retract, "relations", MAX_RETRACTIONS, "retract.", dropped):
        if _is_number(number):
            relations.append(number)
        else:
            dropped.add(path, "must be an integer id")
    mentions = []
    for path, item in _items(retract, "mentions", MAX_RETRACTIONS, "retract.", dropped):
        ref = read_ref(item.get("ref")) if isinstance(item, Mapping) else None
        if ref is None or not _is_number(item.get("entity")):
            dropped.add(path, "needs an integer entity and a ref")
            continue
        _drop_unknown(item, ("entity", "ref"), f"{path}.", dropped)
        mentions.append((item["entity"], ref))
    # A number that no row can have is nobody's, and no error.
    return (
        tuple(number for number in relations if 0 < number <= LARGEST),
        tuple((entity, ref) for entity, ref in mentions if 0 < entity <= LARGEST),
    )


def _is_number(value: Any) -> bool:
    # JSON's true is an int to Python; as an id it must not be 1.
    return type(value) is int
