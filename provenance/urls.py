from django.urls import path

from memoryconsole import converters  # noqa: F401  (registers the address parts)
from provenance.api import VerifyApi
from provenance.context_bundle import api as bundle
from provenance.expand_query import api

app_name = "provenance"

urlpatterns = [
    path("stores/<store:store>/expand-query", api.ExpandQueryApi.as_view(), name="expand-query"),
    path("stores/<store:store>/expand", api.ExpandApi.as_view(), name="expand"),
    path("stores/<store:store>/context-bundle", bundle.ContextBundleApi.as_view(), name="context-bundle"),
    path("stores/<store:store>/operations", bundle.OperationsApi.as_view(), name="operations"),
    *(
        path(f"stores/<store:store>/operations/{view.operation}", view.as_view(), name=view.operation)
        for view in (
            bundle.ResolveEntityApi,
            bundle.ClaimsAndSourcesApi,
            bundle.FactsContextApi,
            bundle.CombinedContextApi,
            bundle.ContradictionMembersApi,
        )
    ),
    path("stores/<store:store>/verify", VerifyApi.as_view(), name="verify"),
]
