"""What a course has on record: its class, gradebook, reports and corrections."""
