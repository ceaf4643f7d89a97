"""What people read: class reports, feedback and tables."""
