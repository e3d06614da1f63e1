from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from memoryconsole import (
    api,
    converters,  # noqa: F401  (registers the address parts)
    declare_api,
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
    path("stores/<store:store>/associations", declare_api.AssociationsApi.as_view(), name="associations"),
    path(
        "stores/<store:store>/associations/preview",
        declare_api.AssociationsPreviewApi.as_view(),
        name="associations-preview",
    ),
    path("stores/<store:store>/entities", declare_api.EntitiesApi.as_view(), name="entities"),
    path("stores/<store:store>/entities/<number:number>", declare_api.EntityApi.as_view(), name="entity"),
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
