"""The container files cannot be run everywhere; what they must hold can be read everywhere."""

import re
from typing import Any

import pytest
import yaml

from memoryconsole.embedded.paths import CHECKOUT

DOCKER = CHECKOUT / "docker"
SECRET_NAME = re.compile(r"PASSWORD|SECRET|TOKEN|KEY", re.IGNORECASE)


@pytest.fixture(scope="module")
def stages() -> list[list[tuple[str, str]]]:
    """The Dockerfile's instructions, stage by stage."""
    text = (DOCKER / "Dockerfile").read_text()
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    found: list[list[tuple[str, str]]] = []
    for line in filter(None, map(str.strip, lines)):
        word, _, rest = line.partition(" ")
        if word == "FROM":
            found.append([])
        found[-1].append((word, " ".join(rest.split())))
    return found


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded = yaml.safe_load((DOCKER / "compose.yaml").read_text())
    assert isinstance(loaded, dict)
    return loaded


def values(stage: list[tuple[str, str]], word: str) -> list[str]:
    return [rest for found, rest in stage if found == word]


def test_it_is_built_in_one_stage_and_run_in_another(stages: list[list[tuple[str, str]]]) -> None:
    assert len(stages) == 2
    build, final = stages
    for stage in stages:
        (image,) = values(stage, "FROM")
        assert re.match(r"python:3\.\d+-slim-\w+( AS build)?$", image), "a named version, never latest"
    assert all("--from=build" in copied for copied in values(final, "COPY"))
    assert not any("pip" in command for command in values(final, "RUN"))
    assert any("--require-hashes" in command and "base.lock" in command for command in values(build, "RUN"))


def test_it_does_not_run_as_root(stages: list[list[tuple[str, str]]]) -> None:
    final = stages[-1]
    (user,) = values(final, "USER")
    assert user.isdigit()
    assert int(user) > 0
    words = [word for word, _rest in final]
    assert words.index("USER") < words.index("CMD")
    assert "RUN" not in words[words.index("USER") :]


def test_no_secret_stays_in_the_image(stages: list[list[tuple[str, str]]]) -> None:
    for stage in stages:
        for word in ("ENV", "ARG", "LABEL"):
            assert [rest for rest in values(stage, word) if SECRET_NAME.search(rest)] == []
    ignored = (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()
    assert "*" in ignored
    assert not {"!.git", "!.state", "!.venv", "!docker"} & set(ignored)


def test_what_it_copies_exists(stages: list[list[tuple[str, str]]]) -> None:
    for copied in values(stages[0], "COPY"):
        assert (CHECKOUT / copied.split()[0]).exists(), copied


def test_it_serves_and_is_asked_for_its_health(stages: list[list[tuple[str, str]]]) -> None:
    final = stages[-1]
    (command,) = values(final, "CMD")
    assert "memoryconsole.wsgi:application" in command
    (health,) = values(final, "HEALTHCHECK")
    assert "/healthz" in health


def test_the_services_are_there_and_none_is_latest(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert set(services) == {"migrate", "web", "worker", "database", "broker"}
    assert re.fullmatch(r"pgvector/pgvector:pg1[78]", services["database"]["image"])
    assert re.fullmatch(r"valkey/valkey:\d[\w.-]*", services["broker"]["image"])
    for name in ("migrate", "web", "worker"):
        assert services[name]["build"] == {"context": "..", "dockerfile": "docker/Dockerfile"}
        assert services[name]["cap_drop"] == ["ALL"]
    assert "migrate" in services["migrate"]["command"]
    assert any("memoryconsole.celery:app" in part for part in services["worker"]["command"])


def test_every_secret_comes_from_outside_and_is_required(compose: dict[str, Any]) -> None:
    seen = 0
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            if SECRET_NAME.search(name):
                assert re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), f"{name} is written down"
                seen += 1
            if "://" in value and "@" in value:
                assert re.search(r"://\w+:\$\{\w+:\?[^}]+\}@", value), f"{name} holds a password"
                seen += 1
    assert seen >= 7


def test_only_the_web_server_is_published_and_only_on_this_machine(compose: dict[str, Any]) -> None:
    published = {
        name: service["ports"] for name, service in compose["services"].items() if "ports" in service
    }
    assert published == {"web": ["127.0.0.1:8000:8000"]}


def test_data_is_kept_and_waited_for(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name in ("database", "broker"):
        (volume,) = services[name]["volumes"]
        assert volume.split(":")[0] in compose["volumes"]
        assert "healthcheck" in services[name]
    assert services["web"]["depends_on"] == {
        "migrate": {"condition": "service_completed_successfully"},
        "broker": {"condition": "service_healthy"},
    }
    # From PostgreSQL 18 on the image keeps its data one level up, below a folder named after the version.
    assert services["database"]["volumes"] == ["database:/var/lib/postgresql"]
