"""Whether an answer is one: the closed model of the core as a compiled validator.

Nothing leaves without passing; a bundle is two that did (`core.bundle`). What does not is our fault, and the request
fails as a whole.
"""

from typing import Any

import fastjsonschema

from provenance.context_bundle.core.schema import SCHEMA

_envelope = fastjsonschema.compile(SCHEMA)


class ContractBroken(RuntimeError):
    """An answer that its own contract does not allow."""


def check_envelope(body: Any) -> None:
    """Raises ContractBroken unless the body is a closed envelope."""
    try:
        _envelope(body)
    except fastjsonschema.JsonSchemaValueException as fault:
        # Where, not what: the value may be a stored text.
        raise ContractBroken(f"{fault.name}: {fault.rule}") from None
