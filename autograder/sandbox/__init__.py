"""A place where other people's code runs and can touch nothing.

It knows Jupyter kernels and Linux, and nothing of grading. Exercises it only imports,
so that each kernel has them.
"""
