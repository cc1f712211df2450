"""The explorer of millions of states: breadth first as `drawstring_model.explorer`, in a few bytes a state.

A state that was expanded is forgotten but for 128 bits of its digest and the number of the state whence it was first
reached (`visited`). So two states may be taken for one with a probability below n²/2¹²⁹, for ten million states about
10⁻²⁵; TLC makes the same bargain with 64 bits. Histories are found again by taking the moves anew.

- `search` goes from level to level, writes checkpoints, and goes on from one;
- `expansion` works out what one step leads to, in this process; `processes` spreads it over several;
- `encoding` makes digests of states, and JSON of them; `symmetry` makes alike states equal;
- `checkpoint` is the file in which a search is put aside.
"""
