"""Extras for an instructor, each a page of code on what grading has left."""
