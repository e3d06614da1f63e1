"""What stands in the lines of a file beside what the API takes: UUIDs, instants, places, and declared names."""

import uuid
from datetime import datetime
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memoryconsole.folding import declared_key
from memoryconsole.serializers import Text, Whole
from memoryconsole.times import read_stamp

# What an address takes (15 digits): a larger number could never be asked for.
MAX_NUMBER = 10**15 - 1


class _Read(serializers.Field[Any, Any, Any, Any]):
    """A text of at most `longest` code points that becomes something else."""

    longest: int

    def text(self, data: Any) -> str:
        return str(Text(max_length=self.longest).run_validation(data))


@extend_schema_field(OpenApiTypes.UUID)
class Uid(_Read):
    """A UUID in its usual form: 32 lower-case hex digits and four hyphens."""

    longest = 36

    def to_internal_value(self, data: Any) -> uuid.UUID:
        text = self.text(data)
        try:
            value = uuid.UUID(text)
        except ValueError:
            value = None
        if value is None or str(value) != text:
            raise serializers.ValidationError("Not a UUID.", code="invalid")
        return value


class Declared(Text):
    """A name, an alias or a predicate as it is declared: trimmed, and found under a key that is not empty."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_blank=False, **options)

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not declared_key(text):
            raise serializers.ValidationError("May not be blank.", code="blank")
        return text.strip()


class Stamp(_Read):
    """An instant in ISO 8601."""

    longest = 64

    def to_internal_value(self, data: Any) -> datetime:
        instant = read_stamp(self.text(data))
        if instant is None:
            raise serializers.ValidationError("Not an ISO 8601 time.", code="invalid")
        return instant


class End(_Read):
    """A row of the file: `record:<uuid>`, `summary:<uuid>` or `entity:<uuid>`. Becomes (kind, UUID)."""

    longest = 50

    def __init__(self, *kinds: str, **options: Any) -> None:
        super().__init__(**options)
        self.kinds = kinds

    def to_internal_value(self, data: Any) -> tuple[str, uuid.UUID]:
        kind, _, text = self.text(data).partition(":")
        if kind not in self.kinds:
            raise serializers.ValidationError(f"Not one of {', '.join(self.kinds)}.", code="invalid")
        return kind, Uid().run_validation(text)


class Source(serializers.Field[Any, Any, Any, Any]):
    """A place of a summary: the UUID of what stands there, or the old number of what is gone (0: unknown)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.present, self.gone = Uid(), Whole(max_value=MAX_NUMBER)

    def to_internal_value(self, data: Any) -> Any:
        return (self.present if isinstance(data, str) else self.gone).run_validation(data)
