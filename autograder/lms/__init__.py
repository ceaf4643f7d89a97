"""From a learning management system: archives, class lists, tables, who is who."""
