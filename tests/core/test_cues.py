"""Which declared names a query mentions (contract, section C)."""

from reconstruct.core.cues import MATCHES_MAX, Name, expand, mentioned


def name(entity: int, key: str, *, alias: bool = False) -> Name:
    return Name(entity=entity, text=key.title(), key=key, alias=alias)


def test_no_more_than_64_homonyms_are_taken_lowest_entity_first() -> None:
    names = [name(entity, "alice") for entity in range(100, 0, -1)]
    assert mentioned("alice", names) == tuple(range(1, MATCHES_MAX + 1))


def test_the_64th_name_may_stand_amid_homonyms() -> None:
    names = [name(1, "alice liddell"), *(name(entity, "bob") for entity in range(2, 100))]
    assert mentioned("alice liddell and bob", names) == tuple(range(1, MATCHES_MAX + 1))


def test_a_name_only_inside_a_longer_one_does_not_count_and_one_beside_it_does() -> None:
    names = [name(1, "pier nine"), name(2, "pier")]
    assert mentioned("at pier nine", names) == (1,)
    assert mentioned("at pier nine, the other pier", names) == (1, 2)


def test_a_latin_name_is_no_part_of_a_word_and_others_may_be() -> None:
    assert mentioned("skylark larks", [name(1, "lark")]) == ()
    assert mentioned("東京都庁", [name(1, "京都")]) == (1,)


def test_a_repeating_query_is_read_once_per_name() -> None:
    query = ("a " * 9999).strip()
    names = [name(1, "a a"), name(2, "a")]
    found = mentioned(query, names)
    assert [name.text for name in expand(query, found, names).entities] == ["A A"]
    assert found == (1,)
