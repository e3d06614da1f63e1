"""The refs of the texts that an answer shows, and their digests, as traces keep them.

`claim:<id>` and `span:<id>` a claim's words and its source's, `mem:<number>` a passage, `prefix:<number>` what helps to
find it, `document:<id>` a title, `entity:<id>` a name, `observation:<id>` a statement.
"""

import hashlib

from memoryconsole.traces import kept_digest
from provenance.context_bundle.core.seen import Text


def text_of(ref: str, text: str) -> Text:
    return Text(ref=ref, digest=kept_digest(digest_of_text(text)), text=text)


def digest_of_text(text: str) -> bytes:
    """As records keep it of their content."""
    return hashlib.sha256(text.encode()).digest()


def name_text(entity_id: str, name: str) -> Text:
    return text_of(f"entity:{entity_id}", name)


def stored_text(ref: str, text: str, digest: bytes) -> Text:
    """A text whose row keeps its digest."""
    return Text(ref=ref, digest=kept_digest(digest), text=text)
