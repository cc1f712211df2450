"""What Hudi's payload classes make of two rows of one key: a rule for each class, by families, in columns.

A table whose merge mode is CUSTOM may name a Java class, ``hoodie.compaction.payload.class``, that merges its rows.
What a class of Hudi's own does is written here again. None of them makes a value: each chooses, field by field, between
the row that came first and the one that came later, or says that nothing is left. So a rule is a function from aligned
rows to masks (`drawstring.data.payloads.choice`), and `drawstring.data.partial_merge` does the rest.
"""
