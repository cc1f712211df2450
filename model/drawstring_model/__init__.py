"""What the protocol may do: a small pure state machine of concurrent writers and readers on a copy-on-write table.

Reading order: `state` (what there is), `config` (the switches), `rule` (the skeleton of an action), `writer`,
`conflict`, `lock`, `rollback`, `environment`, `reader`, then `protocol`, which puts the rules together:

- ``initial_state(writers)`` is an empty table;
- ``enabled(state, config)`` proposes the moves within the bounds of ``config``;
- ``apply(state, move, config)`` takes any move that the rules allow, with times, tokens and file groups from outside,
  and raises ``NotEnabledError`` for others;
- ``storage_view(state)`` is what of a state can be read from storage, for comparison with real bytes;
- ``read_snapshot(state.world, as_of, config)`` is what a reader gets.

Nothing here does I/O, and nothing is imported but the standard library and the specification.
"""
