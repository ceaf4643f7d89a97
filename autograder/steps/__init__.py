"""The reference with one step altered: slips that need no wrong version of their own.

Somebody forgets a square root, takes a mean along another axis, adds where something is
subtracted. When an answer agrees, in every case that asks for a value, with the
reference after one such alteration, the student is told which one. That is a statement
about results: it is true however the student came to them.
"""
