"""Files in the database, in pieces; pieces back to lines. Nothing here holds a file as a whole."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from memoryconsole.bulk import copy_rows
from memoryconsole.models import Job, JobChunk

# Every piece but a file's last is as long: an offset tells its piece. A piece is sent to the database as hexadecimal
# text, which makes three of it in memory.
PIECE_BYTES = 1024 * 1024
# A text of 200,000 code points and tool calls as long are under 5 MB, escapes and all.
MAX_LINE_BYTES = 8 * 1024 * 1024
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, without its end. `number`: from 1. `after`: the offset of the next line.

    `data` is None for a line longer than MAX_LINE_BYTES.
    """

    number: int
    data: bytes | None
    after: int


def in_pieces(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces of PIECE_BYTES, the last one shorter."""
    buffer = bytearray()
    for part in parts:
        buffer += part
        while len(buffer) >= PIECE_BYTES:
            yield bytes(buffer[:PIECE_BYTES])
            del buffer[:PIECE_BYTES]
    if buffer:
        yield bytes(buffer)


def read_parts(file: BinaryIO) -> Iterator[bytes]:
    while part := file.read(PIECE_BYTES):
        yield part


def keep(job: Job, parts: Iterable[bytes]) -> None:
    """Store a job's file."""
    rows = ((job.store_id, job.pk, index, piece) for index, piece in enumerate(in_pieces(parts)))
    copy_rows(JobChunk, ("store_id", "job_id", "index", "data"), rows)


def stored_parts(job: Job, offset: int = 0) -> Iterator[bytes]:
    """A job's file from an offset on, one piece in memory at a time."""
    index, skip = divmod(offset, PIECE_BYTES)
    chunks = JobChunk.objects.filter(store=job.store_id, job=job).values_list("data", flat=True)
    while (data := chunks.filter(index=index).first()) is not None:
        yield bytes(data)[skip:]
        index, skip = index + 1, 0


def lines_of(parts: Iterable[bytes], *, number: int = 0, offset: int = 0) -> Iterator[Line]:
    """The lines of a file from an offset on, `number` lines being before it.

    A line ends with LF or CR LF, the last one also with the file. A byte order mark at the file's beginning is no
    part of its first line.
    """
    buffer = bytearray()
    dropped = 0  # bytes of a line that grew too long, no more in the buffer
    for part in parts:
        start = 0
        while (end := part.find(b"\n", start)) >= 0:
            buffer += memoryview(part)[start:end]
            number, offset = number + 1, offset + dropped + len(buffer) + 1
            yield _line(number, buffer, offset, dropped)
            buffer.clear()
            start, dropped = end + 1, 0
        buffer += memoryview(part)[start:]
        if len(buffer) > MAX_LINE_BYTES:
            dropped += len(buffer)
            buffer.clear()
    if buffer or dropped:
        yield _line(number + 1, buffer, offset + dropped + len(buffer), dropped)


def _line(number: int, buffer: bytearray, after: int, dropped: int) -> Line:
    if dropped or len(buffer) > MAX_LINE_BYTES:
        return Line(number, None, after)
    data = bytes(buffer)
    if number == 1:
        data = data.removeprefix(_MARK)
    # JSON's white space, and no other: what else is blank is no JSON.
    return Line(number, data.strip(b" \t\r"), after)
