"""One module per concern; each is read by itself, after the core."""
