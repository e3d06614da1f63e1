"""A store out and in again: equal, once, and whatever happens on the way."""

import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryconsole import jobs, search
from memoryconsole.models import (
    Entity,
    Job,
    JobChunk,
    Mention,
    Record,
    Store,
    StoreCounter,
    Summary,
    SummarySource,
)
from memoryconsole.services import forget, ingest, transfer
from memoryconsole.services.ingest import NewRecord, NewSummary
from memoryconsole.services.transfer import export, imports, pieces
from tests.conftest import make_store
from tests.services.transfer_world import counts, exported, fill, imported, lines, shape, start, work


@pytest.fixture
def filled(store, ada):
    fill(store, ada)
    return store


@pytest.fixture
def empty(ada):
    return make_store(ada, "attic")


def rows_of(store):
    return [Record.objects.filter(store=store).count(), Summary.objects.filter(store=store).count()]


# Out


def test_a_file_begins_with_its_header_and_ends_with_its_count(filled):
    file = exported(filled)
    first, *middle, last = [json.loads(line) for line in file.splitlines()]
    assert (first["kind"], first["format"], first["language"]) == ("header", "memoryconsole/1", "english")
    assert first["last"] == {"record": 14, "summary": 5, "entity": 4, "association": 6}
    assert "vectors" in first["excluded"]
    assert last == {"kind": "end", "lines": len(middle) + 1}
    kinds = [line["kind"] for line in middle]
    assert kinds == sorted(kinds, key=list(first["counts"]).index)
    assert first["counts"] == {kind: kinds.count(kind) for kind in first["counts"]}
    # Deleted rows are not in it, and nothing refers to them by name.
    assert [line["number"] for line in middle if line["kind"] == "record"] == [
        1,
        3,
        4,
        5,
        6,
        7,
        9,
        10,
        11,
        12,
        13,
    ]
    assert "soon gone" not in file.decode()


def test_it_says_nothing_of_when_and_where_it_was_written(filled):
    assert exported(filled) == exported(filled)
    assert filled.public_id not in exported(filled).decode()
    assert filled.name not in exported(filled).decode()


def test_an_empty_store_is_a_file_too(store, empty, ada):
    file = exported(store)
    assert len(file.splitlines()) == 2
    assert imported(empty, ada, file).state == "done"
    assert exported(empty) == file


def test_a_job_writes_the_same_file_in_pieces_and_tells_how_far_it_is(filled, ada, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_BYTES", 700)
    job = transfer.start_export(filled, by=ada, now=timezone.now())
    assert transfer.file_of(job) is None
    jobs.run(job.pk)
    job.refresh_from_db()
    assert JobChunk.objects.filter(job=job).count() > 3
    assert b"".join(transfer.file_of(job)) == exported(filled)
    assert (job.state, job.done, job.total) == ("done", job.total, len(exported(filled).splitlines()))


def test_an_export_is_of_one_moment(filled, ada, monkeypatch):
    """Rows that come while it is read are not in it, however long it takes."""
    monkeypatch.setattr(pieces, "PIECE_BYTES", 500)
    before = exported(filled)
    report = jobs.report

    def report_and_write(job, **options):
        ingest.store_records(filled, [NewRecord(content="meanwhile")], by=ada, now=timezone.now())
        report(job, **options)

    job = transfer.start_export(filled, by=ada, now=timezone.now())
    held = []

    def hold(*args, **options):
        # From the second report on: the snapshot is taken by then.
        (report_and_write if held else report)(*args, **options)
        held.append(1)

    monkeypatch.setattr(export, "_AHEAD", 1)
    monkeypatch.setattr(jobs, "report", hold)
    jobs.run(job.pk)
    job.refresh_from_db()
    file = b"".join(transfer.file_of(job))
    assert len(held) > 4
    assert file == before


def test_an_export_whose_worker_died_begins_again(filled, ada, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_BYTES", 500)
    report, calls = jobs.report, []

    def die(job, **options):
        report(job, **options)
        calls.append(1)
        if len(calls) == 4:
            raise SystemExit

    job = transfer.start_export(filled, by=ada, now=timezone.now())
    monkeypatch.setattr(jobs, "report", die)
    with pytest.raises(SystemExit):
        jobs.run(job.pk)
    monkeypatch.setattr(jobs, "report", report)
    Job.objects.filter(pk=job.pk).update(leased_until=timezone.now())
    ingest.store_records(filled, [NewRecord(content="meanwhile")], by=ada, now=timezone.now())
    jobs.run(job.pk)
    job.refresh_from_db()
    assert b"".join(transfer.file_of(job)) == exported(filled)


def test_a_fault_while_the_store_is_read_fails_the_job_and_leaves_no_file(filled, ada, monkeypatch):
    def fail(record):
        raise ValueError("walrus")

    monkeypatch.setattr(export.lines, "record_line", fail)
    job = transfer.start_export(filled, by=ada, now=timezone.now())
    jobs.run(job.pk)
    job.refresh_from_db()
    assert job.state == "queued"
    assert "ValueError" in job.message
    assert "walrus" not in job.message
    assert transfer.file_of(job) is None


def test_a_cancelled_export_stops(filled, ada, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_BYTES", 300)
    job = transfer.start_export(filled, by=ada, now=timezone.now())
    report = jobs.report

    def cancel(held, **options):
        report(held, **options)
        jobs.cancel(held, now=timezone.now())

    monkeypatch.setattr(jobs, "report", cancel)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, transfer.file_of(job)) == ("cancelled", None)


def test_what_is_deleted_is_in_no_file_any_more(filled, ada):
    """A file made before, and one being made, would give the deleted text out."""
    made, making = (transfer.start_export(filled, by=ada, now=timezone.now()) for _ in range(2))
    jobs.run(made.pk)
    Job.objects.filter(pk=making.pk).update(
        state="running", attempts=1, leased_until=timezone.now() + jobs.LEASE
    )
    making.refresh_from_db()
    forget.delete_record(filled, 1, by=ada, now=timezone.now())
    made.refresh_from_db()
    assert made.state == "done"
    assert transfer.file_of(made) is None
    with pytest.raises(jobs.LeaseLost):
        jobs.report(making, done=1)
    jobs.run(making.pk)
    making.refresh_from_db()
    file = b"".join(transfer.file_of(making)).decode()
    assert "ferry leaves" not in file


def test_files_go_after_a_day_and_an_imports_at_once(filled, ada, empty):
    job = transfer.start_export(filled, by=ada, now=timezone.now())
    jobs.run(job.pk)
    cancelled = start(empty, ada, lines({"content": "x"}))
    jobs.cancel(cancelled, now=timezone.now())
    waiting = start(empty, ada, lines({"content": "x"}))
    transfer.drop_files(now=timezone.now())
    job.refresh_from_db()
    assert transfer.file_of(job) is not None
    assert not JobChunk.objects.filter(job=cancelled).exists()
    assert JobChunk.objects.filter(job=waiting).exists()
    transfer.drop_files(now=timezone.now() + export.FILES_KEPT * 2)
    assert transfer.file_of(job) is None


# In: an empty store becomes the exported one


def test_out_in_and_out_again_is_equal(filled, empty, ada):
    file = exported(filled)
    job = imported(empty, ada, file)
    assert (job.state, job.errors) == ("done", [])
    assert counts(job) == (len(file.splitlines()) - 2, 0, 0)
    assert exported(empty) == file
    assert shape(empty) == shape(filled)
    # The next rows are numbered alike, too.
    for store in (filled, empty):
        (stored,) = ingest.store_records(store, [NewRecord(content="next")], by=ada, now=timezone.now())
        assert stored.ref == "mem:15"
    assert not JobChunk.objects.filter(job=job).exists()


def test_a_restored_store_finds_what_the_exported_one_finds(filled, empty, ada):
    imported(empty, ada, exported(filled))
    for words in ("ferry", "灯台", "calm week", "nobody"):
        both = [search.records_with_words(store, words) for store in (filled, empty)]
        numbers = [
            sorted(Record.objects.filter(pk__in=found).values_list("number", flat=True)) for found in both
        ]
        assert numbers[0] == numbers[1]


def test_the_language_comes_along_into_an_empty_store(ada, empty):
    german = make_store(ada, "keller", language="german")
    ingest.store_records(german, [NewRecord(content="die Fähren fahren")], by=ada, now=timezone.now())
    file = exported(german)
    imported(empty, ada, file)
    empty.refresh_from_db()
    assert (empty.language, empty.version) == ("german", 2)
    assert exported(empty) == file


def test_whoever_writes_meanwhile_gets_later_numbers(filled, empty, ada, monkeypatch):
    monkeypatch.setattr(imports, "BATCH_LINES", 2)
    file = exported(filled)
    advance, refs = jobs.advance, []

    def advance_and_write(*args, **options):
        advance(*args, **options)
        if not refs:
            # In the transaction of the header's batch: the next writer sees what it reserved.
            refs.append(None)
            return
        if refs == [None]:
            (stored,) = ingest.store_records(empty, [NewRecord(content="mine")], by=ada, now=timezone.now())
            refs.append(stored.ref)

    monkeypatch.setattr(jobs, "advance", advance_and_write)
    job = imported(empty, ada, file)
    assert (job.state, job.errors) == ("done", [])
    assert refs[1] == "mem:15"
    mine = Record.objects.get(store=empty, number=15)
    assert not Record.objects.filter(store=empty, number__lt=15, believed_at__gte=mine.believed_at).exists()


def test_the_same_file_again_changes_nothing(filled, empty, ada):
    file = exported(filled)
    imported(empty, ada, file)
    before = exported(empty)
    again = imported(empty, ada, file)
    assert counts(again) == (0, len(file.splitlines()) - 2, 0)
    assert exported(empty) == before
    # And into the store it came from.
    assert counts(imported(filled, ada, file))[0] == 0
    assert exported(filled) == file


# In: a store that has rows of its own


def test_elsewhere_rows_get_new_numbers_and_say_the_same(filled, ada):
    other = make_store(ada, "attic")
    own = [NewRecord(content=f"own {n}") for n in range(3)]
    ingest.store_records(other, own, by=ada, now=timezone.now())
    job = imported(other, ada, exported(filled))
    assert (job.state, job.errors) == ("done", [])
    records, *rest = shape(other)
    theirs, *expected = shape(filled)
    assert records[3:] == theirs
    assert rest == expected
    numbers = [*Record.objects.filter(store=other).order_by("number").values_list("number", flat=True)]
    assert numbers == list(range(1, 15))
    beliefs = [*Record.objects.filter(store=other).order_by("number").values_list("believed_at", flat=True)]
    assert beliefs == sorted(set(beliefs))
    assert (
        Record.objects.get(store=other, number=4).created_at
        > Record.objects.get(store=filled, number=1).created_at
    )
    # What was gone keeps its place, and points at nobody's number.
    gone = SummarySource.objects.filter(store=other, record=None, child=None)
    assert set(gone.values_list("number", flat=True)) == {0}
    before = exported(other)
    assert counts(imported(other, ada, exported(filled)))[0] == 0
    assert exported(other) == before


def test_a_row_that_says_something_else_under_a_known_uuid_is_told(filled, ada):
    changed = exported(filled).replace(b"the ferry leaves at nine", b"the ferry leaves at ten!")
    job = imported(filled, ada, changed)
    assert [(e["line"], e["code"], e["pointer"]) for e in job.errors] == [(2, "conflict", "/uuid")]
    assert Record.objects.get(store=filled, number=1).content == "the ferry leaves at nine"


def test_a_row_that_was_deleted_here_does_not_come_back_while_it_is_erased(filled, ada):
    file = exported(filled)
    forget.delete_record(filled, 1, by=ada, now=timezone.now())
    job = start(filled, ada, file)
    jobs.run(job.pk)
    job.refresh_from_db()
    codes = {(e["line"], e["code"]) for e in job.errors}
    assert (2, "being_erased") in codes
    # What hung on it has nothing to hang on: two mentions and no more.
    assert {code for _, code in codes} == {"being_erased", "unknown_row"}


def members(file, place):
    return json.loads(file.splitlines()[place])


def spoiled(file, place, **changes):
    all_lines = file.splitlines()
    all_lines[place] = json.dumps(json.loads(all_lines[place]) | changes).encode()
    return b"\n".join(all_lines) + b"\n"


@pytest.mark.parametrize(
    ("place", "changes", "code", "pointer"),
    [
        (2, {"number": 1}, "conflict", "/number"),
        (1, {"number": 99}, "conflict", "/number"),
        (1, {"believed_at": "2999-01-01T00:00:00Z"}, "conflict", "/believed_at"),
        (1, {"uuid": "x"}, "invalid", "/uuid"),
        (1, {"uuid": "6F9619FF-8B86-D011-B42D-00C04FC964FF"}, "invalid", "/uuid"),
        (1, {"number": 0}, "min_value", "/number"),
        (1, {"number": True}, "invalid", "/number"),
        (1, {"created_at": "yesterday"}, "invalid", "/created_at"),
        (1, {"associations": {}}, "unknown", "/associations"),
        (1, {"content": "x" * 200_001}, "max_length", "/content"),
        (12, {"sources": [1]}, "contradiction", "/source_ids"),
        (16, {"name": ""}, "blank", "/name"),
        (16, {"name": " \t"}, "blank", "/name"),
        (19, {"alias": "\u3000"}, "blank", "/alias"),
        (27, {"predicate": " "}, "blank", "/predicate"),
        (16, {"declared_by": "nobody"}, "invalid_choice", "/declared_by"),
        (19, {"entity": "00000000-0000-0000-0000-000000000000"}, "unknown_row", "/entity"),
        (23, {"by": "record:00000000-0000-0000-0000-000000000000"}, "unknown_row", "/by"),
        (23, {"by": "entity:00000000-0000-0000-0000-000000000000"}, "invalid", "/by"),
        (27, {"subject": "record:00000000-0000-0000-0000-000000000000"}, "unknown_row", "/subject"),
        (27, {"anchor": "entity:00000000-0000-0000-0000-000000000000"}, "invalid", "/anchor"),
    ],
)  # fmt: skip
def test_a_spoiled_line_is_told_and_the_rest_is_kept(place, changes, code, pointer, filled, empty, ada):
    file = exported(filled)
    job = imported(empty, ada, spoiled(file, place, **changes))
    assert job.state == "done"
    own = [error for error in job.errors if error["line"] == place + 1]
    assert [(error["code"], error.get("pointer")) for error in own] == [(code, pointer)]
    # What refers to a row that did not come is told as well.
    assert {error["code"] for error in job.errors} <= {code, "unknown_row"}
    created, _, bad = counts(job)
    assert created + bad == len(file.splitlines()) - 2


def test_what_a_line_declares_is_trimmed_and_blanks_are_no_message_id(filled, empty, ada):
    file = spoiled(exported(filled), 16, name="  Quay ")
    for place in (1, 2):
        file = spoiled(file, place, message_id="  ")
    job = imported(empty, ada, spoiled(file, 3, message_id=" m-9 "))
    assert (job.state, job.errors) == ("done", [])
    records = Record.objects.filter(store=empty).order_by("number")[:3]
    assert [record.message_id for record in records] == ["", "", "m-9"]
    assert Entity.objects.filter(store=empty, name="Quay").count() == 1
    again = imported(make_store(ada, "cellar"), ada, exported(empty))
    assert (again.state, again.errors) == ("done", [])


def test_a_summary_whose_source_did_not_come_keeps_the_place_and_says_so(filled, empty, ada):
    file = exported(filled)
    job = imported(empty, ada, spoiled(file, 6, number=0))  # the record m-1, source of "said elsewhere"
    assert counts(job)[2] >= 1
    summary = Summary.objects.get(store=empty, summary="said elsewhere")
    assert summary.sources_gone
    assert [(s.number, s.record_id) for s in summary.sources.all()] == [(0, None)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"format": "memoryconsole/2"}, "/format"),
        ({"last": {"record": 10**17, "summary": 0, "entity": 0, "association": 0}}, "/last/record"),
        ({"language": "klingon"}, "/language"),
        ({"believed_at": "2999-01-01T00:00:00Z"}, "/believed_at"),
        ({"extra": 1}, "/extra"),
    ],
)  # fmt: skip
def test_a_header_that_cannot_be_read_fails_the_job_and_changes_nothing(changes, said, filled, empty, ada):
    job = imported(empty, ada, spoiled(exported(filled), 0, **changes))
    assert job.state == "failed"
    assert said in job.message
    assert rows_of(empty) == [0, 0]
    assert StoreCounter.objects.get(store=empty).record == 0


@pytest.mark.parametrize(
    ("last", "kept"),
    [(imports.MAX_TAKEN_OVER, True), (imports.MAX_TAKEN_OVER + 1, False), (10**15 - 1, False)],
)
def test_a_file_cannot_leave_a_store_without_numbers(last, kept, filled, empty, ada):
    header = {"record": last, "summary": last, "entity": last, "association": last}
    file = exported(filled)
    job = imported(empty, ada, spoiled(file, 0, last=header))
    assert (job.state, counts(job)[2]) == ("done", 0)
    (stored,) = ingest.store_records(empty, [NewRecord(content="mine")], by=ada, now=timezone.now())
    number = int(stored.ref.removeprefix("mem:"))
    assert (number == last + 1) == kept
    # An address names it, and what is exported now is taken again.
    assert number < 10**15
    again = imported(make_store(ada, "cellar"), ada, exported(empty))
    assert (again.state, counts(again)[2]) == ("done", 0)


def test_a_file_that_was_cut_short_says_so(filled, empty, ada):
    file = exported(filled)
    job = imported(empty, ada, file[: file.index(b'{"kind":"end"')])
    assert job.state == "failed"
    assert "cut short" in job.message
    assert exported(empty) == file  # what stood before the cut was taken in
    inside = imported(make_store(ada), ada, file[: len(file) // 2])
    assert "cut short" in inside.message


def test_a_file_with_a_line_missing_says_so(filled, empty, ada):
    kept = [line for n, line in enumerate(exported(filled).splitlines()) if n != 4]
    job = imported(empty, ada, lines(*kept))
    assert job.state == "failed"
    assert re.search(r"counts \d+ lines before it, and there are \d+", job.message)


def test_lines_with_a_kind_need_a_header_and_nothing_follows_the_end(filled, empty, ada):
    file = exported(filled)
    headless = imported(empty, ada, file[file.index(b"\n") + 1 :])
    assert {error["code"] for error in headless.errors} == {"no_header"}
    assert counts(headless)[0] == 0
    job = imported(empty, ada, file + lines({"content": "late"}, {"kind": "header"}, {"kind": "walrus"}))
    assert [error["code"] for error in job.errors] == ["after_end", "required", "unknown_kind"]
    assert job.state == "failed"


def test_without_the_scope_declarations_are_refused_and_the_rest_comes(filled, empty, ada):
    job = imported(empty, ada, exported(filled), declare=False)
    assert {error["code"] for error in job.errors} == {"not_permitted"}
    records, summaries, *declared, _ = shape(empty)
    assert [records, summaries] == shape(filled)[:2]
    assert declared == [[], [], [], []]


# In: one record a line


def test_plain_lines_are_records_as_the_api_takes_them(store, ada, empty):
    file = lines(
        {"content": "first", "message_id": "m", "timestamp": "2026-01-05T10:00:00+01:00", "session_id": "s"},
        {"content": "first", "message_id": "m"},
        {"content": "second", "message_id": "m", "source": {"type": "User", "id": "u1", "name": "Dag"}},
        {"content": "灯台"},
    )
    job = imported(store, ada, file)
    assert (job.state, counts(job), job.done, job.total) == ("done", (3, 1, 0), 4, 4)
    rows = Record.objects.filter(store=store).order_by("number").select_related("session")
    assert [row.content for row in rows] == ["first", "second", "灯台"]
    assert (rows[0].timestamp, rows[0].session.session_id) == ("2026-01-05T10:00:00+01:00", "s")
    assert rows[1].source_name == "Dag"
    assert len(search.records_with_words(store, "灯台")) == 1


def test_equal_lines_without_a_message_id_are_as_many_records_and_the_same_ones_next_time(
    store, ada, monkeypatch
):
    monkeypatch.setattr(imports, "BATCH_LINES", 2)
    same = {"content": "tick"}
    file = lines(same, {"content": "tock"}, same, same, {"content": "tock", "role": "user"}, same)
    assert counts(imported(store, ada, file)) == (6, 0, 0)
    assert counts(imported(store, ada, file)) == (0, 6, 0)
    # A longer file of the same source brings what is new.
    assert counts(imported(store, ada, lines({"content": "before"}) + file + lines(same))) == (2, 6, 0)
    assert Record.objects.filter(store=store, content="tick").count() == 5
    assert Record.objects.filter(store=store, message_id__regex=r"^import:[0-9a-f]{64}:[1-5]$").count() == 8


BAD_LINES = [
    (b"{", "invalid_json", None),
    (b'{"content": "x"} tail', "invalid_json", None),
    (b'"text"', "invalid", None),
    (b"[1]", "invalid", None),
    (b"7", "invalid", None),
    (b"null", None, None),
    (b'{"content": "\xff"}', "invalid_json", None),
    (b'{"content": "\xed\xa0\x80"}', "invalid_json", None),
    (b'{"content": "a\x00b"}', "invalid_json", None),
    (b'{"content": "a\\u0000b"}', "unstorable_text", "/content"),
    (b'{"content": "\\ud800"}', "unstorable_text", "/content"),
    (b'{"content": NaN}', "invalid_json", None),
    (b'{"content": "x", "content": "y"}', "invalid_json", None),
    (b'{"content": "x", "extra": 1}', "unknown", "/extra"),
    (b'{"content": 1}', "invalid", "/content"),
    (b'{"content": ""}', "blank", "/content"),
    (b"{}", "required", "/content"),
    (b'{"content": "x", "message_id": 7}', "invalid", "/message_id"),
    (b'{"content": "x", "source": {"type": "Robot"}}', "invalid_choice", "/source/type"),
    (b'{"content": "' + b"x" * 200_001 + b'"}', "max_length", "/content"),
    (b'{"content": "' + b"x" * 5_000_000 + b'"}', "max_length", "/content"),
    (b'{"content": "' + b"x" * 9_000_000 + b'"}', "line_too_long", None),
    (b"[" * 100_000, "invalid_json", None),
    (b'{"kind": "walrus", "content": "x"}', "unknown_kind", "/kind"),
    (b'{"kind": 7}', "unknown_kind", "/kind"),
    (b"\xa0", "invalid_json", None),
]


@pytest.mark.parametrize(("line", "code", "pointer"), BAD_LINES, ids=[str(bad[0][:40]) for bad in BAD_LINES])
def test_a_bad_line_is_told_with_its_number_and_skipped(line, code, pointer, store, ada):
    job = imported(store, ada, b'{"content": "before"}\n' + line + b'\n{"content": "after"}\n')
    assert (job.state, counts(job)) == ("done", (2, 0, 1))
    (error,) = job.errors
    assert error["line"] == 2
    assert error.get("pointer") == pointer
    assert code is None or error["code"] == code
    assert "xxxx" not in error["message"]
    assert [*Record.objects.filter(store=store).order_by("number").values_list("content", flat=True)] == [
        "before",
        "after",
    ]


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (b'\xef\xbb\xbf{"content": "a"}\n{"content": "b"}', (2, 0, 0)),
        (b'{"content": "a"}\r\n\r\n{"content": "b"}\r\n', (2, 0, 0)),
        (b'\n\n  \t\n{"content": "a"}\n\n', (1, 0, 0)),
        (b"\n", (0, 0, 0)),
        (b"   ", (0, 0, 0)),
        (b"no json at all\nnor here", (0, 0, 2)),
        (bytes(range(256)) * 20, (0, 0, 21)),
        ('{"content": "a"}\n'.encode("utf-16"), (0, 0, 2)),
        (b"\xef\xbb\xbf", (0, 0, 0)),
    ],
    ids=["mark", "crlf", "blank", "one end", "spaces", "prose", "binary", "utf-16", "mark alone"],
)
def test_whatever_is_sent_is_read_as_lines(file, expected, store, ada):
    job = imported(store, ada, file)
    assert (job.state, counts(job)) == ("done", expected)


def test_a_hundred_bad_lines_are_told_and_all_are_counted(store, ada):
    job = imported(store, ada, lines(*[b"{"] * 700, {"content": "good"}))
    assert counts(job) == (1, 0, 700)
    assert [error["line"] for error in job.errors] == list(range(1, 101))


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1000])
def test_the_size_of_the_pieces_does_not_show(size, filled, empty, ada, monkeypatch):
    file = exported(filled)
    monkeypatch.setattr(pieces, "PIECE_BYTES", size)
    short = file if size > 60 else lines({"content": "a"}, {"content": "灯台"}, b"", {"content": "c"})
    job = imported(empty, ada, short)
    assert (job.state, job.errors) == ("done", [])
    if short is file:
        monkeypatch.undo()
        assert exported(empty) == file
    else:
        assert counts(job) == (3, 0, 0)


# Whatever happens on the way


PLAIN = lines(
    *({"content": f"note {n % 4}", **({"message_id": f"m{n % 3}"} if n % 2 else {})} for n in range(12)),
    b"{",
    {"content": "the last"},
)


def undisturbed(file, ada):
    whole = make_store(ada, "whole")
    job = imported(whole, ada, file)
    return counts(job), [
        *Record.objects.filter(store=whole).order_by("number").values_list("content", "message_id")
    ]


@pytest.mark.parametrize(
    ("step", "when"), [*((n, "before") for n in range(1, 9)), *((n, "after") for n in range(1, 8))]
)
def test_a_worker_that_dies_at_any_step_loses_nothing_and_doubles_nothing(
    step, when, store, ada, monkeypatch
):
    """`before`: inside the batch's transaction, its rows written. `after`: when it is committed."""
    monkeypatch.setattr(imports, "BATCH_LINES", 2)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 50)
    expected = undisturbed(PLAIN, ada)
    store_batch, advance, calls = imports._Import._store, jobs.advance, []

    def die_inside(*args, **options):
        advance(*args, **options)
        calls.append(1)
        if len(calls) == step:
            raise SystemExit

    def die_after(self, batch):
        store_batch(self, batch)
        calls.append(1)
        if len(calls) == step:
            raise SystemExit

    if when == "before":
        monkeypatch.setattr(jobs, "advance", die_inside)
    else:
        monkeypatch.setattr(imports._Import, "_store", die_after)
    job = start(store, ada, PLAIN)
    try:
        jobs.run(job.pk)
    except SystemExit:
        Job.objects.filter(pk=job.pk).update(leased_until=timezone.now())
        jobs.run(job.pk)
    job.refresh_from_db()
    assert len(calls) >= step
    assert job.state == "done"
    rows = [*Record.objects.filter(store=store).order_by("number").values_list("content", "message_id")]
    assert (counts(job), rows) == expected
    assert len(job.errors) == 1


def test_an_exported_file_survives_a_worker_that_dies_at_every_batch(filled, empty, ada, monkeypatch):
    monkeypatch.setattr(imports, "BATCH_LINES", 3)
    file = exported(filled)
    advance, odd = jobs.advance, []

    def die_every_other_time(*args, **options):
        odd.append(1)
        if len(odd) % 2:
            raise SystemExit
        advance(*args, **options)

    monkeypatch.setattr(jobs, "advance", die_every_other_time)
    job = start(empty, ada, file)
    deaths = 0
    while True:
        try:
            jobs.run(job.pk)
        except SystemExit:
            deaths += 1
            Job.objects.filter(pk=job.pk).update(leased_until=timezone.now())
        job.refresh_from_db()
        if job.state != "running":
            break
    # Every batch died once and the next lease took it in and died at the one after.
    assert deaths > 12
    assert (job.state, job.errors) == ("done", [])
    assert counts(job) == (len(file.splitlines()) - 2, 0, 0)
    assert exported(empty) == file


def test_two_workers_on_one_job_store_its_rows_once(store, ada, monkeypatch):
    """The first lost its lease and does not know yet; the second is done when it comes back."""
    monkeypatch.setattr(imports, "BATCH_LINES", 3)
    expected = undisturbed(PLAIN, ada)
    store_batch, taken = imports._Import._store, []

    def overtaken(self, batch):
        if len(taken) == 1:
            taken.append("second")
            Job.objects.filter(pk=self._job.pk).update(leased_until=timezone.now())
            jobs.run(self._job.pk)
        elif not taken:
            taken.append("first")
        store_batch(self, batch)

    monkeypatch.setattr(imports._Import, "_store", overtaken)
    job = start(store, ada, PLAIN)
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, job.attempts) == ("done", 2)
    rows = [*Record.objects.filter(store=store).order_by("number").values_list("content", "message_id")]
    assert (counts(job), rows) == expected


def test_a_cancelled_import_keeps_what_it_has_and_stops(store, ada, monkeypatch):
    monkeypatch.setattr(imports, "BATCH_LINES", 2)
    store_batch = imports._Import._store

    def cancel(self, batch):
        store_batch(self, batch)
        jobs.cancel(self._job, now=timezone.now())

    monkeypatch.setattr(imports._Import, "_store", cancel)
    job = imported(store, ada, PLAIN)
    assert (job.state, job.done) == ("cancelled", 2)
    assert Record.objects.filter(store=store).count() == 2


def test_a_job_that_was_finished_but_not_settled_is_settled(store, ada):
    job = imported(store, ada, PLAIN)
    told = counts(job)
    Job.objects.filter(pk=job.pk).update(state="running", leased_until=timezone.now())
    jobs.run(job.pk)
    job.refresh_from_db()
    assert (job.state, counts(job)) == ("done", told)


def test_nothing_of_the_file_is_in_what_is_told(store, ada):
    secret = "walrus"
    file = lines(
        b'{"content": "walrus' + b"",
        {"content": 7, "role": secret},
        {"content": secret * 50_000},
        {"content": "x", "source": {"type": secret}},
        {"content": "x", "timestamp": secret * 20},
    )
    job = imported(store, ada, file)
    assert counts(job)[2] == 5
    assert secret not in json.dumps(job.errors) + job.message


def test_other_stores_are_not_touched(filled, empty, ada):
    before = exported(filled)
    third = make_store(ada, "third")
    ingest.store_records(third, [NewRecord(content="own")], by=ada, now=timezone.now())
    imported(empty, ada, before)
    imported(third, ada, before)
    assert exported(filled) == before
    assert exported(empty) == before
    assert Store.objects.filter(pk=filled.pk).exists()


def test_deleting_the_store_takes_its_files(filled, ada):
    job = transfer.start_export(filled, by=ada, now=timezone.now())
    jobs.run(job.pk)
    forget.delete_store(filled, by=ada, now=timezone.now())
    work(filled)
    assert not JobChunk.objects.filter(store_id=filled.pk).exists()


RIDERS = lines(
    {"content": "Dag took the ferry", "associations": {"entities": [{"name": "Dag"}, {"name": ""}]}},
    {"content": "nothing rides here", "associations": None},
)


def test_what_rides_on_a_plain_line_is_declared_with_it(store, ada):
    job = imported(store, ada, RIDERS)
    assert counts(job) == (2, 0, 0)
    assert [(e["line"], e["code"], e["pointer"]) for e in job.errors] == [
        (1, "dropped", "/associations/entities/1")
    ]
    mention = Mention.objects.get(store=store)
    assert (mention.record.content, mention.entity.name, mention.declared_by) == (
        "Dag took the ferry", "Dag", "operator",
    )  # fmt: skip
    assert counts(imported(store, ada, RIDERS)) == (0, 2, 0)
    assert Mention.objects.filter(store=store).count() == 1


def test_without_the_scope_the_line_is_stored_and_says_so(store, ada):
    job = imported(store, ada, RIDERS, declare=False)
    assert counts(job) == (2, 0, 0)
    assert [(e["line"], e["code"], e["pointer"]) for e in job.errors] == [(1, "dropped", "/associations")]
    assert not Mention.objects.filter(store=store).exists()


def test_more_lines_of_a_batch_take_no_more_statements(ada):
    """In and out: rows and what refers to them are looked up together."""

    def statements(amount):
        source = make_store(ada)
        rows = [NewRecord(content=f"note {n}", session_id=f"s{n % 3}") for n in range(amount)]
        ingest.store_records(source, rows, by=ada, now=timezone.now())
        numbers = tuple(range(1, amount + 1))
        summary = NewSummary(summary="all of them", source_type="messages", source_ids=numbers)
        ingest.store_summary(source, summary, by=ada, now=timezone.now())
        names = {
            "entities": [{"name": f"Buoy {n}", "aliases": [f"b{n}"]} for n in range(amount)],
            "relations": [],
        }
        ridden = NewRecord(content="they lie there", associations=names)
        ingest.store_records(source, [ridden], by=ada, declared_by="operator", now=timezone.now())
        with CaptureQueriesContext(connection) as out:
            file = exported(source)
        target = make_store(ada)
        job = start(target, ada, file)
        with CaptureQueriesContext(connection) as taken:
            jobs.run(job.pk)
        assert exported(target) == file
        return len(out), len(taken)

    few, many = statements(3), statements(40)
    assert many == few
