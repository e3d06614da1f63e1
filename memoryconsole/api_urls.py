from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from memoryconsole import api, converters  # noqa: F401  (registers the address parts)

app_name = "api"

urlpatterns = [
    path("stores", api.StoresApi.as_view(), name="stores"),
    path("stores/<store:store>", api.StoreApi.as_view(), name="store"),
    path("stores/<store:store>/records", api.RecordsApi.as_view(), name="records"),
    path("stores/<store:store>/records/mem:<number:number>", api.RecordApi.as_view(), name="record"),
    path("stores/<store:store>/summaries", api.SummariesApi.as_view(), name="summaries"),
    path("stores/<store:store>/summaries/ep:<number:number>", api.SummaryApi.as_view(), name="summary"),
    path("jobs/<uuid:job>", api.JobApi.as_view(), name="job"),
    path("jobs/<uuid:job>/cancel", api.JobCancelApi.as_view(), name="job-cancel"),
    path("schema", SpectacularAPIView.as_view(), name="schema"),
    path("docs", SpectacularSwaggerSplitView.as_view(url_name="api:schema"), name="docs"),
]
