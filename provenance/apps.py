from django.apps import AppConfig


class ProvenanceConfig(AppConfig):
    name = "provenance"

    def ready(self) -> None:
        from memoryconsole import registry
        from provenance.expand_query.operations import OPERATIONS

        for operation in OPERATIONS:
            registry.register_operation(operation)
