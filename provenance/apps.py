from django.apps import AppConfig


class ProvenanceConfig(AppConfig):
    name = "provenance"

    def ready(self) -> None:
        from memoryconsole import registry
        from provenance.context_bundle import operations as bundle
        from provenance.expand_query import operations as expand

        for operation in (*expand.OPERATIONS, *bundle.OPERATIONS):
            registry.register_operation(operation)
