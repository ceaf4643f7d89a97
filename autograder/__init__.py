"""The autograder of Attention from Scratch."""
