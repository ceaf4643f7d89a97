"""What students handed in: found, read and rebuilt. None of it runs here."""
