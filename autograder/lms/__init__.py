"""From a learning management system: archives, class lists, who is who."""
