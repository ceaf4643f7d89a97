/* From logits to a token: top-k, top-p, temperature, as in the chapter on language
   models. Nothing changes its arguments. */
"use strict";

globalThis.Playground ??= {};
{
  const { softmax } = Playground;

  /** The logits, with -Infinity for each token that is cut: top-k first, then top-p.

      @param {number} topK  keep all that are at least the k-th largest; Infinity: all
      @param {number} topP  keep the fewest most probable tokens whose probabilities,
          of those that are left, reach p; of equal ones the first; 1 keeps all */
  function filterLogits(logits, topK = Infinity, topP = 1) {
    let left = Float64Array.from(logits);
    if (topK < left.length) {
      const kth = left.toSorted().at(-topK);
      left = left.map((logit) => (logit < kth ? -Infinity : logit));
    }
    if (topP < 1) {
      const probabilities = softmax(left);
      const order = [...left.keys()].sort((a, b) => left[b] - left[a] || a - b);
      let before = 0; // the probability of all tokens that rank higher
      for (const id of order) {
        if (before >= topP) {
          left[id] = -Infinity;
        }
        before += probabilities[id];
      }
    }
    return left;
  }

  /** Probabilities at a temperature; at 0 all of it is on the largest logit. */
  function distribution(logits, temperature) {
    if (temperature > 0) {
      return softmax(logits, temperature);
    }
    const best = logits.indexOf(Math.max(...logits));
    return Array.from(logits, (_, id) => Number(id === best));
  }

  /** The first token at which the sum of the probabilities exceeds a random number.

      @param {number[]} probabilities  in the order of the vocabulary
      @param {number} uniform  at least 0 and below 1 */
  function sampleToken(probabilities, uniform) {
    let sum = 0;
    for (const [id, probability] of probabilities.entries()) {
      sum += probability;
      if (sum > uniform) {
        return id;
      }
    }
    return probabilities.findLastIndex((probability) => probability > 0); // rounding
  }

  Object.assign(Playground, { filterLogits, distribution, sampleToken });
}
