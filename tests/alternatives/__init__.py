"""Right answers that are written differently from the reference, by topic."""
