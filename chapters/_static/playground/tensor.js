/* Matrices and the few operations that a transformer needs.

   A matrix is { rows, columns, data }, its numbers row by row. Nothing changes its
   arguments. */
"use strict";

globalThis.Playground ??= {};
{
  /** An empty matrix, or one around numbers that are there already. */
  function matrix(rows, columns, data = new Float32Array(rows * columns)) {
    return { rows, columns, data };
  }

  /** One row as an array that shares the matrix's numbers. */
  function row(x, n) {
    return x.data.subarray(n * x.columns, (n + 1) * x.columns);
  }

  /** All rows. */
  function rows(x) {
    return Array.from({ length: x.rows }, (_, n) => row(x, n));
  }

  /** A matrix of some rows of another, in the order given: an embedding's lookup. */
  function gather(x, indices) {
    const result = matrix(indices.length, x.columns);
    indices.forEach((index, n) => row(result, n).set(row(x, index)));
    return result;
  }

  /** a + b, number by number. */
  function add(a, b) {
    return map(a, (value, i) => value + b.data[i]);
  }

  function map(x, f) {
    return matrix(x.rows, x.columns, x.data.map(f));
  }

  /** x W^T + b, as in nn.Linear: x (N, in), weight (out, in), bias (out). */
  function linear(x, { weight, bias }) {
    const result = matrix(x.rows, weight.rows);
    const weightRows = rows(weight);
    for (let n = 0; n < x.rows; n++) {
      const [input, output] = [row(x, n), row(result, n)];
      for (let m = 0; m < weight.rows; m++) {
        output[m] = dot(input, weightRows[m]) + bias[m];
      }
    }
    return result;
  }

  function dot(a, b) {
    let sum = 0;
    for (let i = 0; i < a.length; i++) {
      sum += a[i] * b[i];
    }
    return sum;
  }

  /** Scores to weights that sum to one. A smaller temperature sharpens them. */
  function softmax(scores, temperature = 1) {
    const largest = Math.max(...scores); // exp() of a large score would be infinite
    const powers = Array.from(scores, (s) => Math.exp((s - largest) / temperature));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  }

  /** Each row to mean 0 and variance 1, then weight and bias, as in nn.LayerNorm. */
  function layerNorm(x, { weight, bias, eps }) {
    const result = matrix(x.rows, x.columns);
    for (let n = 0; n < x.rows; n++) {
      const input = row(x, n);
      const mean = input.reduce((sum, value) => sum + value, 0) / x.columns;
      const squares = input.reduce((sum, value) => sum + (value - mean) ** 2, 0);
      const deviation = Math.sqrt(squares / x.columns + eps);
      row(result, n).set(
        input.map((value, i) => ((value - mean) / deviation) * weight[i] + bias[i]),
      );
    }
    return result;
  }

  function relu(x) {
    return map(x, (value) => Math.max(0, value));
  }

  /** x times the probability that a standard normal number is smaller than x. */
  function gelu(x) {
    return map(x, (value) => (value * (1 + erf(value / Math.SQRT2))) / 2);
  }

  /** Abramowitz and Stegun (1964), formula 7.1.26: right to 1.5e-7. */
  function erf(x) {
    const t = 1 / (1 + 0.3275911 * Math.abs(x));
    const coefficients = [1.061405429, -1.453152027, 1.421413741, -0.284496736];
    const sum = coefficients.reduce((s, c) => s * t + c, 0) * t + 0.254829592;
    return Math.sign(x) * (1 - sum * t * Math.exp(-x * x));
  }

  Object.assign(Playground, {
    matrix, row, gather, add, linear, dot, softmax, layerNorm, relu, gelu,
  });
}
