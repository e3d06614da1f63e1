"""A file in, which a worker of its own takes in, and a file out."""

import json

from playwright.sync_api import expect

from tests.browser.sights import file_of_lines


def test_a_file_is_imported_and_watched_until_it_is_done(tab, console, tmp_path):
    store = console.new_store("Imports")
    tab.goto(console.at("", store))
    tab.get_by_role("link", name="Import a file").click()
    tab.get_by_label("File", exact=True).set_input_files(file_of_lines(tmp_path))
    tab.get_by_role("button", name="Import").click()
    expect(tab.get_by_role("heading", name="Import of watch notes.ndjson")).to_be_visible()
    # Nobody touches the page: it follows the job by itself, part by part or by loading itself anew.
    expect(tab.get_by_role("status").filter(has_text="done")).to_be_visible()
    lines = tab.get_by_role("region", name="Lines to look at").get_by_role("rowheader")
    expect(lines).to_have_text(["2", "3"])
    expect(tab.get_by_text("stored", exact=True).locator("xpath=following-sibling::dd")).to_have_text("2")
    tab.get_by_role("link", name="See the records").click()
    expect(tab.get_by_role("region", name="Records found")).to_contain_text(
        "The spare lamp is in the forward locker."
    )


def test_a_store_is_exported_and_the_file_taken_home(either_tab, console, tmp_path):
    tab = either_tab
    store = console.new_store("Exports", "The bell was polished.", "=1+1 stays a text.")
    console.wait_for_jobs(store)
    tab.goto(console.at("jobs", store))
    tab.get_by_role("button", name="Export").click()
    link = tab.get_by_role("link", name="Download the file")
    expect(link).to_be_visible()
    with tab.expect_download() as download:
        link.click()
    file = tmp_path / "export.ndjson"
    download.value.save_as(file)
    assert download.value.suggested_filename == f"{store}.ndjson"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    texts = {line.get("content") for line in lines}
    assert {"The bell was polished.", "=1+1 stays a text."} <= texts
