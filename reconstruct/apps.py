from django.apps import AppConfig


class ReconstructConfig(AppConfig):
    name = "reconstruct"

    def ready(self) -> None:
        from django.conf import settings
        from django.core.exceptions import ImproperlyConfigured

        from memoryconsole import registry
        from reconstruct.operations import OPERATIONS
        from reconstruct.services import policy_faults

        registry.register_policy_check("reconstruct", policy_faults)
        for operation in OPERATIONS:
            registry.register_operation(operation)
        # Before the first call is served: a policy that can only mislead refuses to start (contract, section B).
        if faults := policy_faults(settings.RECONSTRUCT, {}):
            raise ImproperlyConfigured("; ".join(fault.message for fault in faults))
