"""Questions for a talk with each student about their own code."""
