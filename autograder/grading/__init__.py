"""Examine what students handed in, on workers, and record what came out."""
