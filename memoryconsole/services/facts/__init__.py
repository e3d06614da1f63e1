"""What a store holds true, and every way of changing it.

A command is one transaction under the store's counter lock: it checks what can be checked, writes rows and
transcript, and makes the index follow (`changing.py`). Nothing is guessed: each decision is somebody's explicit
command, or a rule that the transcript names.

declaring.py adds facts; evidence.py and dating.py change what they rest on and when they were so; holding.py finds
them and ends belief; contradictions.py keeps disagreements; support.py gives verdicts; reading.py writes rows out for
the API. `services/settling.py` is what changes of testimony call. Contract: context-bundle A.4 to A.7, M.2.
"""
