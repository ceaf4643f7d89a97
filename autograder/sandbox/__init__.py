"""A place where other people's code runs and can touch nothing.

It knows IPython and Linux, and nothing of grading. It imports exercises, and
the code that answers their cases, only so that each kernel has them.
"""
