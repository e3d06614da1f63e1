from django.contrib.auth.views import LogoutView
from django.urls import path

from memoryconsole import converters, health  # noqa: F401  (registers the address parts)
from memoryconsole.pages import home, jobs, overview, records, settings, summaries, traces
from memoryconsole.sign_in import SignInView

app_name = "console"

urlpatterns = [
    path("", home.home, name="home"),
    path("sign-in", SignInView.as_view(), name="sign-in"),
    path("sign-out", LogoutView.as_view(), name="sign-out"),
    path("stores/<store:store>/", overview.overview, name="overview"),
    path("stores/<store:store>/records", records.listing, name="records"),
    path("stores/<store:store>/records/mem:<number:number>", records.detail, name="record"),
    path("stores/<store:store>/records/mem:<number:number>/delete", records.delete, name="record-delete"),
    path("stores/<store:store>/summaries", summaries.listing, name="summaries"),
    path("stores/<store:store>/summaries/ep:<number:number>", summaries.detail, name="summary"),
    path("stores/<store:store>/summaries/ep:<number:number>/delete", summaries.delete, name="summary-delete"),
    path("stores/<store:store>/traces", traces.listing, name="traces"),
    path("stores/<store:store>/traces/<uuid:trace>", traces.detail, name="trace"),
    path("stores/<store:store>/traces/<uuid:trace>/replay", traces.replay, name="trace-replay"),
    path("stores/<store:store>/traces/<uuid:trace>/rerun", traces.rerun, name="trace-rerun"),
    path("stores/<store:store>/traces/<uuid:trace>/compare", traces.compare, name="trace-compare"),
    path("stores/<store:store>/jobs", jobs.listing, name="jobs"),
    path("stores/<store:store>/jobs/import", jobs.take_file, name="import"),
    path("stores/<store:store>/jobs/export", jobs.make_file, name="export"),
    path("stores/<store:store>/jobs/<uuid:job>", jobs.detail, name="job"),
    path("stores/<store:store>/settings", settings.settings_page, name="settings"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
