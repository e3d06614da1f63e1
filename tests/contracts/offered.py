"""Which operations of `context_bundle.json` the product offers: asked of its registry and its addresses."""

from django.urls import Resolver404, resolve

from memoryconsole import registry
from tests.contracts.bundle_format import READS, operations
from tests.contracts.scenario_files import Scenario

# Where the operations that are no reads are, below a store's address.
ADDRESSES = {
    "list_operations": "/operations",
    "declare_fact": "/facts",
    "ingest_document": "/documents",
    "forget_document": "/documents/00000000-0000-4000-8000-000000000000/forget",
}


def missing_operation(scenario: Scenario) -> str | None:
    """The first operation that the scenario needs and the product does not offer."""
    return next((op for op in operations(scenario) if not _offered(op)), None)


def _offered(op: str) -> bool:
    if op in READS:
        return op in registry.operation_names()
    if op == "rrf":
        return True
    try:
        resolve(f"/api/v1/stores/kitchen-23456789{ADDRESSES[op]}")
    except Resolver404:
        return False
    return True
