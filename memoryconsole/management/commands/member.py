"""`manage.py member`: give an account a role on a store, change it, or take it away."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from memoryconsole.models import Membership, Role, Store, User


class Command(BaseCommand):
    help = "Give an account (created when new) a role on a store; 'none' takes it away, and its tokens' reach with it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")
        parser.add_argument("store", help="the store's id")
        parser.add_argument("role", choices=[*Role.values, "none"])

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        store = Store.objects.live().filter(public_id=options["store"]).first()
        if store is None:
            raise CommandError(f"no store {options['store']}")
        user, created = User.objects.get_or_create(username=options["username"])
        if created:
            user.set_unusable_password()
            user.save()
            self.stdout.write(
                f"created the account {user.username}; `manage.py changepassword` lets it sign in"
            )
        if options["role"] == "none":
            Membership.objects.filter(user=user, store=store).delete()
            self.stdout.write(f"{user.username} is no member of {store}")
            return
        Membership.objects.update_or_create(user=user, store=store, defaults={"role": options["role"]})
        self.stdout.write(f"{user.username} is {options['role']} of {store}")
