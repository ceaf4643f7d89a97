"""Find submissions more alike than chance explains: evidence, not a verdict."""
