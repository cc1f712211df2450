"""Log files: their blocks as bytes, and which of them a query sees."""
