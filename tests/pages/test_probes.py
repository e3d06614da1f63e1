"""What went wrong in memories like this one, as a person at the console would see it."""

import re
import unicodedata
from html import unescape
from unittest import mock

import pytest

from memoryconsole import embedding
from tests.conftest import url

SCRIPTS = {"做好财务护城河": ("护城", "城"), "城の鍵は護城の中": ("城", "護城"), "今日は成語しりとりをした": ("しり",), "오늘 끝말잇기": ("끝말", "끝")}  # fmt: skip


def page(answer, status=200):
    assert answer.status_code == status, answer.content
    return answer.content.decode()


def words(markup):
    """What a page says, without its markup."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", "", markup)))


@pytest.mark.parametrize("text", SCRIPTS)
@pytest.mark.parametrize("tab", ["ask", "ask/candidates"])
def test_a_question_of_one_or_two_characters_finds_its_row_and_marks_them(text, tab, console, at, say):
    say("daily report, nothing new", text, "別の話", "다른 이야기")
    for query in SCRIPTS[text]:
        for form in ("NFC", "NFD"):
            shown = page(console.get(at(tab), {"query": unicodedata.normalize(form, query)}))
            assert f'href="{at("records")}/mem:2"' in shown
            quotes = re.findall(r'class="quote[^"]*" dir="auto">(.*?)</(?:blockquote|p)>', shown, re.S)
            (quote,) = (each for each in quotes if unescape(re.sub("</?mark>", "", each)) == text)
            # Every place that was asked for, and nothing beside it.
            assert re.findall("<mark>(.*?)</mark>", quote) == [query] * text.count(query)


def test_a_dead_embedder_is_a_banner_and_never_a_plain_no(console, at, say):
    say("the walrus sleeps")
    healthy = words(page(console.get(at("ask"), {"query": "zzyzx"})))
    assert "Nothing found" in healthy
    assert "degraded" not in healthy
    with mock.patch.object(embedding, "embed_query", side_effect=embedding.EmbeddingFailed("away")):
        for tab in ("ask", "ask/candidates"):
            silent = page(console.get(at(tab), {"query": "zzyzx"}))
            assert 'class="notice bad"' in silent
            assert "The embedding model did not answer (away)" in words(silent)
            assert "Nothing found, by a search that is degraded" in words(silent)
            assert "is stored here yet" not in words(silent)
        found = page(console.get(at("ask"), {"query": "walrus"}))
    assert 'class="notice bad"' in found
    assert "the walrus sleeps" in words(found)


def test_a_quote_cut_inside_a_character_is_shown_as_it_was_cut(console, at, api, store, say):
    family = "👩\u200d👩\u200d👧\u200d👦"
    api.patch(url(store), {"settings": {"preview_chars": 20}}, format="json")
    for before in range(12, 22):
        text = "walrus ".ljust(before, "x") + family + " and more"
        say(text)
        shown = page(console.get(at("ask"), {"query": text}))
        quote = re.search(r'<blockquote class="quote" dir="auto">(.*?)</blockquote>', shown, re.S)[1]
        assert unescape(re.sub("</?mark>", "", quote)) == text[:20]


def test_the_version_left_behind_says_that_a_newer_one_is_elsewhere(console, at, say):
    say(
        {"content": "walrus feeding is at nine", "message_id": "m", "timestamp": "2026-01-01T00:00:00Z"},
        {"content": "walrus feeding is at ten", "message_id": "m", "channel": "deck", "timestamp": "2026-01-02T00:00:00Z",
         "source": {"type": "User", "id": "odalys"}},
    )  # fmt: skip
    outside = page(console.get(at("ask"), {"query": "walrus feeding", "channel": "quay", "count": "5"}))
    assert "walrus feeding is at nine" in words(outside)
    assert "walrus feeding is at ten" not in words(outside)
    old = page(console.get(at("records/mem:1")))
    assert f'href="{at("records")}/mem:2"' in old
    for said in ("supersedes this one", "#deck", "odalys"):
        assert said in words(old)
    assert "2026-01-02T00:00:00Z" in old


def test_a_deleted_row_is_on_no_page(console, at, api, store, say, run_jobs):
    say("the walrus sleeps", "the walrus wakes")
    assert console.post(at("records/mem:1/delete")).status_code == 302
    for _ in range(2):
        for tab in ("ask", "ask/candidates"):
            shown = page(console.get(at(tab), {"query": "walrus sleeps", "trace": "true"} if tab == "ask" else {"query": "walrus sleeps"}))  # fmt: skip
            assert "the walrus sleeps" not in shown
            assert f'href="{at("records")}/mem:1"' not in shown
            assert f'href="{at("records")}/mem:2"' in shown
        gone, unknown = (
            page(console.get(at("records/mem:1")), 404),
            page(console.get(at("records/mem:99")), 404),
        )
        assert words(gone).replace("mem:1", "mem:99")[:200] == words(unknown)[:200]
        run_jobs(store)
