"""Cases for chapter 1: attention with one query.

Sizes are drawn, all different from each other, so that an axis that is mistaken for
another one shows. Scores that are large are multiples of a quarter: they are exact in
float32 too, so a right answer with float32 steps inside is still right.
"""

import numpy as np

from autograder.break_exercise import BreakExercise
from autograder.exercise import Exercise
from autograder.specification import reals

alignment_scores = Exercise(
    "alignment_scores",
    core=True,
    right="One product of a matrix and a vector scores all inputs, on the scale that "
    "√D sets.",
    hints=(
        "Draw it for three words and two features. Each score is a dot product of the "
        "query with one row of X: how many scores are there?",
        "Which axis of X has as many entries as the query? That is the one that the "
        "product sums over.",
        "X @ q has one entry for each row of X. What are these scores still to be "
        "divided by?",
    ),
)
softmax = Exercise(
    "softmax",
    core=True,
    right="The weights along the last axis sum to one, even for scores in the "
    "thousands.",
    hints=(
        "The alternatives between which a query chooses lie along the last axis, so "
        "the weights of each row must sum to one.",
        "Adding a number to all the scores of a row leaves its weights unchanged. "
        "Which number makes the largest exponent of the row equal to 0?",
        "Start with scores.max(axis=-1, keepdims=True): keepdims=True leaves an axis "
        "of size 1, so that each row is combined with its own maximum.",
    ),
)
attend = Exercise(
    "attend",
    core=True,
    right="The output is the average of the inputs, with weights that sum to one.",
    results=("output", "weights"),
    hints=(
        "Your two functions cover three of the four steps. What does each of them "
        "take, and what does it return?",
        "Weight i belongs to row i of X. Draw the case N = 3, D = 2: which axis of X "
        "do the weights lie along?",
        "Start with a = softmax(alignment_scores(q, X)).",
    ),
)
soft_lookup = Exercise(
    "soft_lookup",
    hints=(
        "This is attend with one change in the middle and one at the end. X used to "
        "play two roles: which of keys and values takes over each?",
        "The temperature has to change how unequal the weights are, and they must "
        "still sum to one. On which side of the softmax does it belong?",
        "Start with scores = alignment_scores(query, keys).",
    ),
)
break_softmax = BreakExercise(
    name="break_softmax",
    target=softmax,
    parameters=[reals("scores", "... N")],
    hints=(
        "Write down four shortcuts that a softmax might take: which axis, which "
        "number is subtracted, whether the sum is divided by at all.",
        "Use two rows. In one, let the scores be far apart, so that an exponential "
        "overflows unless the right number is subtracted.",
        "Let the other row lie far below the first, with equal scores: its weights "
        "have to be one half each.",
    ),
)


def sizes(rng, count):
    """Different sizes from 3 to 9."""
    return [int(size) for size in rng.permutation(np.arange(3, 10))[:count]]


def separated_keys(rng, count, features, step):
    """Inputs whose first feature is one of 0, step, 2 step, ... in random order."""
    keys = rng.standard_normal((count, features))
    keys[:, 0] = step * rng.permutation(count)
    return keys


# softmax ------------------------------------------------------------------------------


@softmax.case(title="one row of scores", points=1)
def softmax_of_one_row(softmax, rng):
    (n,) = sizes(rng, 1)
    return softmax(1.5 * rng.standard_normal(n))


@softmax.case(
    title="the weights along the last axis sum to one, for any shape", points=2
)
def softmax_of_any_shape(softmax, rng):
    b, m, n = sizes(rng, 3)
    return [
        softmax(rng.standard_normal((m, n))),
        softmax(rng.standard_normal((b, m, n))),
        softmax(rng.standard_normal((n, n))),
        softmax(rng.standard_normal((m, 1))),
    ]


@softmax.case(title="scores in the thousands do not overflow", points=2)
def softmax_of_large_scores(softmax, rng):
    (n,) = sizes(rng, 1)
    levels = np.array([[1000.0], [-1000.0], [0.0], [1e5]])
    return softmax(levels + rng.integers(-8, 9, size=(4, n)) / 4)


@softmax.case(title="scores far apart in one row do not overflow", points=1)
def softmax_of_a_wide_row(softmax, rng):
    near, far = rng.integers(-8, 9, size=5) / 4, [-3000.0]
    return [
        softmax(np.concatenate([far, near, far])),
        softmax(np.concatenate([near + 3000, 20 * far])),
        softmax(np.concatenate([near[:3], far, near[3:]])),
    ]


@softmax.case(title="the scores that were given are unchanged", points=1)
def softmax_leaves_scores_alone(softmax, rng):
    m, n = sizes(rng, 2)
    scores = rng.standard_normal((n, m)).T  # a view: not contiguous
    return softmax(scores), softmax(scores[:, ::2]), scores


# alignment_scores ---------------------------------------------------------------------


@alignment_scores.case(title="one score per input, scaled by 1/sqrt(D)", points=2)
def scores_of_random_inputs(alignment_scores, rng):
    n, d = sizes(rng, 2)
    q, X = rng.standard_normal(d), rng.standard_normal((n, d))
    X[0] = -q  # one points away, in every draw
    return alignment_scores(q, X)


@alignment_scores.case(title="few and many features, few and many inputs", points=2)
def scores_of_other_sizes(alignment_scores, rng):
    return [
        alignment_scores(rng.standard_normal(d), rng.standard_normal((n, d)))
        for n, d in [(1, 5), (7, 1), (2, 64), (40, 3)]
    ]


@alignment_scores.case(
    title="long vectors score higher: nothing is normalised", points=1
)
def scores_grow_with_length(alignment_scores, rng):
    n, d = sizes(rng, 2)
    q = 20.0 * rng.integers(-9, 10, size=d)
    X = rng.integers(-9, 10, size=(n, d)).astype(float)
    X[0] = -q
    return alignment_scores(q, X)


@alignment_scores.case(title="query and inputs are unchanged", points=1)
def scores_leave_inputs_alone(alignment_scores, rng):
    n, d = sizes(rng, 2)
    q = rng.standard_normal((d, 2))[:, 1]  # views: not contiguous
    X = rng.standard_normal((d, n)).T
    X[0] = -q
    return alignment_scores(q, X), q, X


# attend -------------------------------------------------------------------------------


@attend.case(title="output and weights, in this order", points=1)
def attend_to_random_inputs(attend, rng):
    n, d = sizes(rng, 2)
    return attend(rng.standard_normal(d), rng.standard_normal((n, d)))


@attend.case(title="as many inputs as features: nothing is transposed", points=1)
def attend_to_a_square(attend, rng):
    (n,) = sizes(rng, 1)
    return attend(rng.standard_normal(n), rng.standard_normal((n, n)))


@attend.case(title="a very long query picks one input, without overflow", points=1)
def attend_with_a_long_query(attend, rng):
    n, d = sizes(rng, 2)
    q = np.zeros(d)
    q[0] = 1000.0
    return attend(q, separated_keys(rng, n, d, step=3.0))


@attend.case(title="query and inputs are unchanged", points=1)
def attend_leaves_inputs_alone(attend, rng):
    n, d = sizes(rng, 2)
    q = rng.standard_normal((d, 2))[:, 1]  # views: not contiguous
    X = rng.standard_normal((d, n)).T
    return attend(q, X), q, X


# soft_lookup --------------------------------------------------------------------------


@soft_lookup.case(title="the values are mixed, the keys only compared", points=2)
def lookup_of_random_entries(soft_lookup, rng):
    n, d, d_v = sizes(rng, 3)
    return soft_lookup(
        rng.standard_normal(d),
        rng.standard_normal((n, d)),
        rng.standard_normal((n, d_v)),
    )


@soft_lookup.case(title="a low temperature sharpens, a high one blurs", points=2)
def lookup_at_two_temperatures(soft_lookup, rng):
    n, d, d_v = sizes(rng, 3)
    query, keys = rng.standard_normal(d), rng.standard_normal((n, d))
    values = rng.standard_normal((n, d_v))
    return [
        soft_lookup(query, keys, values, temperature=temperature)
        for temperature in (0.4, 2.5)
    ]


@soft_lookup.case(title="close to temperature 0 the best key wins", points=1)
def lookup_is_exact_when_cold(soft_lookup, rng):
    n, d, d_v = sizes(rng, 3)
    query = np.zeros(d)
    query[0] = 1.0
    keys, values = separated_keys(rng, n, d, step=0.02), rng.standard_normal((n, d_v))
    keys[keys[:, 0].argmax(), 1:] += 9.0  # the best key is not the nearest
    return soft_lookup(query, keys, values, temperature=1e-5)


@soft_lookup.case(title="one entry, one feature, values of one number", points=1)
def lookup_of_single_things(soft_lookup, rng):
    n, d, d_v = sizes(rng, 3)
    return [
        soft_lookup(
            rng.standard_normal(features),
            rng.standard_normal((entries, features)),
            rng.standard_normal((entries, width)),
            temperature=0.5,
        )
        for entries, features, width in [(1, d, d_v), (n, 1, d_v), (n, d, 1)]
    ]


# break_softmax ------------------------------------------------------------------------

break_softmax.version("right for a vector of scores, of shape (N,)")
break_softmax.version("right while no two scores are more than 700 apart")
break_softmax.version("right while scores are close to the mean of their row")
break_softmax.version("right where one score is far above the others of its row")
break_softmax.small(most=4, points=2)
