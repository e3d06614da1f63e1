"""Commands on one fact: evidence, windows, succession, retraction, verdicts; and the versions they are meant for."""

import uuid
from datetime import UTC, datetime

import pytest

from memoryconsole.models import FactEvidence, FactWindow, IndexEntry, WindowCitation
from tests.facts.test_declaring import conflict, refused
from tests.facts.world import contradicts, ref, state, supports


def dated(claim, since=None, until=None, precision="year"):
    return {
        "window": {"from": since, "until": until, "precision": precision},
        "window_claim_ids": [str(claim.uuid)],
    }


def at(*date):
    return datetime(*date, tzinfo=UTC)


def window(fact):
    fact.refresh_from_db()
    return fact.valid_from, fact.valid_until, fact.valid_precision


UNKNOWN = (None, None, "unknown")
COMMANDS = {
    "evidence": lambda claim, other: supports(other),
    "evidence/detach": lambda claim, other: {"claim_id": str(claim.uuid)},
    "window": lambda claim, other: dated(claim, "2024"),
    "supersede": lambda claim, other: {"successor": {"kind": "observation", "id": str(other.uuid)}},
    "retract": lambda claim, other: {"reason": "a slip"},
    "support": lambda claim, other: {"verdict": "uncertain"},
}


class TestEveryCommand:
    @pytest.mark.parametrize("name", COMMANDS)
    def test_another_version_than_the_one_it_was_meant_for(self, name, world, tern):
        claim = world.claim()
        fact = world.observe(tern, "is full", claim)
        before = state(world.store)
        for version in ('"2"', '"x"', "0"):
            answer = world.command(
                fact, name, COMMANDS[name](claim, world.claim()), status=412, HTTP_IF_MATCH=version
            )
            assert answer.json()["code"] == "stale_resource"
        assert state(world.store) == before

    @pytest.mark.parametrize("name", COMMANDS)
    def test_a_fact_that_is_held_no_longer(self, name, world, tern):
        claim, other = world.claim(), world.claim()
        fact = world.observe(tern, "is full", claim, other)
        world.command(fact, "retract", {"reason": "a slip"})
        before = state(world.store)
        conflict(world.command(fact, name, COMMANDS[name](claim, world.claim()), status=409))
        assert state(world.store) == before

    @pytest.mark.parametrize("name", COMMANDS)
    def test_a_fact_that_is_not_there(self, name, world, tern):
        answer = world.post(
            f"/facts/relation/{uuid.uuid4()}/{name}", COMMANDS[name](world.claim(), world.claim())
        )
        assert answer.status_code == 404

    @pytest.mark.parametrize("name", COMMANDS)
    def test_unknown_members(self, name, world, tern):
        fact = world.observe(tern, "is full", world.claim())
        refused(world.command(fact, name, {"extra": 1}, status=400), "/extra", "unknown")

    def test_a_repeated_request_is_one_command(self, world, tern):
        fact, claim = world.observe(tern, "is full", world.claim()), world.claim()
        first = world.command(
            fact, "evidence", supports(claim), HTTP_IDEMPOTENCY_KEY="k", HTTP_IF_MATCH='"1"'
        )
        second = world.command(
            fact, "evidence", supports(claim), HTTP_IDEMPOTENCY_KEY="k", HTTP_IF_MATCH='"1"'
        )
        assert (first.json(), first["ETag"]) == (second.json(), '"2"')
        assert world.outcomes(fact) == ["add", "update"]
        other = world.observe(tern, "is late", claim)
        assert (
            world.command(other, "evidence", contradicts(world.claim()), HTTP_IDEMPOTENCY_KEY="k").json()[
                "version"
            ]
            == 2
        )

    def test_the_version_read_is_the_one_to_send(self, world, tern):
        fact = world.observe(tern, "is full", world.claim())
        tag = world.api.get(f"/api/v1/stores/{world.store.public_id}/facts/observation/{fact.uuid}")["ETag"]
        answer = world.command(fact, "retract", {"reason": "a slip"}, HTTP_IF_MATCH=tag)
        assert answer["ETag"] == '"2"'


class TestEvidence:
    def test_attached_and_attached_again(self, world, tern):
        fact, claim = world.observe(tern, "is full", world.claim()), world.claim()
        assert world.command(fact, "evidence", contradicts(claim)).json()["created"] is True
        again = world.command(fact, "evidence", contradicts(claim)).json()
        assert (again["created"], again["version"]) == (False, 2)
        conflict(world.command(fact, "evidence", supports(claim), status=409))
        assert world.outcomes(fact) == ["add", "update"]
        assert world.transcript(fact)[1].features["claim"] == str(claim.uuid)
        assert world.read(fact)["documents"] == {"supports": 1, "contradicts": 1}

    def test_a_claim_that_cannot_be_evidence(self, world, tern, ferries):
        fact = world.relate(ferries, "uses", tern, world.claim())
        refused(world.command(fact, "evidence", {"claim_id": str(uuid.uuid4()), "stance": "supports"}, status=400),
                "/claim_id", "unknown")  # fmt: skip
        reported = world.claim(is_attributed=True, mentions=[ferries])
        refused(world.command(fact, "evidence", supports(reported), status=400), "/claim_id", "attributed")

    def test_of_an_observation_reported_words_name_the_subject_also_after_a_merge(self, world, tern, ferries):
        old = world.entity("The Tern")
        fact = world.observe(tern, "is full", world.claim())
        reported = world.claim(is_attributed=True, mentions=[old])
        refused(world.command(fact, "evidence", supports(reported), status=400), "/claim_id", "attributed")
        world.merge(old, tern)
        world.command(fact, "evidence", supports(reported))

    def test_detached(self, world, tern):
        first, second = world.claim(), world.claim()
        fact = world.observe(tern, "is full", first, second)
        world.command(fact, "evidence/detach", {"claim_id": str(first.uuid)})
        assert [row.claim for row in FactEvidence.objects.filter(fact=fact)] == [second]
        refused(
            world.command(fact, "evidence/detach", {"claim_id": str(first.uuid)}, status=400),
            "/claim_id",
            "unknown",
        )
        conflict(world.command(fact, "evidence/detach", {"claim_id": str(second.uuid)}, status=409))
        assert world.outcomes(fact) == ["add", "update"]

    def test_what_only_an_old_claim_supports_is_withdrawn(self, world, tern):
        current, stale = world.claim(), world.claim(is_current=False)
        fact = world.observe(tern, "is full", current, stale)
        world.command(fact, "evidence/detach", {"claim_id": str(current.uuid)})
        fact.refresh_from_db()
        assert fact.support == "withdrawn"
        assert world.outcomes(fact) == ["add", "update", "withdrawn"]
        assert world.transcript(fact)[-1].features == {}

    def test_what_the_window_rests_on_stays(self, world, tern):
        first, second = world.claim(), world.claim()
        fact = world.observe(tern, "is full", first, second, **dated(first, "2024"))
        conflict(world.command(fact, "evidence/detach", {"claim_id": str(first.uuid)}, status=409))
        world.command(fact, "window", dated(second, "2024"))
        world.command(fact, "evidence/detach", {"claim_id": str(first.uuid)})
        assert world.read(fact)["window_claim_ids"] == [str(second.uuid)]


class TestWindows:
    def test_a_correction_keeps_what_was_held_before(self, world, tern):
        claim = world.claim()
        fact = world.observe(tern, "is full", claim)
        answer = world.command(fact, "window", dated(claim, "2024", "2024")).json()
        assert (answer["changed"], answer["version"]) == (True, 2)
        assert window(fact) == (at(2024, 1, 1), at(2025, 1, 1), "year")
        world.command(fact, "window", dated(claim, None, "2024-03", "month"))
        assert window(fact) == (None, at(2024, 4, 1), "month")
        past = list(FactWindow.objects.filter(fact=fact).order_by("held_from"))
        assert [(p.valid_from, p.valid_until, p.valid_precision) for p in past] == [
            UNKNOWN, (at(2024, 1, 1), at(2025, 1, 1), "year"),
        ]  # fmt: skip
        assert past[0].held_from == fact.ingested_at
        assert past[0].held_until == past[1].held_from
        assert past[1].held_until == fact.window_since
        assert world.outcomes(fact) == ["add", "update", "update"]
        assert [row["valid_precision"] for row in world.read(fact)["past_windows"]] == ["year", "unknown"]

    def test_back_to_unknown(self, world, tern):
        claim = world.claim()
        fact = world.observe(tern, "is full", claim, **dated(claim, "2024"))
        world.command(fact, "window", {"window": {"precision": "unknown"}})
        assert window(fact) == UNKNOWN
        assert not WindowCitation.objects.filter(fact=fact).exists()

    def test_the_same_again_changes_nothing(self, world, tern):
        claim, other = world.claim(), world.claim()
        fact = world.observe(tern, "is full", claim, other, **dated(claim, "2024"))
        answer = world.command(fact, "window", dated(claim, "2024")).json()
        assert (answer["changed"], answer["version"]) == (False, 1)
        answer = world.command(fact, "window", dated(other, "2024")).json()
        assert (answer["changed"], answer["version"]) == (True, 2)
        assert not FactWindow.objects.filter(fact=fact).exists()
        assert world.outcomes(fact) == ["add", "update"]

    def test_it_rests_on_evidence_of_the_fact(self, world, tern):
        fact = world.observe(tern, "is full", world.claim())
        refused(
            world.command(fact, "window", dated(world.claim(), "2024"), status=400),
            "/window_claim_ids/0",
            "unknown",
        )
        refused(world.command(fact, "window", {"window": {"from": "2024", "precision": "year"}}, status=400),
                "/window_claim_ids", "required")  # fmt: skip
        refused(world.command(fact, "window", {"window": {"from": "2024-05-02T00:00:00Z", "precision": "month"}}, status=400),
                "/window/from", "not_aligned")  # fmt: skip


class TestSuccession:
    def pair(self, world, tern, first, second):
        """Two facts with these windows (None: unknown), each on a claim of its own."""
        made = []
        for place, given in enumerate((first, second)):
            claim = world.claim()
            made.append(world.observe(tern, f"is {place}", claim, **(dated(claim, *given) if given else {})))
        return made

    @pytest.mark.parametrize(
        ("first", "second", "came"),
        [
            (("2020-01-01T00:00:00Z", None, "open"), ("2024", None, "year"), (at(2020, 1, 1), at(2024, 1, 1), "year")),
            (("2020", None, "year"), ("2024-05", None, "month"), (at(2020, 1, 1), at(2024, 5, 1), "month")),
            (("2020-05-03", None, "day"), ("2024", "2024", "year"), (at(2020, 5, 3), at(2024, 1, 1), "day")),
            (("2020-05", None, "month"), ("2024-05-17", None, "day"), (at(2020, 5, 1), at(2024, 5, 17), "day")),
            (None, ("2024-Q2", None, "quarter"), (None, at(2024, 4, 1), "quarter")),
            (None, ("2024-05-01T00:00:00Z", None, "open"), (None, at(2024, 5, 1), "day")),
            (("2020-05-01T10:00:00Z", None, "open"), ("2024-05-01T00:00:00Z", None, "open"),
             (at(2020, 5, 1, 10), at(2024, 5, 1), "instant")),
            (("2020", "2024", "year"), ("2024", None, "year"), (at(2020, 1, 1), at(2024, 1, 1), "year")),
            ((None, "2024", "year"), ("2024", None, "year"), (None, at(2024, 1, 1), "year")),
        ],
    )  # fmt: skip
    def test_the_older_ends_where_the_newer_begins(self, first, second, came, world, tern):
        older, newer = self.pair(world, tern, first, second)
        before = window(newer)
        answer = world.command(older, "supersede", {"successor": ref(newer)}).json()
        assert answer["changed"] is True
        assert answer["successor"]["id"] == str(newer.uuid)
        assert window(older) == came
        assert window(newer) == before
        assert FactWindow.objects.filter(fact=older).count() == 1
        for fact, other in ((older, newer), (newer, older)):
            row = world.transcript(fact)[-1]
            assert (row.outcome, row.related_uuid) == ("supersede", other.uuid)

    def test_its_end_rests_on_what_the_successor_rests_on(self, world, tern):
        older, newer = self.pair(world, tern, None, ("2024", None, "year"))
        world.command(older, "supersede", {"successor": ref(newer)})
        assert world.read(older)["window_claim_ids"] == world.read(newer)["window_claim_ids"]

    def test_one_that_ends_there_already_is_told_who_followed(self, world, tern):
        older, newer = self.pair(world, tern, ("2020", "2023", "year"), ("2024", None, "year"))
        for _ in range(2):
            answer = world.command(older, "supersede", {"successor": ref(newer)}).json()
            assert (answer["changed"], answer["version"]) == (False, 1)
        assert [world.outcomes(fact) for fact in (older, newer)] == [["add", "supersede"]] * 2
        assert world.transcript(newer)[-1].related_uuid == older.uuid
        assert not FactWindow.objects.filter(fact=older).exists()

    def test_again_changes_nothing(self, world, tern):
        older, newer = self.pair(world, tern, None, ("2024", None, "year"))
        world.command(older, "supersede", {"successor": ref(newer)})
        before = state(world.store)
        assert world.command(older, "supersede", {"successor": ref(newer)}).json()["changed"] is False
        assert state(world.store)[:2] == before[:2]

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (("2020", None, "year"), None),
            (("2020", None, "year"), (None, "2024", "year")),
            (("2024", None, "year"), ("2024", None, "year")),
            (("2024", None, "year"), ("2023", None, "year")),
            (("2020", "2021", "year"), ("2024", None, "year")),
        ],
    )
    def test_a_successor_that_cannot_follow(self, first, second, world, tern):
        older, newer = self.pair(world, tern, first, second)
        before = state(world.store)
        conflict(world.command(older, "supersede", {"successor": ref(newer)}, status=409))
        assert state(world.store) == before

    def test_a_successor_that_is_not_there_or_not_held(self, world, tern):
        older, newer = self.pair(world, tern, None, ("2024", None, "year"))
        unknown = {"kind": "relation", "id": str(newer.uuid)}
        refused(
            world.command(older, "supersede", {"successor": unknown}, status=400), "/successor", "unknown"
        )
        world.command(newer, "retract", {"reason": "a slip"})
        conflict(world.command(older, "supersede", {"successor": ref(newer)}, status=409))

    def test_groups_are_left_alone(self, world, tern):
        older, newer = self.pair(world, tern, None, ("2024", None, "year"))
        group = world.group(older, newer).json()["id"]
        world.command(older, "supersede", {"successor": ref(newer)})
        assert world.read_group(group)["live_members"] == 2


class TestRetraction:
    def test_belief_ends_and_world_time_stays(self, world, tern):
        claim = world.claim()
        fact = world.observe(tern, "is full", claim, **dated(claim, "2024"))
        before = window(fact)
        answer = world.command(fact, "retract", {"reason": "the log was another ship's"}).json()
        assert answer["validity"]["invalidated_at"] is not None
        assert window(fact) == before
        assert fact.invalidated_at > fact.ingested_at
        row = world.transcript(fact)[-1]
        assert (row.outcome, row.features["reason"]) == ("retracted", "the log was another ship's")
        assert row.decided_at == fact.invalidated_at
        assert world.read(fact)["validity"]["invalidated_at"] is not None
        assert IndexEntry.objects.filter(fact=fact).exists()

    @pytest.mark.parametrize("reason", ["", " ", None, "x" * 1001])
    def test_a_reason_is_given(self, reason, world, tern):
        fact = world.observe(tern, "is full", world.claim())
        refused(world.command(fact, "retract", {"reason": reason}, status=400), "/reason")


class TestVerdicts:
    @pytest.fixture
    def withdrawn(self, world, tern):
        claim = world.claim()
        fact = world.observe(tern, "is full", claim)
        world.set_current(claim, current=False)
        fact.refresh_from_db()
        assert fact.support == "withdrawn"
        return fact

    def test_a_flag_has_to_be_open(self, world, tern):
        fact = world.observe(tern, "is full", world.claim())
        for verdict in ("restore_support", "invalidate_fact", "uncertain"):
            conflict(world.command(fact, "support", {"verdict": verdict}, status=409))
        refused(world.command(fact, "support", {"verdict": "maybe"}, status=400), "/verdict")

    def test_uncertain_stays_withdrawn(self, world, withdrawn):
        world.command(withdrawn, "support", {"verdict": "uncertain"})
        withdrawn.refresh_from_db()
        assert (withdrawn.support, withdrawn.invalidated_at, withdrawn.row_version) == ("withdrawn", None, 3)
        assert world.outcomes(withdrawn) == ["add", "withdrawn", "uncertain"]

    def test_invalidated(self, world, withdrawn):
        world.command(withdrawn, "support", {"verdict": "invalidate_fact"})
        withdrawn.refresh_from_db()
        assert withdrawn.invalidated_at is not None
        assert world.outcomes(withdrawn)[-1] == "invalidate_fact"

    def test_restored_by_a_current_claim(self, world, withdrawn):
        conflict(world.command(withdrawn, "support", {"verdict": "restore_support"}, status=409))
        stale, fresh = world.claim(is_current=False), world.claim()
        for claim, status in ((stale, 409), (fresh, 200)):
            wanted = {"verdict": "restore_support", "claim_id": str(claim.uuid)}
            world.command(withdrawn, "support", wanted, status=status)
        withdrawn.refresh_from_db()
        assert withdrawn.support == "current"
        assert world.outcomes(withdrawn) == ["add", "withdrawn", "restore_support"]
        assert world.transcript(withdrawn)[-1].method == "declared"
        assert world.read(withdrawn)["documents"]["supports"] == 1

    def test_only_a_restoration_names_a_claim(self, world, withdrawn):
        wanted = {"verdict": "uncertain", "claim_id": str(world.claim().uuid)}
        refused(world.command(withdrawn, "support", wanted, status=400), "/claim_id", "contradiction")
        wanted = {"verdict": "restore_support", "claim_id": str(uuid.uuid4())}
        refused(world.command(withdrawn, "support", wanted, status=400), "/claim_id", "unknown")
