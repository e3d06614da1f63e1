"""Names made comparable. Stored names keep their first form; only keys are folded."""

import unicodedata


def declared_key(name: str) -> str:
    """The key under which declared names, aliases and predicates meet: NFKC, case-folded, single spaces, trimmed.

    Contract: reconstruct A.5. "Straße" and "STRASSE" meet, so do full-width and ASCII letters.
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    # Case folding can undo the normal form (İ), so it is restored before keys are compared.
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def resolve_key(name: str) -> str:
    """The key under which names are looked up: NFKD without combining marks, lower case, single spaces, trimmed.

    Contract: context-bundle C.1. "Åse  Brandvold" and "ase BRANDVOLD" meet. '' for a name of nothing else.
    """
    decomposed = unicodedata.normalize("NFKD", name)
    plain = "".join(char for char in decomposed if not unicodedata.combining(char)).lower()
    return " ".join(plain.split())
