from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from memoryconsole import health, pages

app_name = "console"

urlpatterns = [
    path("", pages.home, name="home"),
    path(
        "sign-in",
        LoginView.as_view(template_name="console/sign_in.html", redirect_authenticated_user=True),
        name="sign-in",
    ),
    path("sign-out", LogoutView.as_view(), name="sign-out"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
]
