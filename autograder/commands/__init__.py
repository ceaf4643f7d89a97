"""The commands of ``python -m autograder``, each with its options.

A module has ``add_to``, which adds its commands to the parser. What a command needs is
imported when it runs: a student has less installed than the instructor.
"""
