"""The exercises of each topic and the cases that exercise an implementation."""
