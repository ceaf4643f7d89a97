"""What may leave the course for research: submissions and results without names."""
