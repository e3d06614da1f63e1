"""The only reader of context-bundle: what the store holds in, the core's frozen values out. Call inside `snapshot()`.

Nothing is decided here that the core can decide. Conditions stand in SQL where they bound what is read: who is
nominated at all, which members of a group are live, which claim stands for its document.

`anchors` who is asked about and how far the live graph leads, `facts` and `testimony` the rows of the two contexts,
`names` who a name may mean, `texts` what a trace names, read again. `sql` holds the conditions they share.
"""
