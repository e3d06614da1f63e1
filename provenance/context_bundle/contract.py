"""Whether an answer is one: the closed model of the core as a compiled validator.

Nothing leaves without passing; a bundle is two that did (`core.bundle`). What does not is our fault, and the request
fails as a whole.
"""

from typing import Any

import jsonschema_rs

from provenance.context_bundle.core.schema import SCHEMA

_envelope = jsonschema_rs.validator_for(SCHEMA)


class ContractBroken(RuntimeError):
    """An answer that its own contract does not allow."""


def check_envelope(body: Any) -> None:
    """Raises ContractBroken unless the body is a closed envelope."""
    try:
        _envelope.validate(body)
    except jsonschema_rs.ValidationError as fault:
        # Where, not what: the value may be a stored text.
        place = "/".join(map(str, fault.instance_path))
        raise ContractBroken(f"/{place}: {fault.schema_path[-1]}") from None
    except ValueError:
        raise ContractBroken("a value that JSON does not have") from None
