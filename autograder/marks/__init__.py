"""What a course has on record: class, due dates, gradebook, reports, corrections."""
