"""Other right answers on running a published chat model."""

import numpy as np


def dequantise_in_double_precision(blocks):
    codes = np.array([blocks["codes"] % 16, blocks["codes"] // 16])  # (2, ..., n, 16)
    codes = np.moveaxis(codes, 0, -2)  # (..., n, 2, 16)
    scale = blocks["scale"].astype(float)[..., None, None]
    offset = blocks["offset"].astype(float)[..., None, None]
    return (scale * codes + offset).reshape(*blocks.shape[:-1], -1)


def dequantise_in_loops(blocks):
    rows = []
    for block in blocks.ravel():
        scale, offset = float(block["scale"]), float(block["offset"])
        codes = [*(b & 15 for b in block["codes"]), *(b >> 4 for b in block["codes"])]
        rows += [scale * int(code) + offset for code in codes]
    return np.array(rows, np.float32).reshape(*blocks.shape[:-1], -1)


def halves_by_index(weight, num_heads):
    heads = weight.reshape(num_heads, -1, weight.shape[1])
    halves = [heads[:, ::2], heads[:, 1::2]]
    return np.concatenate(halves, axis=1).reshape(weight.shape)


def halves_by_permutation(weight, num_heads):
    size = len(weight) // num_heads
    order = np.r_[0:size:2, 1:size:2]
    return np.vstack([part[order] for part in np.split(weight, num_heads)])


def prompt_piece_by_piece(messages, special):
    prompt = ""
    for role, text in [*messages, ("assistant", None)]:
        prompt += special["start"] + role + "\n"
        if text is not None:
            prompt += text + special["end"] + "\n"
    return prompt


def prompt_joined(messages, special):
    turns = ["\n".join(m) + special["end"] + "\n" for m in messages]
    return special["start"] + special["start"].join([*turns, "assistant\n"])


def generate_in_a_for_loop(forward, prompt_ids, end_id, max_new, choose):
    ids, new = [], prompt_ids
    for _ in range(max_new):
        new = [choose(forward(new)[-1])]
        ids += new
        if new[0] == end_id:
            break
    return ids


def generate_with_a_generator(forward, prompt_ids, end_id, max_new, choose):
    def stream(new):
        for _ in range(max_new):
            new = [choose(forward(new)[-1])]
            yield new[0]
            if new == [end_id]:
                return

    return list(stream(prompt_ids))


ALTERNATIVES = {
    "dequantise": [dequantise_in_double_precision, dequantise_in_loops],
    "halves_from_neighbours": [halves_by_index, halves_by_permutation],
    "chat_prompt": [prompt_piece_by_piece, prompt_joined],
    "generate": [generate_in_a_for_loop, generate_with_a_generator],
}
