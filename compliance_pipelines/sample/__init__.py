"""The sample month: invented traces in the shape in which Langfuse returns them, and what made them.

`2026-06/` is the shipped export with its truth beside it, `situations/` the hand-written cases behind it,
`held_out/` cases that only measurements read (`measure`). Nothing here is read by a production run that has a
source of its own.
"""
