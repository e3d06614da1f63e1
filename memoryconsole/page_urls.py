from django.contrib.auth.views import LogoutView
from django.urls import path

from memoryconsole import health, pages
from memoryconsole.sign_in import SignInView

app_name = "console"

urlpatterns = [
    path("", pages.home, name="home"),
    path("sign-in", SignInView.as_view(), name="sign-in"),
    path("sign-out", LogoutView.as_view(), name="sign-out"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
