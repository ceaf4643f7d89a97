"""Measurements of the grader, side by side with what one would run instead."""
