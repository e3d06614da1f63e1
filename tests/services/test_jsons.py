"""JSON as bytes: what the standard library writes, by the quick writer where that can."""

import json
import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryconsole.jsons import write, write_plain

# The two write a fraction's exponent in different words (1e-07, 1e-7): the value is the same.
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda n: "e" not in repr(n)
)
texts = st.text(alphabet=st.characters(exclude_categories=())) | st.text()
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=20,
)


@given(values, st.booleans())
def test_it_is_what_the_standard_library_writes(value, ordered):
    text = json.dumps(value, sort_keys=ordered, ensure_ascii=False, separators=(",", ":"))
    assert write(value, ordered=ordered) == text.encode("utf-8", "surrogatepass")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_fraction_comes_back(number):
    assert json.loads(write(number)) == number


@pytest.mark.parametrize(
    "value", [datetime(2026, 1, 1, tzinfo=UTC), {1, 2}, object(), [b"x"], {"a": {uuid: 1}}]
)
def test_what_is_no_json_is_refused(value):
    with pytest.raises(TypeError):
        write(value)


def test_what_a_uuid_and_what_is_no_number_become():
    assert write([uuid.UUID(int=1), float("nan")]) == b'["00000000-0000-0000-0000-000000000001",null]'


@pytest.mark.parametrize("value", ["\ud800", 2**70, {"a": ["\udfff"]}])
def test_what_is_rare_is_no_plain_value(value):
    with pytest.raises(TypeError):
        write_plain(value)
    assert json.loads(write(value).decode("utf-8", "surrogatepass")) == value


def test_a_tuple_is_a_list_and_a_large_number_a_number():
    assert write((1, 2**70)) == b"[1,1180591620717411303424]"
