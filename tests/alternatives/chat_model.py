"""Other right answers on running a published chat model."""

import numpy as np


def dequantise_in_loops(blocks):
    rows = []
    for block in blocks.ravel():
        scale, offset = float(block["scale"]), float(block["offset"])
        codes = [*(b & 15 for b in block["codes"]), *(b >> 4 for b in block["codes"])]
        rows += [scale * int(code) + offset for code in codes]
    return np.array(rows, np.float32).reshape(*blocks.shape[:-1], -1)


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


def generate_with_a_generator(forward, prompt_ids, end_id, max_new, choose):
    def stream(new):
        for _ in range(max_new):
            new = [choose(forward(new)[-1])]
            yield new[0]
            if new == [end_id]:
                return

    return list(stream(prompt_ids))


ALTERNATIVES = {
    "dequantise": [dequantise_in_loops],
    "halves_from_neighbours": [halves_by_permutation],
    "chat_prompt": [prompt_piece_by_piece],
    "generate": [generate_with_a_generator],
}
