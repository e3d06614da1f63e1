"""The one door to a store: who is asking, and what they may do there."""

from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from django.db.models import QuerySet

from memoryconsole.errors import NotFound, NotPermitted
from memoryconsole.models import Membership, Role, Scope, Store, Token, User
from memoryconsole.models.stores import StoreQuerySet
from memoryconsole.statements import Given, compiled, instances


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a call: a person, or a person's token."""

    user: User
    token: Token | None = None


def memberships_of(actor: Actor) -> "QuerySet[Membership]":
    """The actor's memberships on live stores; a token's, on the stores it was granted."""
    return _memberships(actor.user, actor.token)


def _memberships(user: User | Given, token: Token | Given | None) -> "QuerySet[Membership]":
    found = Membership.objects.filter(user=user, store__deleted_at=None)
    return found if token is None else found.filter(store__grants__token=token)


@cache
def _opening(by_token: bool) -> str:
    found = _memberships(Given("user"), Given("token") if by_token else None)
    return compiled(found.select_related("store").filter(store__public_id=Given("store")))


def open_store(actor: Actor, public_id: str, scope: Scope) -> Store:
    """The store, when the actor may do `scope` there. One statement, the same for every store, seen or not.

    Raises NotFound when the store does not exist or the actor may not see it: the two cannot be told apart.
    Raises NotPermitted when the actor sees the store and lacks the scope.
    """
    who: dict[str, Any] = {"user": actor.user.pk} | ({"token": actor.token.pk} if actor.token else {})
    found = instances(_opening("token" in who), (Membership, Store), who | {"store": public_id})
    if not found:
        raise NotFound("No such store")
    membership, store = found[0]
    if scope not in scopes_of(actor, Role(membership.role)):
        raise NotPermitted(f"This needs the scope '{scope.value}' on the store")
    return cast(Store, store)


def scopes_of(actor: Actor, role: Role) -> frozenset[Scope]:
    """What the actor may do on a store where their membership is `role`: never more than role or token allow."""
    if actor.token is None:
        return role.scopes
    return role.scopes & {Scope(scope) for scope in actor.token.scopes}


def scopes_on(actor: Actor, store: Store) -> frozenset[Scope]:
    """What the actor may do on a store; nothing on one they do not see."""
    membership = memberships_of(actor).filter(store=store).first()
    return frozenset() if membership is None else scopes_of(actor, Role(membership.role))


def readable(actor: Actor) -> StoreQuerySet:
    """The stores the actor may read, as a query for list routes."""
    if actor.token is not None and Scope.READ not in actor.token.scopes:
        return Store.objects.none()
    return Store.objects.live().filter(pk__in=memberships_of(actor).values("store"))
