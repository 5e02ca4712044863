"""The command line; nothing else imports this package."""

from narrows.cli.app import main

__all__ = ["main"]
