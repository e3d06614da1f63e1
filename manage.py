#!/usr/bin/env python3
"""Django's command line for memoryconsole."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryconsole.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as fault:
        # The operator's mistake, not ours: one line says it, a traceback hides it.
        sys.exit(f"memoryconsole cannot start: {fault}")


if __name__ == "__main__":
    main()
