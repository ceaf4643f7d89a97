"""What relation holds between a wrong answer and the right one, in words.

When no known mistake explains an answer, the arrays themselves often do: values are
twice the right ones, two axes are swapped, the rows do not sum to one. A symptom is
reported only if it holds for every wrong result of every case, or at least of every
case that returns results as they are, and if it cannot be due to chance. It names the
effect and never an expected value.
"""
