"""What people read: class reports, feedback, tables, skeletons for the bank."""
