"""Settings fail loudly, each fault named."""

import pytest

from memoryconsole.environment import EnvironmentFault, read_environment


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CELERY_BROKER_URL", "foo://x"),
        ("CELERY_BROKER_URL", "http://x"),
        ("CELERY_BROKER_URL", "redis://h:notaport/0"),
        ("CELERY_BROKER_URL", "redis:///0"),
        ("MEMORYCONSOLE_POOL_SIZE", "0"),
        ("MEMORYCONSOLE_POOL_SIZE", "ten"),
        ("MEMORYCONSOLE_POOL_SIZE", "--5"),
        ("MEMORYCONSOLE_DEBUG", "yes"),
        ("MEMORYCONSOLE_EMBEDDER", "gpt"),
        ("MEMORYCONSOLE_RECONSTRUCT_MAX_COUNT", "1.5"),
        ("MEMORYCONSOLE_SYNTHESIS_URL", "http://a..b/v1"),
    ],
)
def test_a_wrong_value_is_named(name, value):
    with pytest.raises(EnvironmentFault, match=name):
        read_environment({name: value})


def test_every_fault_is_named_at_once():
    with pytest.raises(EnvironmentFault) as fault:
        read_environment({"MEMORYCONSOLE_POOL_SIZE": "0", "MEMORYCONSOLE_EMBEDDER": "x"})
    assert "MEMORYCONSOLE_POOL_SIZE" in str(fault.value)
    assert "MEMORYCONSOLE_EMBEDDER" in str(fault.value)


@pytest.mark.parametrize(
    "url", ["redis://h:6379/0", "rediss://h", "redis+socket:///run/b.sock", "amqp://u:p@h//"]
)
def test_brokers_that_work_is_sent_over(url):
    assert read_environment({"CELERY_BROKER_URL": url})["CELERY_BROKER_URL"] == url


@pytest.mark.parametrize("key", ["sk-secret\n", "sk secret", "sk-secr\u00e9t", "sk\r\nX-More: 1"])
def test_a_key_that_no_header_takes_is_refused_and_not_shown(key):
    with pytest.raises(EnvironmentFault, match="MEMORYCONSOLE_SYNTHESIS_KEY") as fault:
        read_environment({"MEMORYCONSOLE_SYNTHESIS_KEY": key})
    assert "sk" not in str(fault.value)


def test_an_empty_value_is_unset():
    assert read_environment({"MEMORYCONSOLE_POOL_SIZE": ""})["MEMORYCONSOLE_POOL_SIZE"] == 8
