"""Strict input: what the contracts call an integer, a text, a switch, and objects without unknown members.

DRF's own fields forgive ("5" is an integer, true is 1); these do not.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from heapq import nsmallest
from typing import Any, NoReturn

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

from memoryconsole.errors import Fault, InvalidParameter
from memoryconsole.models.records import storable
from memoryconsole.windows import read_instant

# Far beyond anything a contract bounds, far below what PostgreSQL's bigint holds.
LARGEST = 2**53 - 1
# More would not help whoever has to mend the request.
MAX_FAULTS = 50


class Whole(serializers.IntegerField):
    """A JSON integer: no text, no boolean, no fraction (2.0 included)."""

    def __init__(self, *, min_value: int = 0, max_value: int = LARGEST, **options: Any) -> None:
        super().__init__(min_value=min_value, max_value=max_value, **options)

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:
            self.fail("invalid")
        return int(data)


class Text(serializers.CharField):
    """A JSON string, kept exactly: not trimmed, blank allowed unless said otherwise."""

    default_error_messages = {"invalid": "Not a string."}

    def __init__(self, *, max_length: int = 256, allow_blank: bool = True, **options: Any) -> None:
        super().__init__(max_length=max_length, allow_blank=allow_blank, trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        if type(data) is not str:
            self.fail("invalid")
        return str(data)


class Instant(serializers.DateTimeField):
    """A date and time with a zone, as text: nothing is guessed and nothing is rounded (context-bundle D.2)."""

    def to_internal_value(self, value: Any) -> datetime:
        try:
            return read_instant(value)
        except ValueError as fault:
            raise ValidationError(str(fault), code="invalid") from None


class Flag(serializers.BooleanField):
    """A JSON boolean: nothing else."""

    def to_internal_value(self, data: Any) -> bool:
        if type(data) is not bool:
            self.fail("invalid", input=data)
        return bool(data)


class Choice(serializers.ChoiceField):
    """One of a few words; who sends another one is told them."""

    default_error_messages = {"invalid_choice": "Not one of {choices}."}

    def fail(self, key: str, **values: Any) -> NoReturn:
        super().fail(key, choices=", ".join(str(each) for each in self.choices if each), **values)


class Items(serializers.ListField):
    """A JSON list, whose length is judged before its elements are: a long one must not cost more than a short one."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        super().__init__(max_length=max_length, **options)
        self.longest = max_length

    def to_internal_value(self, data: Any) -> list[Any]:
        if isinstance(data, list) and len(data) > self.longest:
            message = f"Ensure this field has no more than {self.longest} elements."
            raise ValidationError([ErrorDetail(message, code="max_length")])
        return list(super().to_internal_value(data))


class Members(serializers.DictField):
    """A JSON object whose members the contract leaves open."""


class StrictSerializer(serializers.Serializer[Any]):
    """An object that takes the members it names and no others."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, Mapping):
            raise ValidationError({"": [ErrorDetail("Expected an object.", code="invalid")]})
        fields = self.fields
        # In an order of their own: the same body refuses the same way however its members are kept.
        unknown = nsmallest(MAX_FAULTS, (name for name in data if name not in fields))
        if unknown:
            raise ValidationError(
                {name: [ErrorDetail("No such member.", code="unknown")] for name in unknown}
            )
        return super().to_internal_value(data)

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """The validated members. Raises InvalidParameter with a pointer to each fault."""
        try:
            return dict(instance_of(cls).run_validation(data))
        except ValidationError as fault:
            faults = list(_faults(fault.detail, ""))
            raise InvalidParameter(_sentence(faults), errors=faults[:MAX_FAULTS]) from None

    @classmethod
    def read_query(cls, query: QueryDict) -> dict[str, Any]:
        """The same for a query string, whose numbers and switches are texts. A repeated name is refused."""
        data = cls.typed(query)
        try:
            return cls.read(data)
        except InvalidParameter as refused:
            faults = [Fault("?" + f.pointer.lstrip("/"), f.code, f.message) for f in refused.errors]
            raise InvalidParameter(_sentence(faults), errors=faults) from None

    @classmethod
    def typed(cls, query: QueryDict) -> dict[str, Any]:
        """A query string as the JSON object it stands for, not judged yet. Raises InvalidParameter for one that
        stands for none: a name given twice, text that cannot be stored.
        """
        data: dict[str, Any] = {}
        fields = instance_of(cls).fields
        faults = []
        for name, values in query.lists():
            if len(values) > 1:
                faults.append(Fault(f"?{name}", "repeated", "Given more than once."))
            elif not storable(name + values[0]):
                faults.append(Fault("?", "unstorable_text", "NUL and lone surrogates cannot be stored."))
            else:
                data[name] = _from_text(fields.get(name), values[0])
        if faults:
            raise InvalidParameter(_sentence(faults), errors=faults)
        return data


@cache
def instance_of(kind: type[StrictSerializer]) -> StrictSerializer:
    """The one instance of it: making one takes longer than its judgement, and no judgement changes the next."""
    return kind()


def _from_text(field: Any, value: str) -> Any:
    """Query strings and forms carry texts: convert first, then the same strict field judges."""
    if isinstance(field, Whole):
        digits = value.removeprefix("-")
        return int(value) if digits.isascii() and digits.isdigit() and len(digits) < 20 else value
    if isinstance(field, Flag):
        return {"true": True, "false": False, "1": True, "0": False}.get(value, value)
    return value


def _faults(detail: Any, pointer: str) -> Iterator[Fault]:
    if isinstance(detail, ErrorDetail):
        yield Fault(pointer, detail.code or "invalid", str(detail))
    elif isinstance(detail, Mapping):
        for name, inner in detail.items():
            step = str(name).replace("~", "~0").replace("/", "~1")
            here = pointer if name in ("", "non_field_errors") else f"{pointer}/{step}"
            yield from _faults(inner, here)
    elif all(isinstance(inner, ErrorDetail) for inner in detail):
        for inner in detail:
            yield from _faults(inner, pointer)
    else:
        # A list's errors: one entry per element, empty where an element was fine.
        for index, inner in enumerate(detail):
            if inner:
                yield from _faults(inner, f"{pointer}/{index}")


def _sentence(faults: list[Fault]) -> str:
    first = faults[0]
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{first.pointer or 'body'}: {first.message}{more}"
