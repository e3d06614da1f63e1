"""Whether an answer is one: the closed models of the core as compiled validators.

Nothing leaves without passing. What does not is our fault, and the request fails as a whole.
"""

from typing import Any

import fastjsonschema

from provenance.context_bundle.core.schema import BUNDLE_SCHEMA, SCHEMA

_envelope = fastjsonschema.compile(SCHEMA)
_bundle = fastjsonschema.compile(BUNDLE_SCHEMA)


class ContractBroken(RuntimeError):
    """An answer that its own contract does not allow."""


def check_envelope(body: Any) -> None:
    """Raises ContractBroken unless the body is a closed envelope."""
    _check(_envelope, body)


def check_bundle(body: Any) -> None:
    """Raises ContractBroken unless the body is a closed ContextBundle/v2."""
    _check(_bundle, body)


def _check(validate: Any, body: Any) -> None:
    try:
        validate(body)
    except fastjsonschema.JsonSchemaValueException as fault:
        # Where, not what: the value may be a stored text.
        raise ContractBroken(f"{fault.name}: {fault.rule}") from None
