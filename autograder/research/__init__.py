"""Copies for research: submissions and results without names."""
