"""What relations are called: the core list, the open vocabulary, and how a fact reads as one line. Pure.

Contract: context-bundle A.4.
"""

import re

CORE = (
    "related_to",
    "works_for",
    "member_of",
    "affiliated_with",
    "founded",
    "located_in",
    "part_of",
    "authored",
    "created",
    "about",
    "knows_about",
    "knows",
    "participated_in",
    "works_on",
    "uses",
    "reports_to",
)

# `other:`, then 2 to 41 characters.
_OPEN = re.compile(r"other:[a-z][a-z0-9_]{1,40}", re.ASCII)
LONGEST = len("other:") + 41


def is_predicate(text: str) -> bool:
    """Whether a relation may be called so: a word of CORE, or `other:` and a lower-case word of one's own."""
    return text in CORE or _OPEN.fullmatch(text) is not None


def readable(predicate: str) -> str:
    """A predicate as it stands in a label: without `other:`, underscores as blanks."""
    return predicate.removeprefix("other:").replace("_", " ")


def label(predicate: str, statement: str, subject: str, object_: str) -> str:
    """The one line that names a fact: an observation's statement; of a relation subject, predicate and object.

    A relation whose ends have no names is called by its predicate alone.
    """
    if not predicate:
        return statement
    if not subject or not object_:
        return readable(predicate)
    return f"{subject} {readable(predicate)} {object_}"
