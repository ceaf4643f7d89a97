"""Running a chat model against plain loops, its published template, and rotations."""

import struct

import jinja2
import numpy as np
import pytest

from solutions.chat_model import (
    chat_prompt,
    dequantise,
    generate,
    halves_from_neighbours,
)
from solutions.modern_attention import rotary_half
from solutions.positional_encoding import rotary_embedding
from toolkit.gguf import Q4_1

# The template in the file, without its default system message.
TEMPLATE = (
    "{% for message in messages %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + "
    "'\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}"
    "{% endif %}"
)


def test_weights_agree_with_a_loop_over_the_bytes(rng):
    blocks = rng.integers(256, size=(3, 4, 20), dtype=np.uint8)
    scales = rng.uniform(-1, 1, (3, 4, 2)).astype("<f2")
    blocks[..., :4] = scales.view(np.uint8)
    found = dequantise(blocks.view(Q4_1)[..., 0])
    assert found.dtype == np.float32
    for row, block in np.ndindex(3, 4):
        data = blocks[row, block].tobytes()
        scale, offset = struct.unpack("<2e", data[:4])
        for j, byte in enumerate(data[4:]):
            place = 32 * block + j
            expected = scale * (byte % 16) + offset, scale * (byte // 16) + offset
            assert found[row, [place, place + 16]] == pytest.approx(expected, rel=1e-6)


def test_reordered_projections_give_the_scores_of_the_other_layout(rng):
    h, d, D, N = 3, 8, 10, 5
    x = rng.standard_normal((N, D))
    W_q, W_k = rng.standard_normal((2, h * d, D))
    positions = np.arange(N) + 7

    def scores(rotate, change):
        heads = ((x @ change(W).T).reshape(N, h, d).swapaxes(0, 1) for W in (W_q, W_k))
        query, key = (rotate(x, positions) for x in heads)
        return query @ key.swapaxes(-1, -2)

    expected = scores(rotary_embedding, lambda W: W)
    found = scores(rotary_half, lambda W: halves_from_neighbours(W, h))
    np.testing.assert_allclose(found, expected)
    assert not np.allclose(scores(rotary_half, lambda W: W), expected)


def test_a_prompt_is_what_the_published_template_makes():
    messages = [
        ("system", "Be brief."),
        ("user", " Two\n\nlines "),
        ("assistant", "Yes."),
        ("user", "Why?"),
    ]
    special = {"start": "<|im_start|>", "end": "<|im_end|>"}
    for count in range(1, 5):
        parts = [{"role": r, "content": text} for r, text in messages[:count]]
        template = jinja2.Environment(keep_trailing_newline=True).from_string(TEMPLATE)
        expected = template.render(messages=parts, add_generation_prompt=True)
        assert chat_prompt(messages[:count], special) == expected


def test_ids_are_those_of_a_model_that_reads_everything_again(rng):
    table = rng.standard_normal((11, 11))

    def logits_after(ids):
        """Of the next id, from all ids so far."""
        return sum(0.7**age * table[i] for age, i in enumerate(reversed(ids)))

    prompt, expected = [3, 5, 8], []
    while len(expected) < 7:
        expected.append(int(logits_after(prompt + expected).argmax()))
    end = next(i for i in range(11) if i not in expected)
    calls, seen = [], []

    def forward(ids):
        calls.append(list(ids))
        rows = []
        for i in ids:
            seen.append(i)
            rows.append(logits_after(seen))
        return np.array(rows)

    assert generate(forward, prompt, end, 7, lambda x: int(x.argmax())) == expected
    assert calls == [prompt, *([i] for i in expected[:-1])]
    seen.clear()
    last = expected[2]
    first = expected.index(last) + 1
    found = generate(forward, prompt, last, 7, lambda x: int(x.argmax()))
    assert found == expected[:first]
