"""A store: one memory, the boundary nothing crosses."""

import re
import secrets
import unicodedata
from typing import Any

from django.db import models
from django.db.models import Q

POLICY_FIELDS = (
    "default_count",
    "max_count",
    "forced_count",
    "top_k",
    "max_hops",
    "max_evidence",
    "adjacency_seconds",
    "default_budget",
    "max_budget",
    "forced_budget",
    "preview_chars",
    "library_max",
)

# No vowels, no look-alikes: a suffix spells nothing and can be read aloud.
_SUFFIX_ALPHABET = "23456789bcdfghjkmnpqrstvwxz"


class Audit(models.TextChoices):
    """What a contract call owes its trace."""

    REQUIRED = "required"
    BEST_EFFORT = "best_effort"
    OFF = "off"


def make_public_id(name: str) -> str:
    """A readable prefix from the name and a random suffix: `harbour-team-7f3kq2`.

    Generated, never chosen, so that asking for a name tells nothing about other stores.
    """
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    prefix = re.sub(r"[^a-z0-9]+", "-", ascii_name.lower()).strip("-")[:32].strip("-") or "store"
    return f"{prefix}-{''.join(secrets.choice(_SUFFIX_ALPHABET) for _ in range(8))}"


class StoreQuerySet(models.QuerySet["Store"]):
    def live(self) -> "StoreQuerySet":
        return self.filter(deleted_at=None)


class Store(models.Model):
    """One memory. `public_id` names it in every address; `name` is only a label."""

    public_id = models.CharField(max_length=48, unique=True)
    name = models.CharField(max_length=100)
    language = models.CharField(max_length=16, default="english")
    audit = models.CharField(max_length=16, choices=Audit.choices, default=Audit.REQUIRED)
    # The oldest instant whose belief can still be asked about; None: all of them.
    belief_horizon_at = models.DateTimeField(null=True)
    # None: the environment's value.
    trace_days = models.IntegerField(null=True)
    # None while no embedder has ever written here.
    active_space = models.ForeignKey(
        "memoryconsole.EmbeddingSpace", on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField()
    created_by = models.ForeignKey("memoryconsole.User", on_delete=models.SET_NULL, null=True)
    version = models.PositiveIntegerField(default=1)
    deleted_at = models.DateTimeField(null=True)

    objects = StoreQuerySet.as_manager()

    class Meta:
        db_table = "mc_store"
        constraints = [
            models.CheckConstraint(condition=Q(audit__in=Audit.values), name="store_audit_known"),
            models.CheckConstraint(
                condition=Q(trace_days=None) | Q(trace_days__gt=0), name="store_trace_days"
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self.public_id:
            self.public_id = make_public_id(self.name)
        super().save(*args, **kwargs)


class StoreCounter(models.Model):
    """The last numbers and belief instant a store has given out.

    Its row is locked (`FOR UPDATE`) by each write, so that commit order is number order. It is apart from Store
    so that the lock never meets the foreign-key checks of inserts into other tables.
    """

    store = models.OneToOneField(Store, on_delete=models.CASCADE, primary_key=True, related_name="counter")
    record = models.BigIntegerField(default=0)
    summary = models.BigIntegerField(default=0)
    entity = models.BigIntegerField(default=0)
    association = models.BigIntegerField(default=0)
    document = models.BigIntegerField(default=0)
    claim = models.BigIntegerField(default=0)
    fact = models.BigIntegerField(default=0)
    belief_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "mc_store_counter"


class StoreSettings(models.Model):
    """A store's overrides of the reconstruct policy, append-only: the newest row is in force, the rest is history.

    None means: the environment's value. Names and ranges are the contract's (section B).
    """

    store = models.ForeignKey(Store, on_delete=models.CASCADE, related_name="settings_history")
    version = models.PositiveIntegerField()
    changed_at = models.DateTimeField()
    changed_by = models.ForeignKey("memoryconsole.User", on_delete=models.SET_NULL, null=True)
    default_count = models.IntegerField(null=True)
    max_count = models.IntegerField(null=True)
    forced_count = models.IntegerField(null=True)
    top_k = models.IntegerField(null=True)
    max_hops = models.IntegerField(null=True)
    max_evidence = models.IntegerField(null=True)
    adjacency_seconds = models.IntegerField(null=True)
    default_budget = models.IntegerField(null=True)
    max_budget = models.IntegerField(null=True)
    forced_budget = models.IntegerField(null=True)
    preview_chars = models.IntegerField(null=True)
    library_max = models.IntegerField(null=True)

    class Meta:
        db_table = "mc_store_settings"
        constraints = [models.UniqueConstraint(fields=["store", "version"], name="store_settings_version")]

    def overrides(self) -> dict[str, int]:
        values = {name: getattr(self, name) for name in POLICY_FIELDS}
        return {name: value for name, value in values.items() if value is not None}
