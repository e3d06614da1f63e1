"""Stores and their settings: made, changed, and read as the policy in force."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, transaction

from memoryconsole import registry
from memoryconsole.access import Actor
from memoryconsole.errors import Fault, InvalidParameter, NotPermitted, StaleResource, StoreSettingsInvalid
from memoryconsole.models import Membership, Role, Store, StoreCounter, StoreSettings, TokenGrant
from memoryconsole.models.stores import POLICY_FIELDS
from memoryconsole.services.indexing import analyse_later


def check_may_create(actor: Actor) -> None:
    """Raises NotPermitted when the actor may not make stores."""
    if not actor.user.can_create_stores:
        raise NotPermitted("This account may not create stores")
    if actor.token is not None and not {"read", "write"} <= set(actor.token.scopes):
        raise NotPermitted("This needs the scopes 'read' and 'write'")


@transaction.atomic
def create_store(actor: Actor, *, name: str, language: str, audit: str, now: datetime) -> Store:
    """A new, empty store. Its maker is its admin; a token that makes a store may use it.

    Raises NotPermitted when the actor may not make stores.
    """
    check_may_create(actor)
    store = Store.objects.create(
        name=name, language=language, audit=audit, created_at=now, created_by=actor.user
    )
    StoreCounter.objects.create(store=store)
    Membership.objects.create(store=store, user=actor.user, role=Role.ADMIN)
    if actor.token is not None:
        TokenGrant.objects.create(store=store, token=actor.token)
    return store


def overrides_of(store: Store) -> dict[str, int]:
    """The store's own settings in force (one query)."""
    latest = StoreSettings.objects.filter(store=store).order_by("-version").first()
    return latest.overrides() if latest else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyInForce:
    """The settings of one call, by contract name, and whose they are: the environment's, the store's own
    (`overrides`), or this call's alone (`call`). `last`: the highest number given out so far, by kind.
    """

    environment: Mapping[str, int | None]
    overrides: Mapping[str, int]
    call: Mapping[str, int | None]
    last: Mapping[str, int]

    @property
    def values(self) -> dict[str, int | None]:
        return {**self.environment, **self.overrides, **self.call}

    def kept(self) -> dict[str, Any]:
        """As a trace keeps it."""
        return {"settings": self.values, "store": dict(self.overrides), "call": dict(self.call)}


# Put together once: every read asks this, and to have it put together each time costs more than to answer it.
_POLICY = f"""
    SELECT c.record, c.summary, {", ".join(f"s.{name}" for name in POLICY_FIELDS)}
    FROM mc_store_counter AS c
    LEFT JOIN LATERAL (
        SELECT * FROM mc_store_settings WHERE store_id = c.store_id ORDER BY version DESC LIMIT 1) AS s ON TRUE
    WHERE c.store_id = %s
"""  # noqa: S608  (names of columns)


def policy_of(store: Store, call: Mapping[str, int | None] | None = None) -> PolicyInForce:
    """The reconstruct policy in force for a call on a store (one statement).

    Raises StoreSettingsInvalid when an override that was fine when saved exceeds a ceiling lowered since,
    InvalidParameter when the settings of this call alone contradict the others.
    """
    with connection.cursor() as cursor:
        cursor.execute(_POLICY, [store.pk])
        records, summaries, *own = cursor.fetchone()
    policy = PolicyInForce(
        environment=settings.RECONSTRUCT,
        overrides={name: value for name, value in zip(POLICY_FIELDS, own, strict=True) if value is not None},
        call=call or {},
        last={"mem": records, "ep": summaries},
    )
    check_policy(policy.environment, policy.overrides, policy.call)
    return policy


def check_policy(
    environment: Mapping[str, int | None], overrides: Mapping[str, int], call: Mapping[str, int | None]
) -> None:
    """Raises StoreSettingsInvalid when a store's overrides do not go with the environment's settings,
    InvalidParameter when a call's own do not go with both.
    """
    context = {"environment": dict(environment), "store": dict(overrides), "call": dict(call)}
    faults = registry.policy_faults(environment, overrides) if overrides else []
    if faults:
        raise StoreSettingsInvalid("; ".join(fault.message for fault in faults), context=context)
    faults = registry.policy_faults(environment, {**overrides, **call}) if call else []
    if faults:
        raise InvalidParameter("; ".join(fault.message for fault in faults), context=context)


@transaction.atomic
def change_store(
    store: Store, actor: Actor, changes: Mapping[str, Any], *, if_version: int | None, now: datetime
) -> Store:
    """Change a store's label, language, audit policy or settings; every change makes a new version.

    `changes["settings"]` holds overrides by contract name, None to fall back on the environment's value.
    Raises StaleResource when `if_version` is not the current one, InvalidParameter for settings that contradict.
    """
    locked = Store.objects.select_for_update().get(pk=store.pk)
    if if_version is not None and locked.version != if_version:
        raise StaleResource(f"The store is at version {locked.version}")
    if changes.get("language", locked.language) != locked.language:
        analyse_later(locked, by=actor.user, now=now)
    for name in ("name", "language", "audit", "trace_days"):
        if name in changes:
            setattr(locked, name, changes[name])
    locked.version += 1
    if "settings" in changes:
        _save_settings(locked, actor, changes["settings"], now=now)
    locked.save()
    return locked


def _save_settings(store: Store, actor: Actor, changes: Mapping[str, int | None], *, now: datetime) -> None:
    merged = {**dict.fromkeys(POLICY_FIELDS), **overrides_of(store), **changes}
    given = {name: value for name, value in merged.items() if value is not None}
    faults = registry.policy_faults(settings.RECONSTRUCT, given)
    if faults:
        raise InvalidParameter(
            "; ".join(fault.message for fault in faults),
            errors=[
                Fault(f"/settings/{name}", "contradiction", fault.message)
                for fault in faults
                for name in fault.names
            ],
        )
    StoreSettings.objects.create(
        store=store, version=store.version, changed_at=now, changed_by=actor.user, **merged
    )
