import pytest

from tests.facts.world import World


@pytest.fixture
def world(api, store):
    return World(store, api)


@pytest.fixture
def tern(world):
    return world.entity("Aurora Tern")


@pytest.fixture
def ferries(world):
    return world.entity("Northpier Ferries")
