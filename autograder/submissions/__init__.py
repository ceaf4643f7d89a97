"""What students handed in: found, read and rebuilt. Nothing of it runs here."""
