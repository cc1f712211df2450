"""The core: timeline, storage, writers, optimistic control and readers. It runs without any module.

Reading order: `state`, `config`, `module`, `writer`, `lock`, `conflict`, `reader`,
`invariants`; `protocol` puts the rules together.
"""
