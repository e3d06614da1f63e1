"""The read scope of a call: which projects, channels and sources it looks at. Filters, never permissions.

Contract: reconstruct A.7. Every reader of rows, entities and associations filters through this one value.
"""

from dataclasses import dataclass

from django.db.models import Q


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadScope:
    """`project_id` None: no project filter; '' the global pool only; 'X': X and the global pool.
    `channel` '': no channel filter; 'C': C and the shared channel.
    `source_id` '': no source filter; 's': records whose source id starts with s, and no summaries unless a channel
    is given too.
    """

    project_id: str | None = None
    channel: str = ""
    source_id: str = ""

    def context(self, through: str = "") -> Q:
        """The condition on `project_id` and `channel`, for any table that carries both.

        `through`: for the row a foreign key of that name leads to. It is a join on primary keys: a subquery over all
        readable rows is planned badly while a table has no statistics.
        """
        at = f"{through}__" if through else ""
        condition = Q()
        if self.project_id is not None:
            condition &= Q(**{f"{at}project_id__in": {self.project_id, ""}})
        if self.channel:
            condition &= Q(**{f"{at}channel__in": [self.channel, ""]})
        return condition

    def records(self, through: str = "") -> Q:
        """The condition on a record (or any row with its scope columns and a `source_id`)."""
        if not self.source_id:
            return self.context(through)
        at = f"{through}__" if through else ""
        # A literal prefix: Django escapes % and _.
        return self.context(through) & Q(**{f"{at}source_id__startswith": self.source_id})

    @property
    def reads_summaries(self) -> bool:
        return not self.source_id or bool(self.channel)


EVERYTHING = ReadScope()
