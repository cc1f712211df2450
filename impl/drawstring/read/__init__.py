"""Queries: which file slices a snapshot has, and their rows as columns."""
