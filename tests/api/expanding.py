"""A session with a summary graph, made through the API, for the tests of expand-query."""

from dataclasses import dataclass, field
from typing import Any

from memoryconsole.models import Store


@dataclass
class Graph:
    """Makes records, summaries and payloads of a store, and asks about them."""

    api: Any
    store: Store
    session: str = "s"
    made: int = field(default=0)

    def post(self, tail: str, body: Any, status: int = 200) -> Any:
        answer = self.api.post(f"/api/v1/stores/{self.store.public_id}/{tail}", body, format="json")
        assert answer.status_code == status, answer.content
        return answer.json()

    def say(self, *texts: str, **members: Any) -> list[int]:
        rows = [{"content": text, "session_id": self.session, "role": "user"} | members for text in texts]
        return [int(row["ref"][4:]) for row in self.post("records", {"records": rows}, 201)["records"]]

    def sum_up(self, text: str, sources: list[int], kind: str = "messages", **members: Any) -> int:
        body = {
            "summary": text,
            "session_id": self.session,
            "source_type": kind,
            "source_ids": sources,
        } | members
        return int(self.post("summaries", body, 201)["ref"][3:])

    def keep(self, content: str, **members: Any) -> str:
        body = {"payloads": [{"content": content, "session_id": self.session} | members]}
        return str(self.post("payloads", body, 201)["payloads"][0]["ref"])

    def ask(self, status: int = 200, **members: Any) -> Any:
        return self.post("expand-query", {"session_id": self.session, "prompt": "why?"} | members, status)

    def expand(self, status: int = 200, **members: Any) -> Any:
        return self.post("expand", {"session_id": self.session} | members, status)
