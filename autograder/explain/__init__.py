"""Why an answer is wrong: a search over edits of the right one.

A known mistake, a transposed result, two swapped arguments and a step left out are all
another implementation and a sentence. ``search`` tries them in the order of the
modules, and says the first whose answers are the student's:

- the bank of mistakes, in ``solutions/mistakes``;
- ``results``: the right result, changed; asks for no implementation, so it also works
  with an answer key;
- ``arguments``: the reference, called with changed arguments;
- ``steps``: the reference, with one step of its source changed;
- ``errors``: else, what the error means that was raised.

``advice`` is on answers that are tests.
"""
