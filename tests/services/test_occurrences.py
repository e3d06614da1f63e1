"""Which of several equal lines of a file one is, and how many lines that is found out for."""

import pytest

from memoryconsole.models import Record
from memoryconsole.services.transfer import occurrences
from memoryconsole.services.transfer.occurrences import Occurrences, TooManyLines
from memoryconsole.services.transfer.pieces import lines_of
from tests.services.transfer_world import imported


def numbers(file, past=0):
    """The number at the end of each line's message id, of the lines behind `past`."""
    every = list(lines_of([file]))
    told = Occurrences(every, past=past)
    return [int(told.message_id(line.data).rpartition(":")[2]) for line in every[past:]]


def test_equal_lines_are_numbered_in_order_wherever_a_worker_goes_on():
    file = b"a\nb\na\nc\na\nb\n"
    assert numbers(file) == [1, 1, 2, 1, 3, 2]
    for past in range(7):
        assert numbers(file, past) == numbers(file)[past:]


def test_a_file_of_too_many_lines_fails_before_anything_is_stored(store, ada, monkeypatch):
    monkeypatch.setattr(occurrences, "MAX_LINES", 3)
    longest = b'{"content": "a"}\n{"content": "b"}\n\n'
    assert imported(store, ada, longest).state == "done"
    assert Record.objects.filter(store=store).count() == 2
    job = imported(store, ada, longest + b'{"content": "c"}')
    assert (job.state, job.message) == ("failed", "The file has more than 5,000,000 lines: divide it.")
    assert Record.objects.filter(store=store).count() == 2
    with pytest.raises(TooManyLines):
        Occurrences(lines_of([b"a\n" * 4]), past=0)
