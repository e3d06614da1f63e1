"""How Hypothesis looks for counterexamples: the same examples at every run of the suite, new ones when asked.

A commit has one verdict, so the suite draws its examples from the test's own name. `make fuzz` draws random ones,
TIMES as many as usual, and shrinks what it finds; what it finds is mended and becomes a test that always runs.
"""

import os

from hypothesis import Phase, settings

TIMES = int(os.environ.get("MEMORYCONSOLE_FUZZ", "0"))
# A smaller example is worth minutes only to somebody who looks for it.
SLOW_PHASES = list(Phase) if TIMES else [Phase.generate]


def examples(usual: int) -> int:
    """How many examples of a property are tried now; ``usual``: how many the suite tries."""
    return usual * max(1, TIMES)


# No deadline of an example's own: timings belong to benchmarks.
settings.register_profile("suite", max_examples=100, derandomize=True, deadline=None)
settings.register_profile("fuzz", max_examples=examples(100), deadline=None, print_blob=True)
settings.load_profile("fuzz" if TIMES else "suite")
