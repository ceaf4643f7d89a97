"""What instructors and students read: class reports, tables, feedback, the bank."""
