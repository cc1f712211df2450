"""Speed beside others, in one run: ``make bench``. Nothing here fails for being slow."""
