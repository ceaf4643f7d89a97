"""Executable misconceptions: wrong versions of the references, each with its hint."""
