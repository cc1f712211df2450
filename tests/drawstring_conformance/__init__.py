"""The conformance suite: what any implementation of Hudi's table format can be judged by.

It imports no implementation. The golden tables, with the answers that Java Hudi gave, are in ``vectors/``;
`drawstring_conformance.vectors.load_cases` opens them.
"""
