"""The reference with one step altered: slips that need no wrong version of their own.

Typical slips forget a square root, take a mean along another axis, or add instead of
subtracting. When an answer agrees, in every case that asks for a value, with the
reference after one such alteration, the student is told which one. That is a statement
about results, and true however the student arrived at them.
"""
