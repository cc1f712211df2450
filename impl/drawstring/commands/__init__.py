"""Subcommands of ``drawstring``, and what they show: they only use the public face and the readers below it."""
