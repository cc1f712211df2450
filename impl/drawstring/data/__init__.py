"""Column kernels: schema mapping, record keys, partition paths, merging, bloom filters, base files.

Whose duty: pure functions on Arrow columns and bytes. Nothing here knows a timeline or takes a lock; only
`drawstring.data.base_file_reader` touches storage, and only to read. All of it also runs inside executor tasks.
"""
