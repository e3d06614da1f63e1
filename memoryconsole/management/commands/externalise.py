"""Move a record's text out to a payload."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from memoryconsole.errors import ConsoleError
from memoryconsole.models import Store
from memoryconsole.services.payloads import externalise


class Command(BaseCommand):
    help = "Move a record's text out to a payload of its session; a short placeholder stays in the record."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("store")
        parser.add_argument("number", type=int, help="the record's number: 7 for mem:7")
        parser.add_argument("--kind", default="raw_payload")

    def handle(self, *args: Any, **options: Any) -> None:
        store = Store.objects.live().filter(public_id=options["store"]).first()
        if store is None:
            raise CommandError(f"There is no store {options['store']}")
        try:
            payload = externalise(store, options["number"], kind=options["kind"], now=timezone.now())
        except ConsoleError as refused:
            raise CommandError(refused.detail) from refused
        self.stdout.write(f"mem:{options['number']} is a placeholder of {payload.ref}")
