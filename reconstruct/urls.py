from django.urls import path

from memoryconsole import converters  # noqa: F401  (registers the address parts)
from reconstruct import api

app_name = "reconstruct"

urlpatterns = [
    path("stores/<store:store>/reconstruct", api.ReconstructApi.as_view(), name="reconstruct"),
    path("stores/<store:store>/recall", api.RecallApi.as_view(), name="recall"),
    path("stores/<store:store>/traverse", api.TraverseApi.as_view(), name="traverse"),
    path("stores/<store:store>/contents", api.ContentsApi.as_view(), name="contents"),
]
