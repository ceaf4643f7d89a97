"""From a learning management system and back: archives, class lists, tables."""
