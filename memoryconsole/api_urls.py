from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from memoryconsole import (
    api,
    claim_api,
    contradiction_api,
    converters,  # noqa: F401  (registers the address parts)
    declare_api,
    document_api,
    entity_api,
    fact_api,
    payload_api,
    trace_api,
    transfer_api,
)

app_name = "api"

urlpatterns = [
    path("stores", api.StoresApi.as_view(), name="stores"),
    path("stores/<store:store>", api.StoreApi.as_view(), name="store"),
    path("stores/<store:store>/records", api.RecordsApi.as_view(), name="records"),
    path("stores/<store:store>/records/mem:<number:number>", api.RecordApi.as_view(), name="record"),
    path("stores/<store:store>/summaries", api.SummariesApi.as_view(), name="summaries"),
    path("stores/<store:store>/summaries/ep:<number:number>", api.SummaryApi.as_view(), name="summary"),
    path("stores/<store:store>/payloads", payload_api.PayloadsApi.as_view(), name="payloads"),
    path("stores/<store:store>/documents", document_api.DocumentsApi.as_view(), name="documents"),
    path(
        "stores/<store:store>/documents/<uuid:document>",
        document_api.DocumentApi.as_view(),
        name="document",
    ),
    path(
        "stores/<store:store>/documents/<uuid:document>/versions",
        document_api.DocumentVersionsApi.as_view(),
        name="document-versions",
    ),
    path(
        "stores/<store:store>/documents/<uuid:document>/passages",
        document_api.DocumentPassagesApi.as_view(),
        name="document-passages",
    ),
    path("stores/<store:store>/claims", claim_api.ClaimsApi.as_view(), name="claims"),
    path("stores/<store:store>/claims/<uuid:claim>", claim_api.ClaimApi.as_view(), name="claim"),
    path(
        "stores/<store:store>/claims/<uuid:claim>/currency",
        claim_api.ClaimCurrencyApi.as_view(),
        name="claim-currency",
    ),
    path("stores/<store:store>/associations", declare_api.AssociationsApi.as_view(), name="associations"),
    path(
        "stores/<store:store>/associations/preview",
        declare_api.AssociationsPreviewApi.as_view(),
        name="associations-preview",
    ),
    path("stores/<store:store>/entities", entity_api.EntitiesApi.as_view(), name="entities"),
    path("stores/<store:store>/entities/<number:number>", entity_api.EntityApi.as_view(), name="entity"),
    path("stores/<store:store>/entities/<uuid:entity>", entity_api.EntityByIdApi.as_view(), name="entity-id"),
    path(
        "stores/<store:store>/entities/<uuid:entity>/aliases",
        entity_api.EntityAliasesApi.as_view(),
        name="entity-aliases",
    ),
    path(
        "stores/<store:store>/entities/<uuid:entity>/merge",
        entity_api.EntityMergeApi.as_view(),
        name="entity-merge",
    ),
    path("stores/<store:store>/mentions", entity_api.MentionsApi.as_view(), name="mentions"),
    path("stores/<store:store>/merges", entity_api.MergesApi.as_view(), name="merges"),
    path(
        "stores/<store:store>/merges/<uuid:merge>/reverse",
        entity_api.MergeReverseApi.as_view(),
        name="merge-reverse",
    ),
    path("stores/<store:store>/facts", fact_api.FactsApi.as_view(), name="facts"),
    path("stores/<store:store>/facts/<fact_kind:kind>/<uuid:fact>", fact_api.FactApi.as_view(), name="fact"),
    path(
        "stores/<store:store>/facts/<fact_kind:kind>/<uuid:fact>/evidence",
        fact_api.FactEvidenceApi.as_view(),
        name="fact-evidence",
    ),
    path(
        "stores/<store:store>/facts/<fact_kind:kind>/<uuid:fact>/evidence/detach",
        fact_api.FactDetachApi.as_view(),
        name="fact-detach",
    ),
    path(
        "stores/<store:store>/facts/<fact_kind:kind>/<uuid:fact>/window",
        fact_api.FactWindowApi.as_view(),
        name="fact-window",
    ),
    path(
        "stores/<store:store>/facts/<fact_kind:kind>/<uuid:fact>/supersede",
        fact_api.FactSupersedeApi.as_view(),
        name="fact-supersede",
    ),
    path(
        "stores/<store:store>/facts/<fact_kind:kind>/<uuid:fact>/retract",
        fact_api.FactRetractApi.as_view(),
        name="fact-retract",
    ),
    path(
        "stores/<store:store>/facts/<fact_kind:kind>/<uuid:fact>/support",
        fact_api.FactSupportApi.as_view(),
        name="fact-support",
    ),
    path(
        "stores/<store:store>/contradictions",
        contradiction_api.ContradictionsApi.as_view(),
        name="contradictions",
    ),
    path(
        "stores/<store:store>/contradictions/<uuid:group>",
        contradiction_api.ContradictionApi.as_view(),
        name="contradiction",
    ),
    path(
        "stores/<store:store>/contradictions/<uuid:group>/members",
        contradiction_api.ContradictionMembersApi.as_view(),
        name="contradiction-members",
    ),
    path(
        "stores/<store:store>/contradictions/<uuid:group>/resolve",
        contradiction_api.ContradictionResolveApi.as_view(),
        name="contradiction-resolve",
    ),
    path("stores/<store:store>/imports", transfer_api.ImportsApi.as_view(), name="imports"),
    path("stores/<store:store>/exports", transfer_api.ExportsApi.as_view(), name="exports"),
    path("stores/<store:store>/export", transfer_api.ExportApi.as_view(), name="export"),
    path("stores/<store:store>/jobs", transfer_api.JobsApi.as_view(), name="jobs"),
    path("jobs/<uuid:job>", api.JobApi.as_view(), name="job"),
    path("jobs/<uuid:job>/file", transfer_api.JobFileApi.as_view(), name="job-file"),
    path("jobs/<uuid:job>/cancel", api.JobCancelApi.as_view(), name="job-cancel"),
    path("stores/<store:store>/traces", trace_api.TracesApi.as_view(), name="traces"),
    path("traces/compare", trace_api.CompareApi.as_view(), name="traces-compare"),
    path("traces/<uuid:trace>", trace_api.TraceApi.as_view(), name="trace"),
    path("traces/<uuid:trace>/replay", trace_api.ReplayApi.as_view(), name="trace-replay"),
    path("traces/<uuid:trace>/rerun", trace_api.RerunApi.as_view(), name="trace-rerun"),
    path("traces/<uuid:trace>/why", trace_api.WhyApi.as_view(), name="trace-why"),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="api:schema"), name="docs"),
]
