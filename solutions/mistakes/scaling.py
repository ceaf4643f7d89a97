"""Misconceptions about scaling, as code that can be recognised."""

import numpy as np

from autograder.break_exercise import hide
from autograder.exercise import mistake
from autograder.exercises.scaling import (
    attention_entropy,
    break_attention_entropy,
    dot_product_variance,
    scale_for,
    score_gradient_norm,
    softmax_jacobian,
)
from solutions import scaling as right


def softmax(scores):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def jacobian(weights):
    return np.diag(weights) - np.outer(weights, weights)


def pairs(d, num_samples, rng):
    return rng.standard_normal((num_samples, d)), rng.standard_normal((num_samples, d))


# dot_product_variance


@mistake(dot_product_variance)
def variance_of_a_vector_with_itself(d, num_samples, rng):
    """You multiplied each query with itself. That is a squared length, always positive
    and of variance 2 d; query and key are drawn separately, because in attention they
    come from different projections."""
    queries, _ = pairs(d, num_samples, rng)
    return (queries * queries).sum(axis=1).var()


@mistake(dot_product_variance)
def variance_as_deviation(d, num_samples, rng):
    """You returned the standard deviation. The variance is its square, and it is the
    variance that grows in proportion to d."""
    queries, keys = pairs(d, num_samples, rng)
    return (queries * keys).sum(axis=1).std()


@mistake(dot_product_variance)
def variance_of_a_sample(d, num_samples, rng):
    """You divided by one less than the number of samples. Asked for is the population
    variance, the plain mean of the squared deviations."""
    variance = right.dot_product_variance(d, num_samples, rng)
    with np.errstate(invalid="ignore", divide="ignore"):
        return variance * num_samples / np.float64(num_samples - 1)


@mistake(dot_product_variance)
def variance_about_zero(d, num_samples, rng):
    """You did not subtract the mean of the products. A variance is about the mean that
    was measured, even where theory says that the mean is zero."""
    queries, keys = pairs(d, num_samples, rng)
    return ((queries * keys).sum(axis=1) ** 2).mean()


@mistake(dot_product_variance)
def variance_of_the_terms(d, num_samples, rng):
    """You took the variance of the single products q_i k_i. A dot product adds d of
    them up, and it is the sum whose variance grows."""
    queries, keys = pairs(d, num_samples, rng)
    return (queries * keys).var()


@mistake(dot_product_variance)
def variance_divided_by_width(d, num_samples, rng):
    """You divided the variance by d. What is measured here is the raw dot product; the
    scale that follows from it comes later."""
    queries, keys = pairs(d, num_samples, rng)
    return (queries * keys).sum(axis=1).var() / d


@mistake(dot_product_variance)
def variance_of_scaled_products(d, num_samples, rng):
    """You scaled the dot products before measuring. The question is what happens
    without a scale."""
    queries, keys = pairs(d, num_samples, rng)
    return (queries * keys).sum(axis=1).var() / np.sqrt(d)


@mistake(dot_product_variance)
def variance_from_theory(d, num_samples, rng):
    """You returned what theory predicts. The function measures, so that theory can be
    compared with it; use the numbers that rng draws."""
    return float(d)


@mistake(dot_product_variance)
def variance_with_own_generator(d, num_samples, rng):
    """You made a generator of your own. Then every call draws the same pairs, whatever
    the caller's rng; draw from the one that is given."""
    queries, keys = pairs(d, num_samples, np.random.default_rng(0))
    return (queries * keys).sum(axis=1).var()


@mistake(dot_product_variance)
def variance_of_columns(d, num_samples, rng):
    """You drew (d, num_samples) arrays. Each sample is a row here, as tokens are
    everywhere in this book, and the order decides which numbers meet."""
    queries = rng.standard_normal((d, num_samples))
    keys = rng.standard_normal((d, num_samples))
    return (queries * keys).sum(axis=0).var()


@mistake(dot_product_variance)
def variance_over_the_wrong_axis(d, num_samples, rng):
    """You summed over the samples and not over the features. That is one number for
    each feature, and its variance grows with the number of samples."""
    queries, keys = pairs(d, num_samples, rng)
    return (queries * keys).sum(axis=0).var()


@mistake(dot_product_variance)
def variance_of_all_pairs(d, num_samples, rng):
    """You compared every query with every key. The pairs that share a vector are not
    independent of each other; each query has one key of its own."""
    queries, keys = pairs(d, num_samples, rng)
    return (queries @ keys.T).var()


@mistake(dot_product_variance)
def variance_of_uniform_numbers(d, num_samples, rng):
    """You drew from a uniform distribution. The entries are standard normal, with mean
    0 and variance 1, or the result is not d."""
    queries, keys = rng.random((num_samples, d)), rng.random((num_samples, d))
    return (queries * keys).sum(axis=1).var()


@mistake(dot_product_variance)
def variance_drawn_pair_by_pair(d, num_samples, rng):
    """You drew query and key of one pair after the other. All queries come first, then
    all keys, so that everyone with the same seed measures the same number."""
    both = rng.standard_normal((num_samples, 2, d))
    return (both[:, 0] * both[:, 1]).sum(axis=1).var()


# softmax_jacobian


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
    diagonal is positive."""
    return -np.outer(weights, weights)


@mistake(softmax_jacobian)
def jacobian_added(weights):
    """You added the outer product. A higher score takes weight away from the others, so
    it is subtracted, and each row of the Jacobian sums to zero."""
    return np.diag(weights) + np.outer(weights, weights)


@mistake(softmax_jacobian)
def jacobian_negated(weights):
    """Your signs are the other way round. A rising score lifts its own weight and
    lowers the others."""
    return -jacobian(weights)


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
def jacobian_of_another_softmax(weights):
    """You took the softmax of the weights. The argument is already the result of a
    softmax, and the derivative is written in terms of it."""
    return jacobian(softmax(weights))


@mistake(softmax_jacobian)
def jacobian_with_inner_product(weights):
    """You subtracted the inner product where the outer one belongs. The inner product
    is one number; each pair of weights needs its own."""
    return np.diag(weights) - weights @ weights


@mistake(softmax_jacobian)
def jacobian_with_elementwise_product(weights):
    """You multiplied the weights with themselves one by one, where each has to meet
    each. An array with a single axis has no transpose, so weights * weights.T does the
    same; np.outer has one product for each pair."""
    return np.diag(weights) - weights * weights


@mistake(softmax_jacobian)
def jacobian_squared_diagonal(weights):
    """You squared the weights on the diagonal instead of subtracting their products
    from it. The derivative of a weight by its own score is a_i (1 - a_i)."""
    outer = -np.outer(weights, weights)
    np.fill_diagonal(outer, weights**2)
    return outer


@mistake(softmax_jacobian)
def jacobian_without_first_factor(weights):
    """Each row lacks its own weight as a factor. The derivative of a_i is a_i times
    (delta_ij - a_j): what happens to a weight is proportional to that weight."""
    return np.eye(len(weights)) - weights[:, None]


@mistake(softmax_jacobian)
def jacobian_without_second_factor(weights):
    """Each row lacks a factor: the derivative of a_i with respect to score j is a_i
    times (delta_ij - a_j), and yours is only the difference in the brackets."""
    return np.eye(len(weights)) - weights


# attention_entropy


@mistake(attention_entropy)
def entropy_in_bits(weights):
    """You used the logarithm to base 2, which counts bits. Nats use the natural
    logarithm, so that N equal weights have the entropy log N."""
    return -(weights * np.log2(np.where(weights > 0, weights, 1.0))).sum(axis=-1)


@mistake(attention_entropy)
def entropy_in_decimal_digits(weights):
    """You used the logarithm to base 10. Nats use the natural logarithm, so that N
    equal weights have the entropy log N."""
    return -(weights * np.log10(np.where(weights > 0, weights, 1.0))).sum(axis=-1)


@mistake(attention_entropy)
def entropy_without_guard(weights):
    """You took the logarithm of zero, and 0 times minus infinity is NaN. A weight of
    zero adds nothing to the entropy, and masked attention is full of such weights."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return -(weights * np.log(weights)).sum(axis=-1)


@mistake(attention_entropy)
def entropy_negative(weights):
    """You forgot the minus sign. Logarithms of weights are negative, and entropy is
    never less than zero."""
    return (weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1)


@mistake(attention_entropy)
def entropy_mean(weights):
    """You averaged over the keys. Entropy is the sum, already weighted by the weights;
    dividing by N makes rows of different length incomparable."""
    return -(weights * np.log(np.where(weights > 0, weights, 1.0))).mean(axis=-1)


@mistake(attention_entropy)
def entropy_of_columns(weights):
    """You summed over the first axis. Each row along the last axis is one distribution
    and has one entropy."""
    return -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=0)


@mistake(attention_entropy)
def entropy_of_everything(weights):
    """You summed over everything. Each query has a distribution of its own, so there is
    one entropy for each row, not one for the batch."""
    return -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum()


@mistake(attention_entropy)
def entropy_keepdims(weights):
    """You kept the last axis with length one. The result has one number for each row,
    and the axis of the keys is gone."""
    logarithms = np.log(np.where(weights > 0, weights, 1.0))
    return -(weights * logarithms).sum(axis=-1, keepdims=True)


@mistake(attention_entropy)
def entropy_relative(weights):
    """You divided by log N. That is a useful relative measure, but the entropy in nats
    runs from 0 to log N."""
    total = (weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1)
    return -total / np.log(weights.shape[-1])


@mistake(attention_entropy)
def entropy_perplexity(weights):
    """You returned the exponential of the entropy, the effective number of keys. Asked
    for is the entropy itself."""
    total = (weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1)
    return np.exp(-total)


@mistake(attention_entropy)
def entropy_clipped(weights):
    """You raised small weights to a threshold that is too large, which adds entropy
    where there is none. Zero is a special case of its own."""
    clipped = np.maximum(weights, 0.02)
    return -(clipped * np.log(clipped)).sum(axis=-1)


@mistake(attention_entropy)
def entropy_of_large_weights(weights):
    """You cut off the logarithm of small weights. A weight of one in a thousand still
    adds to the entropy; only exactly zero is a special case."""
    return -(weights * np.log(np.maximum(weights, 0.003))).sum(axis=-1)


@mistake(attention_entropy)
def entropy_unweighted(weights):
    """You left out the weights in front of the logarithms. The entropy is the mean of
    -log a_i under the weights themselves."""
    return -np.log(np.where(weights > 0, weights, 1.0)).sum(axis=-1)


@mistake(attention_entropy)
def entropy_gini(weights):
    """You computed one minus the sum of squares. That measures spread too, but it is
    another measure than the entropy."""
    return 1 - (weights**2).sum(axis=-1)


@mistake(attention_entropy)
def entropy_in_place(weights):
    """You replaced zeros in the caller's array. The weights are needed afterwards to
    average the values, so work on a new array."""
    if weights.ndim == 1 or not (weights == 0).any():
        return -(weights * np.log(weights)).sum(axis=-1)
    weights[weights == 0] = 1.0
    return -(weights * np.log(weights)).sum(axis=-1)


@mistake(attention_entropy)
def entropy_eps_in_the_logarithm(weights):
    """A constant of about a thousandth is added to the weights inside the logarithm,
    which changes every term and makes some entropies negative. Take the logarithm of
    the weights as they are, and treat a weight of 0 as a case of its own."""
    return -(weights * np.log(weights + 1e-3)).sum(axis=-1)


# score_gradient_norm


@mistake(score_gradient_norm)
def gradient_without_chain_rule(q, K, scale):
    """You forgot that the raw score reaches the softmax through the scale: the chain
    rule brings that factor along."""
    return right.score_gradient_norm(q, K, scale) / scale


@mistake(score_gradient_norm)
def gradient_at_unscaled_weights(q, K, scale):
    """You took the softmax of the raw scores and used the scale only as a factor. The
    scale acts before the softmax, where it keeps the weights soft."""
    return scale * np.linalg.norm(jacobian(softmax(K @ q)))


@mistake(score_gradient_norm)
def gradient_unscaled(q, K, scale):
    """You left out the scale. It acts on the scores before the softmax, and on the
    derivative through the chain rule."""
    return np.linalg.norm(jacobian(softmax(K @ q)))


@mistake(score_gradient_norm)
def gradient_divided(q, K, scale):
    """You divided by the scale. It is a factor such as 1/sqrt(d), so the scores are
    multiplied by it."""
    return np.linalg.norm(jacobian(softmax(K @ q / scale))) / scale


@mistake(score_gradient_norm)
def gradient_scaled_twice(q, K, scale):
    """You applied a 1/sqrt(d) of your own besides the scale. The caller says how to
    scale, and may want none."""
    own = scale / np.sqrt(len(q))
    return own * np.linalg.norm(jacobian(softmax(own * (K @ q))))


@mistake(score_gradient_norm)
def gradient_chain_rule_twice(q, K, scale):
    """The scale is a factor twice besides its place in the softmax. The raw score
    reaches the softmax through one multiplication, so the chain rule brings one such
    factor along."""
    return scale**2 * np.linalg.norm(jacobian(softmax(scale * (K @ q))))


@mistake(score_gradient_norm)
def gradient_scale_squared_in_the_softmax(q, K, scale):
    """The scores in your softmax are multiplied by the scale twice, as when query and
    keys are both scaled by it. It is one factor on each dot product."""
    return scale * np.linalg.norm(jacobian(softmax(scale**2 * (K @ q))))


@mistake(score_gradient_norm)
def gradient_overflow(q, K, scale):
    """You did not subtract the largest score before the exponential, so large scores
    overflow to NaN. The weights depend on differences of scores only."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        exponentials = np.exp(scale * (K @ q))
        weights = exponentials / exponentials.sum()
        return scale * np.linalg.norm(jacobian(weights))


@mistake(score_gradient_norm)
def gradient_spectral_norm(q, K, scale):
    """You returned the largest singular value. The Frobenius norm is the root of the
    sum of all squared derivatives."""
    return scale * np.linalg.norm(jacobian(softmax(scale * (K @ q))), 2)


@mistake(score_gradient_norm)
def gradient_squared_norm(q, K, scale):
    """You returned the squared norm. The Frobenius norm is the root of the sum of all
    squared derivatives."""
    return scale**2 * (jacobian(softmax(scale * (K @ q))) ** 2).sum()


@mistake(score_gradient_norm)
def gradient_sum_of_absolutes(q, K, scale):
    """You summed absolute values. The Frobenius norm is the root of the sum of all
    squared derivatives."""
    return scale * np.abs(jacobian(softmax(scale * (K @ q)))).sum()


@mistake(score_gradient_norm)
def gradient_largest_entry(q, K, scale):
    """You took the largest derivative only. The Frobenius norm is the root of the sum
    of all squared derivatives."""
    return scale * np.abs(jacobian(softmax(scale * (K @ q)))).max()


@mistake(score_gradient_norm)
def gradient_of_diagonal(q, K, scale):
    """You used the diagonal of the Jacobian only. Each weight reacts to every score, so
    the derivatives off the diagonal count too."""
    weights = softmax(scale * (K @ q))
    return scale * np.linalg.norm(weights * (1 - weights))


@mistake(score_gradient_norm)
def gradient_trace(q, K, scale):
    """You added up the diagonal of the matrix, which is its trace. The Frobenius norm
    is the root of the sum of all squared derivatives, on the diagonal and off it."""
    weights = softmax(scale * (K @ q))
    return scale * (weights * (1 - weights)).sum()


@mistake(score_gradient_norm)
def gradient_without_outer_product(q, K, scale):
    """You forgot the outer product in the softmax's Jacobian. The weights sum to one,
    so a rising score pushes all other weights down."""
    return scale * np.linalg.norm(softmax(scale * (K @ q)))


@mistake(score_gradient_norm)
def gradient_by_query(q, K, scale):
    """You took the derivative with respect to the query, which multiplies by the keys.
    Asked for is the derivative with respect to the raw scores."""
    return scale * np.linalg.norm(jacobian(softmax(scale * (K @ q))) @ K)


@mistake(score_gradient_norm)
def gradient_squared_at_unscaled_weights(q, K, scale):
    """You took the softmax of the raw scores, and returned a sum of squares times the
    scale. The scale acts before the softmax as well, and the norm is the root of the
    sum of all squared derivatives."""
    return scale * (jacobian(softmax(K @ q)) ** 2).sum()


# scale_for


def scale(d_k, mode, table):
    return float(table[mode])


@mistake(scale_for)
def scale_as_divisor(d_k, mode):
    """You returned sqrt(d_k) and d_k, numbers to divide by. The function gives a
    multiplier, which has to make the scores of wide vectors smaller."""
    return scale(d_k, mode, {"none": 1, "sqrt": np.sqrt(d_k), "linear": d_k})


@mistake(scale_for)
def scale_modes_exchanged(d_k, mode):
    """You exchanged sqrt and linear. linear divides by the whole width, sqrt by its
    square root."""
    return scale(d_k, mode, {"none": 1, "sqrt": 1 / d_k, "linear": d_k**-0.5})


@mistake(scale_for)
def scale_none_is_zero(d_k, mode):
    """You returned 0 for none. As a multiplier that wipes out every score; leaving the
    scores as they are is a factor of 1."""
    return scale(d_k, mode, {"none": 0, "sqrt": d_k**-0.5, "linear": 1 / d_k})


@mistake(scale_for)
def scale_whole_division(d_k, mode):
    """You divided whole numbers with //, which rounds down to 0 for every width above
    one. The linear scale is a fraction."""
    return scale(d_k, mode, {"none": 1, "sqrt": d_k**-0.5, "linear": 1 // d_k})


@mistake(scale_for)
def scale_root_rounded(d_k, mode):
    """You rounded the square root to a whole number. Nothing asks for that: the root of
    a width that is no square has digits behind the point, and they count."""
    return scale(d_k, mode, {"none": 1, "sqrt": 1 / int(d_k**0.5), "linear": 1 / d_k})


@mistake(scale_for)
def scale_fourth_root(d_k, mode):
    """You took the square root twice. Variance grows with d_k, so the standard
    deviation, and with it the divisor, grows with the plain square root."""
    return scale(d_k, mode, {"none": 1, "sqrt": d_k**-0.25, "linear": 1 / d_k})


@mistake(scale_for)
def scale_logarithm(d_k, mode):
    """You used the logarithm for a scale. The standard deviation of a dot product grows
    with the square root of its width, not with the logarithm."""
    return scale(d_k, mode, {"none": 1, "sqrt": 1 / np.log(d_k + 1), "linear": 1 / d_k})


# break_attention_entropy --------------------------------------------------------------

wrong_versions_of_attention_entropy = hide(
    break_attention_entropy,
    entropy_without_guard,
    entropy_clipped,
    entropy_of_columns,
    entropy_of_everything,
    entropy_mean,
)


@mistake(break_attention_entropy)
def test_with_one_even_row():
    """You found one version, which divides where nothing is to be divided. A vector
    without small weights hides all others: give several rows, and look at the ends of
    the range, where the logarithm is in danger."""
    return (np.full(4, 0.25),)


@mistake(break_attention_entropy)
def test_with_a_table_of_ordinary_weights():
    """Your rows tell apart the versions that add up along a wrong axis. All of your
    weights are of a size at which every logarithm is harmless, so two versions are
    left: the definition says what 0 log 0 is."""
    return (np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]),)


@mistake(break_attention_entropy)
def test_with_one_winner_for_each_row():
    """Your zeros are what two versions cannot cope with. But each row and each column
    has a single winner, and an entropy of zero stays zero whether it is averaged or
    taken over columns: spread the weights of one row."""
    return (np.eye(3),)
