"""Words a question is asked with, not about. They are dropped from a query while other words remain in it.

They stay in the index: a query of nothing else still finds the rows that hold them. Data of the analyser: a
change raises `analyze.ANALYZER`. Our own lists; a language without one drops nothing, rarity alone then
weighs its words.
"""

_ENGLISH = """
a an the this that these those i me my mine myself you your yours yourself yourselves he him his himself she
her hers herself it its itself we us our ours ourselves they them their theirs themselves one ones am is are
was were be been being do does did doing done have has had having will would shall should can could might must
ought and or but nor so yet if then else than because while whereas though although unless until since of in
on at by for from to into onto with without within about against between among through during before after
above below over under up down out off again further around across along toward towards via per as like not no
don't doesn't didn't isn't aren't wasn't weren't won't wouldn't can't couldn't shouldn't haven't hasn't hadn't
cannot who whom whose what which when where why how whenever wherever whatever whichever whoever however there
here now just only also too very some any each every both all more most much many few less least other another
such own same get gets got getting go goes went gone going let lets tell told said say says please
"""

STOP_WORDS: dict[str, frozenset[str]] = {
    "english": frozenset(word.replace("'", "") for word in _ENGLISH.split()),
}
