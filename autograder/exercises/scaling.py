"""Cases for chapter 3: scaling."""

import numpy as np

from autograder.exercise import Exercise

dot_product_variance = Exercise(
    "dot_product_variance",
    core=True,
    right="The variance is that of the products, each summed over the features of one "
    "pair.",
    hints=(
        "Each query meets one key, its own, so there are `num_samples` dot products. "
        "Over which axis of a `(num_samples, d)` array does each of them sum?",
        "Multiply the two arrays entry by entry, sum each row, and only then ask for "
        "the variance. NumPy's `var` is the population variance.",
        "The first line: `queries = rng.standard_normal((num_samples, d))`.",
    ),
)
softmax_jacobian = Exercise(
    "softmax_jacobian",
    core=True,
    right="Each row and each column sums to zero, since the weights always sum to one.",
    hints=(
        "Use the quotient rule. The score `e_j` is in the denominator of every weight, "
        "but in the numerator of one weight only.",
        "With two weights, the four derivatives are `a_0 a_1` on the diagonal and "
        "`-a_0 a_1` off it. Which general formula gives these, and columns that sum "
        "to 0?",
        "Every entry holds a product `a_i a_j`; the diagonal holds one more term. "
        "`np.outer` and `np.diag` build the two parts.",
    ),
)
attention_entropy = Exercise(
    "attention_entropy",
    hints=(
        "Which axis does one distribution lie along? That axis is gone in the result.",
        "NaN comes from `0 * log(0)`. What could the logarithm be given instead of a "
        "0, when the product is 0 in any case?",
        "`np.where(weights > 0, weights, 1.0)` is safe to take the logarithm of.",
    ),
)
score_gradient_norm = Exercise(
    "score_gradient_norm",
    hints=(
        "Call the scaled scores `s = scale * e`. You know how the weights react to "
        "`s`; how does `s` react to `e`?",
        "The scale enters twice: inside the softmax, and as a factor in front.",
        "Begin with `scores = scale * (K @ q)`, and subtract the largest before the "
        "exponential.",
    ),
)


def generator(rng):
    """A generator of the case's own, as a student would make one."""
    return np.random.default_rng(int(rng.integers(2**32)))


def weights_like(rng, *shape):
    """Weights that sum to one along the last axis, none of them tiny."""
    *leading, count = shape
    return rng.dirichlet(np.full(count, 3.0), leading)


def query_and_keys(rng, n, d):
    """A query and keys whose scores have variance d."""
    return rng.standard_normal(d), rng.standard_normal((n, d))


# dot_product_variance


@dot_product_variance.case(title="a few pairs, sizes drawn at random", points=2)
def variance_drawn(dot_product_variance, rng):
    sizes = [(int(d), int(n)) for d, n in rng.integers([2, 3], [9, 7], (5, 2))]
    return [dot_product_variance(d, n, generator(rng)) for d, n in sizes]


@dot_product_variance.case(title="many wide pairs", points=1)
def variance_wide(dot_product_variance, rng):
    return dot_product_variance(64, 400, generator(rng))


@dot_product_variance.case(title="a second call draws new pairs", points=1)
def variance_twice(dot_product_variance, rng):
    own = generator(rng)
    return [dot_product_variance(3, 5, own) for _ in range(3)]


# softmax_jacobian


@softmax_jacobian.case(title="five weights", points=2)
def jacobian_soft(softmax_jacobian, rng):
    return softmax_jacobian(weights_like(rng, 5))


@softmax_jacobian.case(title="number of weights drawn at random", points=1)
def jacobian_drawn(softmax_jacobian, rng):
    return [softmax_jacobian(weights_like(rng, int(n))) for n in rng.integers(2, 9, 3)]


@softmax_jacobian.case(title="one weight has everything: nothing reacts", points=1)
def jacobian_one_hot(softmax_jacobian, rng):
    return softmax_jacobian(np.eye(4)[int(rng.integers(4))])


# attention_entropy


@attention_entropy.case(title="one row of weights gives one number", points=1)
def entropy_row(attention_entropy, rng):
    return attention_entropy(weights_like(rng, 5))


@attention_entropy.case(title="one entropy for each row of a batch", points=2)
def entropy_batch(attention_entropy, rng):
    return attention_entropy(weights_like(rng, 2, 3, 4))


@attention_entropy.case(title="as many rows as columns, some weights tiny", points=1)
def entropy_square(attention_entropy, rng):
    falling = weights_like(rng, 4, 4) * np.exp(-2.5 * np.arange(4))
    weights = rng.permuted(falling, axis=-1)
    return attention_entropy(weights / weights.sum(axis=-1, keepdims=True))


@attention_entropy.case(title="weights of zero: 0 log 0 is 0", points=2)
def entropy_zeros(attention_entropy, rng):
    hidden = rng.permuted(np.tile([True, False, False, True, False], (3, 1)), axis=1)
    weights = np.where(hidden, 0.0, weights_like(rng, 3, 5))
    weights /= weights.sum(axis=-1, keepdims=True)
    return {"entropy": attention_entropy(weights), "`weights` after the call": weights}


# score_gradient_norm


@score_gradient_norm.case(title="six keys, scale 1/sqrt(d)", points=2)
def gradient_scaled(score_gradient_norm, rng):
    return score_gradient_norm(*query_and_keys(rng, 6, 4), 0.5)


@score_gradient_norm.case(title="sizes and scale drawn at random", points=2)
def gradient_drawn(score_gradient_norm, rng):
    n, d = (int(size) for size in rng.choice(np.arange(2, 10), 2, replace=False))
    return [
        score_gradient_norm(*query_and_keys(rng, n, d), float(rng.uniform(0.1, 0.9))),
        score_gradient_norm(*query_and_keys(rng, d, d), float(rng.uniform(1.1, 1.5))),
    ]


@score_gradient_norm.case(
    title="scores beyond 1000 and below -1000", points=1, rtol=1e-3, atol=1e-3
)
def gradient_large(score_gradient_norm, rng):
    q, K = query_and_keys(rng, 6, 4)
    q[0] = 1.0
    K[:, 0] = 2000.0
    apart = K * np.where(np.arange(6) < 3, 1, -1)[:, None]  # some of either sign
    return [score_gradient_norm(*of, 1.0) for of in ((q, K), (-q, K), (q, apart))]
