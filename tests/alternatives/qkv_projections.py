"""Other right answers to the exercises on queries, keys and values."""

import math

import numpy as np
import torch

from solutions import qkv_projections as solutions


def project_einsum(Q, X, W_Q, W_K, W_V):
    return (
        np.einsum("nd,dk->nk", Q, W_Q),
        np.einsum("nd,dk->nk", X, W_K),
        np.einsum("nd,dv->nv", X, W_V),
    )


def project_without_checks(Q, X, W_Q, W_K, W_V):
    return [np.dot(Q, W_Q), np.dot(X, W_K), np.dot(X, W_V)]


def project_loops(Q, X, W_Q, W_K, W_V):
    def apply(tokens, weight):
        count, features = tokens.shape
        rows, width = weight.shape
        result = np.zeros((count, width))
        for i in range(count):
            for j in range(width):
                for d in range(features):
                    result[i, j] += tokens[i, d] * weight[d, j]
        return result

    return apply(Q, W_Q), apply(X, W_K), apply(X, W_V)


def project_in_single_precision(Q, X, W_Q, W_K, W_V):
    Q, X, W_Q, W_K, W_V = (a.astype(np.float32) for a in (Q, X, W_Q, W_K, W_V))
    return Q @ W_Q, X @ W_K, X @ W_V


def project_stacked(Q, X, W_Q, W_K, W_V):
    keys_and_values = X @ np.hstack([W_K, W_V])  # one product for both
    keys, values = np.split(keys_and_values, [W_K.shape[1]], axis=1)
    return Q @ W_Q, keys, values


def similarity_scaled_queries(queries, keys):
    return (queries / math.sqrt(queries.shape[-1])) @ keys.T


def similarity_shared_scale(queries, keys):
    scale = queries.shape[1] ** -0.25
    return np.inner(queries * scale, keys * scale)


def similarity_loops(queries, keys):
    return np.array(
        [[sum(q * k) / len(k) ** 0.5 for k in keys] for q in queries],
    )


def similarity_broadcast(queries, keys):
    products = queries[:, None, :] * keys[None, :, :]
    return products.sum(axis=-1) / np.sqrt(products.shape[-1])


def similarity_torch(queries, keys):
    queries, keys = torch.tensor(queries), torch.tensor(keys)
    return torch.cdist(queries, keys).pow(2).neg().add(
        queries.pow(2).sum(1, keepdim=True) + keys.pow(2).sum(1)
    ) / (2 * math.sqrt(queries.shape[1]))


def attention_loops(queries, keys, values):
    outputs = np.zeros((len(queries), values.shape[1]))
    weights = np.zeros((len(queries), len(keys)))
    for i, query in enumerate(queries):
        scores = [query @ key / np.sqrt(len(key)) for key in keys]
        largest = max(scores)
        exponentials = [math.exp(score - largest) for score in scores]
        for j, exponential in enumerate(exponentials):
            weights[i, j] = exponential / sum(exponentials)
            outputs[i] += weights[i, j] * values[j]
    return outputs, weights


def attention_torch(queries, keys, values):
    queries, keys, values = (torch.tensor(a) for a in (queries, keys, values))
    outputs = torch.nn.functional.scaled_dot_product_attention(queries, keys, values)
    scores = queries @ keys.T / math.sqrt(keys.shape[1])
    return outputs.numpy(), torch.softmax(scores, dim=-1).numpy()


def attention_logsumexp(queries, keys, values):
    scores = solutions.similarity(queries, keys)
    total = np.logaddexp.reduce(scores, axis=-1)
    weights = np.exp(scores - total[:, None])
    return np.einsum("ij,jv->iv", weights, values), weights


def attention_normalised_last(queries, keys, values):
    scores = solutions.similarity(queries, keys)
    unnormalised = np.exp(scores - scores.max(1)[:, None])
    total = unnormalised.sum(1)[:, None]
    return [unnormalised @ values / total, unnormalised / total]


def attention_in_single_precision(queries, keys, values):
    queries, keys, values = (a.astype("float32") for a in (queries, keys, values))
    return solutions.attention(queries, keys, values)


def layer_one_bilinear_form(Q, X, W_Q, W_K, W_V):
    scores = Q @ (W_Q @ W_K.T) @ X.T / np.sqrt(W_Q.shape[1])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    return weights @ X @ W_V, weights


def layer_query_by_query(Q, X, W_Q, W_K, W_V):
    keys, values = X @ W_K, X @ W_V
    rows = [solutions.attention(q[None] @ W_Q, keys, values) for q in Q]
    return np.vstack([row[0] for row in rows]), np.vstack([row[1] for row in rows])


def layer_einsum(Q, X, W_Q, W_K, W_V):
    scores = np.einsum("ia,ak,bk,jb->ij", Q, W_Q, W_K, X) / math.sqrt(len(W_K.T))
    weights = torch.from_numpy(scores).softmax(-1).numpy()
    return np.einsum("ij,jb,bv->iv", weights, X, W_V), weights


def self_attention_torch_layer(X, W_Q, W_K, W_V):
    X, W_Q, W_K, W_V = (torch.tensor(a) for a in (X, W_Q, W_K, W_V))
    q = torch.nn.functional.linear(X, W_Q.T)
    k = torch.nn.functional.linear(X, W_K.T)
    weights = torch.softmax(q @ k.mT / q.size(-1) ** 0.5, -1)
    return weights @ torch.nn.functional.linear(X, W_V.T), weights


def self_attention_direct(X, W_Q, W_K, W_V):
    Q, K, V = X @ W_Q, X @ W_K, X @ W_V
    E = Q @ K.T * Q.shape[1] ** -0.5
    A = np.exp(E - np.max(E, axis=-1, keepdims=True))
    A = A / np.sum(A, axis=-1, keepdims=True)
    return np.matmul(A, V), A


def self_attention_from_columns(X, W_Q, W_K, W_V):
    Y, A = solutions.self_attention_columns(X.T, W_Q.T, W_K.T, W_V.T)
    return Y.T, A.T


def columns_from_rows(X, W_Q, W_K, W_V):
    Y, A = solutions.self_attention(X.T, W_Q.T, W_K.T, W_V.T)
    return Y.T, A.T


def columns_token_by_token(X, W_Q, W_K, W_V):
    queries, keys, values = W_Q @ X, W_K @ X, W_V @ X
    Y = np.zeros((W_V.shape[0], X.shape[1]))
    A = np.zeros((X.shape[1], X.shape[1]))
    for i in range(X.shape[1]):
        scores = keys.T @ queries[:, i] / np.sqrt(W_K.shape[0])
        column = np.exp(scores - scores.max())
        A[:, i] = column / column.sum()
        Y[:, i] = values @ A[:, i]
    return Y, A


def columns_row_scores_turned(X, W_Q, W_K, W_V):
    queries, keys, values = W_Q.dot(X), W_K.dot(X), W_V.dot(X)
    scores = torch.from_numpy(queries.T @ keys / np.sqrt(queries.shape[0]))
    weights = scores.softmax(dim=1).numpy()
    return (weights @ values.T).T, weights.T


def break_attention_with_two_rows_of_scores():
    queries, keys = np.array([[-2.0], [-900.0]]), np.array([[-1.0], [-0.5]])
    return queries, keys, np.array([[1.0, 2.0], [3.0, 5.0]])


def break_attention_with_integers():
    return [np.array([[2], [900]]), np.array([[0], [1]]), np.array([[4, 0], [0, 4]])]


ALTERNATIVES = {
    "break_attention": [
        break_attention_with_two_rows_of_scores,
        break_attention_with_integers,
    ],
    "project": [
        project_einsum,
        project_without_checks,
        project_loops,
        project_in_single_precision,
        project_stacked,
    ],
    "similarity": [
        similarity_scaled_queries,
        similarity_shared_scale,
        similarity_loops,
        similarity_broadcast,
        similarity_torch,
    ],
    "attention": [
        attention_loops,
        attention_torch,
        attention_logsumexp,
        attention_normalised_last,
        attention_in_single_precision,
    ],
    "attention_layer": [
        layer_one_bilinear_form,
        layer_query_by_query,
        layer_einsum,
    ],
    "self_attention": [
        self_attention_torch_layer,
        self_attention_direct,
        self_attention_from_columns,
    ],
    "self_attention_columns": [
        columns_from_rows,
        columns_token_by_token,
        columns_row_scores_turned,
    ],
}
