"""From what students handed in to marks: examine, judge, record."""
