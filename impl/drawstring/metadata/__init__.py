"""The metadata table of a table: a table of its own below ``.hoodie/metadata`` that answers questions about the other.

Whose duty: read what Java wrote there, exactly as Java reads it. Nobody has to use it: without it a reader lists
folders and opens files. What is taken from it is checked against the table's own timeline, as Java does it.
"""

from drawstring.metadata.table import MetadataTable

__all__ = ["MetadataTable"]
