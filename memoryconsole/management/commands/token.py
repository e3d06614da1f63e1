"""`manage.py token`: give an account a token, printed once."""

from argparse import ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from memoryconsole.models import Membership, Scope, Store, Token, TokenGrant, User


class Command(BaseCommand):
    help = "Make a token for an account (created when new) and print it. It is shown this once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", default="command line", help="what the token is for")
        parser.add_argument(
            "--scope", action="append", choices=Scope.values, help="repeatable; default: read"
        )
        parser.add_argument(
            "--store", action="append", default=[], help="id of a store it may reach; repeatable"
        )
        parser.add_argument("--days", type=_days, default=365, help="days until it expires (365)")
        parser.add_argument("--can-create-stores", action="store_true", help="let the account create stores")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        stores = [_store(public_id) for public_id in options["store"]]
        user, created = User.objects.get_or_create(username=options["username"])
        if created:
            user.set_unusable_password()
            self.stderr.write(f"created the account {user.username}, which can only be used through tokens")
        if not stores and not options["can_create_stores"]:
            self.stderr.write("this token reaches no store: name some with --store")
        if options["can_create_stores"]:
            user.can_create_stores = True
        user.save()
        outside = [s for s in stores if not Membership.objects.filter(user=user, store=s).exists()]
        if outside:
            raise CommandError(f"{user.username} is no member of {', '.join(map(str, outside))}")
        token, text = Token.issue(
            user=user,
            name=options["name"],
            scopes=sorted(set(options["scope"] or [Scope.READ.value])),
            expires_at=now + timedelta(days=options["days"]),
            now=now,
        )
        TokenGrant.objects.bulk_create(TokenGrant(token=token, store=store) for store in stores)
        self.stdout.write(text)


def _days(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 36_500:
        raise ArgumentTypeError("expected 1 to 36500")
    return int(text)


def _store(public_id: str) -> Store:
    store = Store.objects.live().filter(public_id=public_id).first()
    if store is None:
        raise CommandError(f"no store {public_id}")
    return store
