"""What the notebooks share and nobody is graded on: figures and data."""
