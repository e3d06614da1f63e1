"""How a memory is rebuilt: values in, values out.

Nothing below this folder reads a clock, a setting, a file or a database. ``reconstruct`` answers a request
over a snapshot; ``rebuild`` gives everything that was decided on the way. See ``types`` for the words.
"""

from reconstruct.core.outline import outline
from reconstruct.core.policy import check_policy, decide, effective_settings
from reconstruct.core.rebuild import Reconstruction, rebuild
from reconstruct.core.response import reconstruct, respond, shortfall_reason
from reconstruct.core.types import InvalidRequest, InvalidSnapshot, Request, Settings, Snapshot

CORE = "reconstruct/1"
"""Which rules decide. Changes with every change of what is decided, so that a replay can say whose rules it used."""

__all__ = [
    "CORE",
    "InvalidRequest",
    "InvalidSnapshot",
    "Reconstruction",
    "Request",
    "Settings",
    "Snapshot",
    "check_policy",
    "decide",
    "effective_settings",
    "outline",
    "rebuild",
    "reconstruct",
    "respond",
    "shortfall_reason",
]
