"""What the protocol may do: a small pure state machine of concurrent processes on one table, in a core and modules.

`core` is read first: it is writers, optimistic control and readers, and runs alone. Each of `modules` adds one concern.
`config` puts together what the implementation does on a copy-on-write table. The rest works on any configuration:
`explorer`, `narrate`, `table`, and the `commands` of ``drawstring model``.

- ``core.protocol.start(config)`` is an empty table and idle processes;
- ``core.protocol.enabled(state, config)`` proposes the moves within the bounds of ``config``;
- ``core.protocol.apply(state, move, config)`` takes any move that the rules allow, with times, tokens and file groups
  from outside, and raises ``NotEnabledError`` for others;
- ``storage_view.storage_view(state, config)`` is what of a state can be read from storage, for comparison with bytes;
- ``core.reader.read_snapshot(state.world, as_of, config)`` is what a reader gets.

To write a module: its steps get names in `drawstring_spec.steps`; then a file in `modules` with its parts of the world
and of a process's memory (NamedTuples), its rules, its guards and consequences on others' steps, its answers to the
core's questions, its promises, and a `core.module.Module` that lists them; then the same in ``tla/``, with equal
counts of states. ``docs/decisions/model-modules.md`` has it step by step, and why.

Nothing here does I/O, and nothing is imported but the standard library and the specification.
"""
