from django.apps import AppConfig


class MemoryconsoleConfig(AppConfig):
    name = "memoryconsole"
    label = "memoryconsole"

    def ready(self) -> None:
        # `shared_task` binds to this application in every process, web ones included.
        from memoryconsole import celery, jobs, openapi  # noqa: F401

        # These register their jobs.
        from memoryconsole.services import dividing, forget, indexing, profiles, transfer  # noqa: F401
