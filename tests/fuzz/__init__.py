"""Damaged and hostile files of every format, thousands of them: each ends in a named error or in rows, within bounds.

``python -m tests.fuzz`` runs for as long as one likes; `test_formats` runs a short, fixed part of the same.
"""
