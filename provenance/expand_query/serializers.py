"""The bodies of this contract's routes, as it bounds them (sections B.1 and D), and its own words for what is wrong."""

from typing import Any, ClassVar

from rest_framework import serializers

from memoryconsole.errors import Fault, InvalidParameter
from memoryconsole.models.payloads import MAX_REF_CHARS
from memoryconsole.serializers import Choice, Items, StrictSerializer, Text, Whole, instance_of
from memoryconsole.shapes import MAX_SESSION_ID_CHARS, not_blank
from provenance.expand_query.core import Window
from provenance.expand_query.services import ExpandAsk, QueryAsk

# A question, or a message pasted whole; longer texts are records.
MAX_PROMPT_CHARS = 20_000
MAX_RESULTS = 100
# Explicit ids beyond `max_results` are named in the answer, not used.
MAX_NODE_IDS = 1_000
# More than any model reads at once; what an answer is made of grows with it.
MAX_CONTEXT_TOKENS = 1_000_000
MAX_ANSWER_TOKENS = 100_000
LOCATORS = ("node_id", "externalized_ref", "store_id")


class _ContractSerializer(StrictSerializer):
    """Refusals carry the contract's sentence. `sentences`: member -> (for a wrong type, for any other fault)."""

    sentences: ClassVar[dict[str, str]] = {}

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        try:
            return super().read(data)
        except InvalidParameter as refused:
            raise InvalidParameter(cls._sentence(refused.errors[0]), errors=refused.errors) from None

    @classmethod
    def _sentence(cls, fault: Fault) -> str:
        name = fault.pointer.strip("/").partition("/")[0]
        if name in cls.sentences and fault.code != "unknown":
            return cls.sentences[name]
        if fault.code == "invalid" and isinstance(instance_of(cls).fields.get(name), Whole):
            return f"{name} must be an integer"
        return f"{name}: {fault.message}" if name else fault.message


class ExpandQueryIn(_ContractSerializer):
    """`POST /stores/{store}/expand-query`."""

    sentences = {
        "prompt": "prompt is required",
        "node_ids": "node_ids must contain only integers",
        "output": "output must be one of: answer, evidence",
    }

    session_id = Text(max_length=MAX_SESSION_ID_CHARS, allow_blank=False, validators=[not_blank])
    prompt = Text(max_length=MAX_PROMPT_CHARS, allow_blank=False, validators=[not_blank])
    query = Text(max_length=MAX_PROMPT_CHARS, default="", allow_null=True)
    node_ids = Items(child=Whole(), default=list, max_length=MAX_NODE_IDS, allow_null=True)
    max_results = Whole(default=5, min_value=1, max_value=MAX_RESULTS)
    max_tokens = Whole(default=2000, min_value=1, max_value=MAX_ANSWER_TOKENS)
    context_max_tokens = Whole(required=False, allow_null=True, min_value=1, max_value=MAX_CONTEXT_TOKENS)
    output = Choice(choices=["answer", "evidence"], default="answer")

    @classmethod
    def _sentence(cls, fault: Fault) -> str:
        if fault.code == "max_length":
            return f"{fault.pointer.strip('/')}: {fault.message}"
        return super()._sentence(fault)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs["node_ids"] and not (attrs["query"] or "").strip():
            raise serializers.ValidationError("Provide either query or node_ids", code="required")
        return attrs


class ExpandIn(_ContractSerializer):
    """`POST /stores/{store}/expand`: exactly one locator, as an answer's `expand_args` have it."""

    session_id = Text(max_length=MAX_SESSION_ID_CHARS, allow_blank=False, validators=[not_blank])
    node_id = Whole(required=False)
    externalized_ref = Text(required=False, max_length=MAX_REF_CHARS, allow_blank=False)
    store_id = Whole(required=False)
    max_tokens = Whole(default=4000, min_value=1, max_value=MAX_ANSWER_TOKENS)
    content_offset = Whole(default=0)
    source_offset = Whole(default=0, max_value=2**31 - 1)
    source_limit = Whole(required=False, min_value=1, max_value=2**31 - 1)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = [name for name in LOCATORS if name in attrs]
        if len(given) != 1:
            message = f"Provide exactly one of {', '.join(LOCATORS)}"
            raise serializers.ValidationError(message, code="contradiction" if given else "required")
        if "node_id" not in attrs:
            strayed = [name for name in ("source_limit", "source_offset") if attrs.get(name)]
            if strayed:
                message = "Goes with node_id."
                raise serializers.ValidationError({strayed[0]: [message]}, code="contradiction")
        return attrs


def query_ask(data: dict[str, Any]) -> QueryAsk:
    return QueryAsk(
        session_id=data["session_id"],
        prompt=data["prompt"].strip(),
        query=(data["query"] or "").strip(),
        node_ids=tuple(data["node_ids"] or ()),
        max_results=data["max_results"],
        max_tokens=data["max_tokens"],
        context_max_tokens=data.get("context_max_tokens"),
        output=data["output"],
    )


def expand_ask(data: dict[str, Any]) -> ExpandAsk:
    window = Window(
        max_tokens=data["max_tokens"],
        content_offset=data["content_offset"],
        source_offset=data["source_offset"],
        source_limit=data.get("source_limit"),
    )
    return ExpandAsk(
        session_id=data["session_id"],
        window=window,
        **{name: data[name] for name in LOCATORS if name in data},
    )
