"""The only reader of context-bundle: what the store holds in, the core's frozen values out. Call inside `snapshot()`.

Nothing is decided here that the core can decide. Conditions stand in SQL where they bound what is read: who is
nominated at all, which members of a group are live, which claim stands for its document.

`contexts` reads one answer, in order: `anchors` who is asked about and how far the live graph leads, `facts` and
`testimony` the rows of the two contexts, `profiles` who a name may mean. `standing` tells how something stands now,
`texts` reads again what a trace names. `sql` holds the conditions they share, `words` the refs of texts; `deadline`
ends what takes too long.
"""
