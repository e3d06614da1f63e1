"""Who may do what: people, their memberships, and tokens for agents."""

import hashlib
import secrets
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q


class Scope(models.TextChoices):
    """What a call may do on a store (`docs/api.md`, Access). A role is a set of these."""

    READ = "read"
    WRITE = "write"
    DECLARE = "declare"
    OPERATE = "operate"


class Role(models.TextChoices):
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    @property
    def scopes(self) -> frozenset[Scope]:
        return ROLE_SCOPES[self]


ROLE_SCOPES: dict[Role, frozenset[Scope]] = {
    Role.VIEWER: frozenset({Scope.READ}),
    Role.OPERATOR: frozenset({Scope.READ, Scope.WRITE, Scope.OPERATE}),
    Role.ADMIN: frozenset(Scope),
}


class User(AbstractUser):
    """A person, or the account an agent's tokens belong to."""

    can_create_stores = models.BooleanField(default=False)

    class Meta:
        db_table = "mc_user"


class Membership(models.Model):
    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices)

    class Meta:
        db_table = "mc_membership"
        constraints = [
            models.UniqueConstraint(fields=["store", "user"], name="membership_once"),
            models.CheckConstraint(condition=Q(role__in=Role.values), name="membership_role_known"),
        ]


class Token(models.Model):
    """A bearer token of one user. Only its hash is kept; the text is shown once, when it is made.

    A token never has more than its owner: scopes and stores are intersected with the owner's memberships
    on every call, so that removing a person closes their tokens too.
    """

    PREFIX = "mc_"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    digest = models.BinaryField(max_length=32, unique=True)
    scopes = ArrayField(models.CharField(max_length=16, choices=Scope.choices))
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "mc_token"

    @classmethod
    def issue(cls, *, user: User, now: datetime, **fields: Any) -> tuple["Token", str]:
        """Make and save a token; returns it with its text, which is kept nowhere."""
        text = cls.PREFIX + secrets.token_urlsafe(32)
        token = cls.objects.create(
            user=user, prefix=text[:10], digest=cls.digest_of(text), created_at=now, **fields
        )
        return token, text

    @staticmethod
    def digest_of(text: str) -> bytes:
        # 256 random bits need no slow hash: there is nothing to guess.
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

    def usable_at(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class TokenGrant(models.Model):
    """A store a token may reach."""

    store = models.ForeignKey("memoryconsole.Store", on_delete=models.CASCADE, related_name="grants")
    token = models.ForeignKey(Token, on_delete=models.CASCADE, related_name="grants")

    class Meta:
        db_table = "mc_token_grant"
        constraints = [models.UniqueConstraint(fields=["store", "token"], name="token_grant_once")]


class SignInFailure(models.Model):
    """Wrong passwords lately, per (user name, address): known and unknown names are counted alike.

    `key` is a digest, so that the table lists nobody's mistyped password or address.
    """

    key = models.BinaryField(max_length=32, unique=True)
    count = models.IntegerField()
    since = models.DateTimeField()

    class Meta:
        db_table = "mc_sign_in_failure"
