"""From the chapters of the book to the notebooks and courses that people get."""
