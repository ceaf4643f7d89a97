"""Marks and feedback on their way back into a learning management system."""
