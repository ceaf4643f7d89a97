"""Misconceptions about scaling, as code that can be recognised."""

import numpy as np

from autograder.exercise import edit, mistake
from autograder.exercises.scaling import (
    attention_entropy,
    dot_product_variance,
    score_gradient_norm,
    softmax_jacobian,
)


def softmax(scores):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def jacobian(weights):
    return np.diag(weights) - np.outer(weights, weights)


# dot_product_variance -----------------------------------------------------------------


@edit(dot_product_variance, "queries * keys", "queries * queries")
def variance_of_a_vector_with_itself():
    """You multiplied each query with itself. That is a squared norm, always positive
    and of variance 2 d; query and key are drawn separately, because in attention they
    come from different projections."""


@edit(dot_product_variance, ".var()", ".std()")
def variance_as_deviation():
    """You returned the standard deviation. The variance is its square, and it is the
    variance that grows in proportion to d."""


@edit(dot_product_variance, ".var()", ".var(ddof=1)")
def variance_of_a_sample():
    """You divided by one less than the number of samples. The task asks for the
    population variance, the plain mean of the squared deviations."""


@edit(dot_product_variance, ".sum(axis=1).var()", ".sum(axis=1).__pow__(2).mean()")
def variance_about_zero():
    """You did not subtract the mean of the products. A variance is taken about the
    measured mean, even where theory says that the mean is zero."""


@edit(dot_product_variance, ".sum(axis=1)", "")
def variance_of_the_terms():
    """You took the variance of the single products q_i k_i. A dot product is the sum of
    d of them, and it is the sum whose variance grows."""


@edit(dot_product_variance, ".var()", ".var() / d")
def variance_divided_by_width():
    """You divided the variance by d. This function measures the raw dot product; the
    scale that follows from it comes later."""


@edit(dot_product_variance, "(queries * keys).sum(axis=1).var()", "d")
def variance_from_theory():
    """You returned the value that theory predicts. The function measures, so that
    theory can be compared with it; use the numbers that rng draws."""


@edit(
    dot_product_variance,
    "queries = rng",
    "rng = np.random.default_rng(0)\n    queries = rng",
)
def variance_with_own_generator():
    """You made a generator of your own. Then every call draws the same pairs, whatever
    the caller's rng; draw from the one that is given."""


@edit(dot_product_variance, "axis=1", "axis=0")
def variance_over_the_wrong_axis():
    """You summed over the samples and not over the features. That gives one number per
    feature, and its variance grows with the number of samples."""


@edit(dot_product_variance, "(queries * keys).sum(axis=1)", "(queries @ keys.T)")
def variance_of_all_pairs():
    """You compared every query with every key. The pairs that share a vector are not
    independent of each other; each query has one key of its own."""


@mistake(dot_product_variance)
def variance_drawn_pair_by_pair(d, num_samples, rng):
    """You drew query and key of one pair after the other. All queries come first, then
    all keys, so that everyone with the same seed measures the same number."""
    both = rng.standard_normal((num_samples, 2, d))
    return (both[:, 0] * both[:, 1]).sum(axis=1).var()


# softmax_jacobian ---------------------------------------------------------------------


@mistake(softmax_jacobian)
def jacobian_diagonal_of_weights(weights):
    """You left out the outer product. When one score rises, the other weights have to
    fall, because they sum to one: the derivatives off the diagonal are not zero."""
    return np.diag(weights)


@mistake(softmax_jacobian)
def jacobian_of_sigmoids(weights):
    """You kept the diagonal only, a_i (1 - a_i), as for separate sigmoids. Softmax
    weights share one sum, so each depends on every score."""
    return np.diag(weights * (1 - weights))


@mistake(softmax_jacobian)
def jacobian_as_a_vector(weights):
    """You returned the diagonal as a vector. Every weight depends on every score, so
    there are N times N derivatives."""
    return weights * (1 - weights)


@mistake(softmax_jacobian)
def jacobian_outer_only(weights):
    """You forgot the diagonal part. A rising score lifts its own weight, so the
    diagonal is positive, and only then does each row sum to zero."""
    return -np.outer(weights, weights)


@mistake(softmax_jacobian)
def jacobian_added(weights):
    """You added the outer product. A higher score takes weight away from the others, so
    it is subtracted, and each row of the Jacobian sums to zero."""
    return np.diag(weights) + np.outer(weights, weights)


@mistake(softmax_jacobian)
def jacobian_without_diag(weights):
    """You subtracted the outer product from the vector of weights, which NumPy
    stretches over all rows. The weights belong on the diagonal only."""
    return weights - np.outer(weights, weights)


@mistake(softmax_jacobian)
def jacobian_of_identity(weights):
    """You put ones on the diagonal. The diagonal part is the weight itself: a weight
    near zero hardly reacts."""
    return np.eye(len(weights)) - np.outer(weights, weights)


@mistake(softmax_jacobian)
def jacobian_with_elementwise_product(weights):
    """You multiplied each weight with itself alone, where every pair is needed. An
    array with a single axis has no transpose, so weights * weights.T does the same;
    np.outer has one product for each pair."""
    return np.diag(weights) - weights * weights


@mistake(softmax_jacobian)
def jacobian_without_first_factor(weights):
    """Each column lacks its weight as a factor. The derivative of a_i with respect to
    score j is a_j times a difference, and yours is that difference alone."""
    return np.eye(len(weights)) - weights[:, None]


@mistake(softmax_jacobian)
def jacobian_without_second_factor(weights):
    """Each row lacks its weight as a factor. The derivative of a_i with respect to
    score j is a_i times a difference, and yours is that difference alone."""
    return np.eye(len(weights)) - weights


# attention_entropy --------------------------------------------------------------------


@edit(attention_entropy, "np.log(", "np.log2(")
def entropy_in_bits():
    """You used the logarithm to base 2, which counts bits. Nats use the natural
    logarithm, so that N equal weights have the entropy log N."""


@mistake(attention_entropy)
def entropy_without_guard(weights):
    """You took the logarithm of zero, and 0 times minus infinity is NaN. A weight of
    zero adds nothing to the entropy, and masked attention is full of such weights."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return -(weights * np.log(weights)).sum(axis=-1)


@edit(attention_entropy, "-(weights", "(weights")
def entropy_negative():
    """You forgot the minus sign. Logarithms of weights are negative, and entropy is
    never less than zero."""


@edit(attention_entropy, ".sum(", ".mean(")
def entropy_mean():
    """You averaged over the keys. Entropy is the sum, already weighted by the weights;
    dividing by N makes rows of different length incomparable."""


@edit(attention_entropy, "axis=-1", "axis=0")
def entropy_of_columns():
    """You summed over the first axis. Each row along the last axis is one distribution
    and has one entropy."""


@edit(attention_entropy, "axis=-1", "")
def entropy_of_everything():
    """You summed over everything. Each query has a distribution of its own, so there is
    one entropy per row, not one for the batch."""


@edit(attention_entropy, "weights * logarithms", "logarithms")
def entropy_unweighted():
    """You left out the weights in front of the logarithms. The entropy is the mean of
    -log a_i under the weights themselves."""


@mistake(attention_entropy)
def entropy_in_place(weights):
    """You replaced zeros in the caller's array. The weights are needed afterwards to
    average the values, so work on a new array."""
    weights[weights == 0] = 1.0
    return -(weights * np.log(weights)).sum(axis=-1)


@mistake(attention_entropy)
def entropy_eps_in_the_logarithm(weights):
    """A constant of about a thousandth is added to the weights inside the logarithm,
    which changes every term and makes some entropies negative. Take the logarithm of
    the weights as they are, and treat a weight of 0 as a case of its own."""
    return -(weights * np.log(weights + 1e-3)).sum(axis=-1)


# score_gradient_norm ------------------------------------------------------------------

IN_FRONT = "scale * np.linalg.norm(jacobian)"


@edit(score_gradient_norm, IN_FRONT, "np.linalg.norm(jacobian)")
def gradient_without_chain_rule():
    """You forgot that the raw score reaches the softmax through the scale: the chain
    rule brings that factor along."""


@edit(score_gradient_norm, "scale * (K @ q)", "K @ q")
def gradient_at_unscaled_weights():
    """You took the softmax of the raw scores and used the scale only as a factor. The
    scale acts before the softmax, where it keeps the weights soft."""


@mistake(score_gradient_norm)
def gradient_unscaled(q, K, scale):
    """You left out the scale. It acts on the scores before the softmax, and on the
    derivative through the chain rule."""
    return np.linalg.norm(jacobian(softmax(K @ q)))


@mistake(score_gradient_norm)
def gradient_scaled_twice(q, K, scale):
    """You applied a 1/sqrt(d) of your own besides the scale. The caller says how to
    scale, and may want none."""
    own = scale / np.sqrt(len(q))
    return own * np.linalg.norm(jacobian(softmax(own * (K @ q))))


@edit(score_gradient_norm, "scale * (K @ q)", "scale**2 * (K @ q)")
def gradient_scale_squared_in_the_softmax():
    """The scores in your softmax are multiplied by the scale twice, as when query and
    keys are both scaled by it. It is one factor on each dot product."""


@mistake(score_gradient_norm)
def gradient_overflow(q, K, scale):
    """You did not subtract the largest score before the exponential, so large scores
    overflow to NaN. The weights depend on differences of scores only."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        exponentials = np.exp(scale * (K @ q))
        weights = exponentials / exponentials.sum()
        return scale * np.linalg.norm(jacobian(weights))


@edit(score_gradient_norm, IN_FRONT, "scale**2 * (jacobian**2).sum()")
def gradient_squared_norm():
    """You returned the squared norm. The Frobenius norm is the square root of the sum
    of all squared derivatives, so that twice the slope is twice the norm."""


@edit(score_gradient_norm, "norm(jacobian)", "norm(np.diag(jacobian))")
def gradient_of_diagonal():
    """You used the diagonal of the Jacobian only. Each weight reacts to every score, so
    the derivatives off the diagonal count too."""
