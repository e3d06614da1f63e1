from django.urls import path

from memoryconsole import converters  # noqa: F401  (registers the address parts)
from provenance.api import VerifyApi
from provenance.expand_query import api

app_name = "provenance"

urlpatterns = [
    path("stores/<store:store>/expand-query", api.ExpandQueryApi.as_view(), name="expand-query"),
    path("stores/<store:store>/expand", api.ExpandApi.as_view(), name="expand"),
    path("stores/<store:store>/verify", VerifyApi.as_view(), name="verify"),
]
