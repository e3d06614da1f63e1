"""A store with documents, claims, entities and facts, all made and asked through the API."""

from itertools import count

from tests.conftest import url


class Harbour:
    """Methods that make something answer its id. `post` checks the status and answers the body."""

    def __init__(self, api, store):
        self.api = api
        self.store = store
        self.refs = count(1)

    def post(self, tail, body, *, status=(200, 201)):
        answer = self.api.post(url(self.store, tail), body, format="json")
        assert answer.status_code in status, answer.content
        return answer.json()

    def entity(self, name, **members):
        return self.post("/entities", {"name": name, **members})["entity_id"]

    def merge(self, survivor, absorbed):
        return self.post(f"/entities/{survivor}/merge", {"absorbed_id": absorbed})

    def document(self, text, *, kind="file", ref=None, **members):
        """A document of one source; the same `ref` again is its next version."""
        body = {
            "source_kind": kind,
            "source_ref": ref or f"source {next(self.refs)}",
            "text": text,
            **members,
        }
        return self.post("/documents", body)["id"]

    def passages(self, document):
        answer = self.api.get(url(self.store, f"/documents/{document}/passages"))
        assert answer.status_code == 200, answer.content
        return answer.json()["results"]

    def claim(self, text, *about, document=None, chunk=None, quote=None, **members):
        """A claim in the words of its source: a document of its own, or the passage given."""
        if chunk is None:
            chunk = self.passages(document or self.document(text))[0]["chunk_id"]
        body = {
            "chunk_id": chunk,
            "claim_text": text,
            "quote": quote or text,
            "mentions": [{"entity_id": each} for each in about],
            **members,
        }
        return self.post("/claims", body)["id"]

    def observe(self, subject, statement, *claims, **members):
        claims = claims or (self.claim(statement, subject),)
        return self.fact(
            {"kind": "observation", "subject_id": subject, "statement": statement}, claims, members
        )

    def relate(self, subject, predicate, object_, *claims, **members):
        claims = claims or (self.claim(f"{subject} {predicate} {object_}", subject, object_),)
        ends = {"subject_id": subject, "predicate": predicate, "object_id": object_}
        return self.fact({"kind": "relation", **ends}, claims, members)

    def fact(self, body, claims, members):
        evidence = [{"claim_id": each, "stance": "supports"} for each in claims]
        evidence += [{"claim_id": each, "stance": "contradicts"} for each in members.pop("against", ())]
        if "window" in members:
            members.setdefault("window_claim_ids", [claims[0]])
        return self.post("/facts", {**body, "evidence": evidence, **members})["id"]

    def contradict(self, *facts):
        return self.post("/contradictions", {"members": [{"kind": kind, "id": fact} for kind, fact in facts]})

    def ask(self, operation, *, status=200, **body):
        answer = self.api.post(url(self.store, f"/operations/{operation}"), body, format="json")
        assert answer.status_code == status, answer.content
        return answer.json()

    def facts(self, query="ferry", **body):
        return self.ask("facts_context", query=query, **body)

    def said(self, query="ferry", **body):
        return self.ask("claims_and_sources_context", query=query, **body)

    def bundle(self, query="ferry", **body):
        return self.post("/context-bundle", {"query": query, **body}, status=(200,))

    def trace(self, operation, **body):
        """The id of the call's trace."""
        answer = self.api.post(url(self.store, f"/operations/{operation}"), body, format="json")
        assert answer.status_code == 200, answer.content
        return answer.headers["Trace-Id"]

    def why(self, trace, ref):
        answer = self.api.get(f"/api/v1/traces/{trace}/why", {"ref": ref})
        assert answer.status_code == 200, answer.content
        return answer.json()

    def replay(self, trace):
        answer = self.api.post(f"/api/v1/traces/{trace}/replay", {}, format="json")
        assert answer.status_code == 200, answer.content
        return answer.json()


def shown(envelope):
    return [fact["fact_id"] for fact in envelope["facts"]]
