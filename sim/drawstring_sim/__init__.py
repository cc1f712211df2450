"""The world that breaks it: production code under simulated storage, clocks and crashes.

Reading order: `kernel` (who runs when, and who is dead), `faults` (what may go wrong at a call), the ports
(`storage`, `clocks`, `background`, `tasks`), `world` (one table and its writers), `client` and `table_driver`
(production code is called), `raw_state` and `judge` (what the bytes say, and whether they may), `recorder` and
`refinement` (what happened, beside the model), and what is made of it: `stage` (directed scenarios), `crash_points`
and `creation_points` (every port call struck), `histories` (seeded), `commands` (``drawstring sim``).

What is modelled: suspension of a writer at any port call, any order of the calls of several writers, crashes before
and after each call, answers that are lost, calls that fail without effect, requests that a client library sends
twice, deletes that stop half-way, clocks that differ and jump, leases and heartbeats that run out, tasks that run
twice and finish late. What is not: torn writes of one file (a storage's put is atomic), listings that miss finished
writes, bytes that rot, and races of threads between two port calls.
"""
