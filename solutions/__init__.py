"""The reference solutions: one module a topic, one function or class an exercise."""
