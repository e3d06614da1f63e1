"""The format alone: what is written is read as it was, however it is cut into pieces."""

import json
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryconsole.models import Entity, EntityAlias, Record, Summary
from memoryconsole.models.records import storable
from memoryconsole.services.ingest import digest_of
from memoryconsole.services.transfer import lines, pieces, rows
from memoryconsole.services.transfer.occurrences import Occurrences
from memoryconsole.services.transfer.pieces import Line, lines_of
from memoryconsole.times import read_stamp

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
names = texts.filter(bool)
instants = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
numbers = st.integers(1, lines.MAX_NUMBER)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
CONTEXT = rows.Context(
    store=None, by=None, now=datetime(2026, 1, 1, tzinfo=UTC), restoring=rows.Restoring({}, None)
)


@st.composite
def records(draw):
    calls = draw(st.none() | st.lists(st.dictionaries(texts, json_values, max_size=3), max_size=3))
    content = draw(texts if calls else names)
    plain = (
        "project_id",
        "channel",
        "source_id",
        "source_name",
        "role",
        "tool_call_id",
        "tool_name",
        "conversation_id",
    )
    record = Record(
        number=draw(numbers), uuid=draw(st.uuids()), content=content, digest=digest_of(content),
        message_id=draw(texts).strip(), timestamp=draw(texts | instants.map(datetime.isoformat)), tool_calls=calls,
        source_type=draw(st.sampled_from(["", "User", "Agent", "System"])),
        created_at=draw(instants), believed_at=draw(instants), **{name: draw(texts) for name in plain},
    )  # fmt: skip
    record.instant = read_stamp(record.timestamp)
    return record


def read(members):
    line = lines.write_line(members)
    assert line.count(b"\n") == 1
    return lines.read_line(Line(1, line[:-1], len(line)))


def columns(row, *without):
    left = {"id", "store_id", "session_id", *without}
    return {f.attname: getattr(row, f.attname) for f in row._meta.local_fields if f.attname not in left}


@given(records(), texts)
def test_a_record_comes_back_as_it_was(record, session_id):
    record.session_id = 1
    record._state.fields_cache["session"] = SimpleNamespace(session_id=session_id) if session_id else None
    kind, members = read(lines.record_line(record))
    again = rows._record(CONTEXT, members)
    assert kind == "record"
    assert members["session_id"] == session_id
    assert columns(again) == columns(record)


@given(
    st.builds(
        Summary, number=numbers, uuid=st.uuids(), summary=names, project_id=st.none() | texts, channel=st.none() | texts,
        depth=st.integers(0, 1000), start=texts, end=texts, token_count=st.integers(0, 2**31 - 1),
        source_token_count=st.integers(0, 2**31 - 1), expand_hint=texts, sources_gone=st.booleans(),
        created_at=instants, believed_at=instants,
    ),
    st.lists(st.uuids() | st.integers(0, lines.MAX_NUMBER), max_size=5),
)  # fmt: skip
def test_a_summary_comes_back_as_it_was(summary, places):
    summary.source_type = "messages" if places else ""
    summary.digest = digest_of(summary.summary)
    summary._state.fields_cache["session"] = None
    kind, members = read(lines.summary_line(summary, places))
    assert (kind, members["sources"]) == ("summary", places)
    assert columns(rows._summary(CONTEXT, members)) == columns(summary)


@given(
    st.builds(
        Entity,
        number=numbers,
        uuid=st.uuids(),
        name=names.map(str.strip).filter(bool),
        project_id=texts,
        channel=texts,
        created_at=instants,
    )
)
def test_an_entity_and_its_alias_come_back_as_they_were(entity):
    kind, members = read(lines.entity_line(entity))
    assert kind == "entity"
    for name in ("number", "uuid", "name", "project_id", "channel", "declared_by", "created_at"):
        assert members[name] == getattr(entity, name)
    alias = EntityAlias(alias=entity.name, project_id=entity.channel, channel=entity.project_id)
    alias._state.fields_cache["entity"] = entity
    _, members = read(lines.alias_line(alias))
    assert (members["entity"], members["alias"], members["channel"]) == (
        entity.uuid,
        entity.name,
        entity.project_id,
    )


@given(st.binary(max_size=200) | texts.map(str.encode) | json_values.map(lambda v: json.dumps(v).encode()))
def test_any_line_is_read_or_refused_with_a_reason(data):
    bad, members = None, {}
    try:
        _, members = lines.read_line(Line(1, data, 0))
    except lines.BadLine as refused:
        bad = refused
    assert (bad is None) == ("content" in members)
    if bad is not None:
        assert bad.code
        assert bad.message
        assert storable(bad.pointer)


parts = st.lists(
    st.sampled_from([b"\n", b"\r\n", b"a", b"bc", b" ", b"\xe5\xb1", b"\xef\xbb\xbf", b"\r", b"{}"]),
    max_size=30,
)


def in_lines(file):
    """What lines are, said once more and simply."""
    whole = file.split(b"\n")
    if whole[-1] == b"":
        whole.pop()
    read, after = [], 0
    for number, data in enumerate(whole, start=1):
        after = min(after + len(data) + 1, len(file))
        data = data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data
        read.append(Line(number, data.strip(b" \t\r"), after))
    return read


@given(parts, st.integers(1, 9))
def test_lines_are_the_same_however_the_file_is_cut(parts, size):
    file = b"".join(parts)
    cut = [file[start : start + size] for start in range(0, len(file), size)]
    read = list(lines_of(cut))
    assert read == in_lines(file)
    for line in read:
        rest = list(lines_of([file[line.after :]], number=line.number, offset=line.after))
        assert rest == read[line.number :]


@given(st.lists(st.binary(max_size=20), max_size=10))
def test_pieces_are_the_file(parts):
    assert b"".join(pieces.in_pieces(parts)) == b"".join(parts)


def test_every_piece_but_the_last_is_as_long(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_BYTES", 4)
    assert list(pieces.in_pieces([b"a", b"bcdefghij", b"", b"kl"])) == [b"abcd", b"efgh", b"ijkl"]
    assert list(pieces.in_pieces([b"abcde"])) == [b"abcd", b"e"]
    assert list(pieces.in_pieces([])) == []


@pytest.mark.parametrize("longest", [3, 10])
def test_a_line_that_is_too_long_is_skipped_and_its_place_kept(longest, monkeypatch):
    monkeypatch.setattr(pieces, "MAX_LINE_BYTES", longest)
    file = b"ab\n" + b"x" * 25 + b"\ncd\n" + b"y" * 40
    read = list(lines_of([file[n : n + 4] for n in range(0, len(file), 4)]))
    assert [(line.number, line.data, line.after) for line in read] == [
        (1, b"ab", 3), (2, None, 29), (3, b"cd", 32), (4, None, 72),
    ]  # fmt: skip


@given(st.lists(st.sampled_from([b"a", b"b", b"c", b"d", b""]), max_size=30), st.integers(0, 30))
def test_equal_lines_are_told_apart_by_their_place_among_each_other(data, past):
    past = min(past, len(data))
    file = [Line(number, text, 0) for number, text in enumerate(data, start=1)]
    occurrences = Occurrences(file, past=past)
    assert occurrences.total == len(data)
    for place in range(past, len(data)):
        if data[place]:
            told = occurrences.message_id(data[place])
            assert told.endswith(f":{data[: place + 1].count(data[place])}")
            assert len(told) < 256


def test_the_header_is_written_the_same_way_every_time():
    told = {
        "language": "english",
        "counts": dict.fromkeys(lines.COUNTED, 1),
        "last": dict.fromkeys(lines.NUMBERED, 1),
    }
    early = datetime(2026, 1, 1, tzinfo=UTC)
    header = lines.header_line(**told, believed_at=early)
    kind, members = read(header)
    assert kind == "header"
    assert members["believed_at"] == early
    assert lines.write_line(header) == lines.write_line(lines.header_line(**told, believed_at=early))
    assert lines.header_line(**told, believed_at=early + timedelta(1)) != header
    assert "believed_at" not in read(lines.header_line(**told, believed_at=None))[1]
