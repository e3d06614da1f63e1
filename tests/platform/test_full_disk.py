"""A disk that is full under the traces alone: audited answers are refused, and nothing else breaks."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.benchmarks.server import Served, served

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="mounting needs root"),
]

MEGABYTES = 1


@pytest.fixture(scope="module")
def serving() -> Iterator[Served]:
    with served(MEMORYCONSOLE_EMBEDDER="none") as server:
        yield server


@pytest.fixture(scope="module")
def full(serving: Served) -> Iterator[None]:
    """The trace table of the served database, on a file system of its own."""
    folder = Path(tempfile.mkdtemp(prefix="traces-"))
    folder.chmod(0o755)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting is not permitted here")
    try:
        with psycopg.connect(serving.database_url, autocommit=True) as connection:
            place = folder / "data"
            place.mkdir(mode=0o700)
            row = connection.execute(
                "SELECT (pg_stat_file('PG_VERSION')).size, current_setting('data_directory')"
            )
            data = Path(row.fetchone()[1])
            os.chown(place, data.stat().st_uid, data.stat().st_gid)
            connection.execute(f"CREATE TABLESPACE small LOCATION '{place}'")
            try:
                connection.execute("ALTER TABLE mc_trace SET TABLESPACE small")
                yield
            finally:
                connection.execute("ALTER TABLE mc_trace SET TABLESPACE pg_default")
                connection.execute("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


def test_a_full_disk_under_the_traces_costs_audited_answers_alone(serving: Served, full: None) -> None:
    with httpx.Client(
        base_url=f"{serving.base_url}/api/v1",
        headers={"Authorization": f"Bearer {serving.token}"},
        timeout=30,
        trust_env=False,
    ) as api:
        store = f"/stores/{api.post('/stores', json={'name': 'full'}).json()['id']}"
        records = [{"content": f"walrus {n}"} for n in range(60)]
        assert api.post(f"{store}/records", json={"records": records}).status_code == 201
        assert ask(api, store).status_code == 200
        # However small a trace is, the disk is full before so many of them.
        assert any(ask(api, store).status_code == 503 for _ in range(MEGABYTES * 1000))
        refused = ask(api, store)
        assert refused.json()["code"] == "audit_unavailable"
        # Everything else goes on.
        assert api.post(f"{store}/records", json={"records": [{"content": "a gull"}]}).status_code == 201
        assert api.get(f"{store}/records/mem:1").status_code == 200
        assert api.get(f"{store}/traces").status_code == 200
        # A refusal stands, and its small trace may still find room.
        wrong = ask(api, store, query=5)
        assert wrong.status_code == 400
        # Served without a trace where the store prefers an answer, and counted.
        assert api.patch(store, json={"audit": "best_effort"}).status_code == 200
        served_all = [ask(api, store) for _ in range(3)]
        assert [answer.status_code for answer in served_all] == [200] * 3
        assert not any("Trace-Id" in answer.headers for answer in served_all)
    with psycopg.connect(serving.database_url) as connection:
        lost = connection.execute("SELECT sum(count) FROM mc_lost_traces").fetchone()[0]
    assert lost == 3 + ("Trace-Id" not in wrong.headers)


def ask(api: httpx.Client, store: str, query: object = "walrus") -> httpx.Response:
    return api.post(f"{store}/reconstruct", json={"query": query, "count": 10, "top_k": 50})
