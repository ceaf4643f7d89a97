"""Which submissions are more alike than chance explains, as evidence and no verdict."""
