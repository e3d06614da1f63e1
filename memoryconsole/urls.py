"""The site's addresses. Each floor owns its own; this file only says where they hang."""

from django.urls import include, path

urlpatterns = [
    path("api/v1/", include("memoryconsole.api_urls")),
    path("api/v1/", include("reconstruct.urls")),
    path("api/v1/", include("provenance.urls")),
    path("", include("memoryconsole.page_urls")),
    path("", include("reconstruct.page_urls")),
]

handler400 = "memoryconsole.http.bad_request"
handler404 = "memoryconsole.http.not_found"
handler500 = "memoryconsole.http.server_error"
