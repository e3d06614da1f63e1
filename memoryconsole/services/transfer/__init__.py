"""A store as a file of lines, out and in (`docs/transfer.md`).

lines.py: the format, with members.py. pieces.py: files in the database. export.py and imports.py: the two jobs, with
occurrences.py, rows.py and declarations.py for what an import stores.
"""

from memoryconsole.services.transfer.export import (
    drop_files,
    file_of,
    has_file,
    start_export,
    stream_export,
    with_files,
    withdraw_exports,
)
from memoryconsole.services.transfer.imports import start_import

__all__ = [
    "drop_files",
    "file_of",
    "has_file",
    "start_export",
    "start_import",
    "stream_export",
    "with_files",
    "withdraw_exports",
]
