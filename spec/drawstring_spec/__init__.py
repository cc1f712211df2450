"""What Apache Hudi's table format, version 8, *is*: nouns only.

Names, states, file-name grammars, property keys, Avro schemas, and the catalogue of requirements. Nothing
here reads or writes a file, a clock or the network, and nothing here says what a writer does next: verbs are
written twice, once in the model (``drawstring_model``) and once in the implementation (``drawstring``), so
that one mistake cannot hide from the comparison of the two.
"""
