"""Misconceptions about running a published chat model, as recognisable code."""

import numpy as np

from autograder.exercise import edit, mistake
from autograder.exercises.chat_model import (
    chat_prompt,
    dequantise,
    generate,
    halves_from_neighbours,
)

# dequantise


@edit(
    dequantise,
    'blocks["codes"] & 15, blocks["codes"] >> 4',
    'blocks["codes"] >> 4, blocks["codes"] & 15',
)
def upper_half_first():
    """The two halves of the block are swapped. The lower four bits of the bytes hold
    the first 16 codes, and the upper four the last 16."""


@edit(dequantise, "np.concatenate([low, high], axis=-1)", "np.stack([low, high], -1)")
def neighbours_in_a_byte():
    """You put the two codes of a byte next to each other. They belong to weights that
    are 16 apart: all the lower halves come first, then all the upper ones."""


@edit(dequantise, ">> 4", "& 240")
def upper_bits_not_shifted():
    """The upper four bits were masked, but not shifted down. Their codes then run from
    0 to 240 in steps of 16; a code is between 0 and 15."""


@edit(dequantise, "scale * codes + offset", "scale * (codes + offset)")
def offset_scaled():
    """You added the offset before you multiplied by the scale. The offset is a weight
    already, that of code 0; only the code counts steps of the scale, so only it is
    multiplied."""


@edit(dequantise, "scale * codes + offset", "scale * (codes - 8.0)")
def codes_around_zero():
    """The offset was not used; you moved the codes by 8. That is another format, Q4_0,
    whose codes are centred at zero."""


@edit(dequantise, "scale * codes + offset", "scale * codes")
def offset_left_out():
    """The offset was left out, so no weight of a block with a positive scale is
    negative. A code counts steps of the scale, and the offset says where they begin."""


@edit(dequantise, "np.float32", "np.float16")
def computed_in_half_precision():
    """The product and the sum were rounded to float16, which adds an error to that of
    the four bits. Convert scale and offset to float32 before you compute with them."""


# halves_from_neighbours


@edit(
    halves_from_neighbours, "weight.reshape(num_heads, -1, 2", "weight.reshape(1, -1, 2"
)
def heads_not_separated():
    """You reordered all rows at once, so the heads got mixed. The even rows of *each
    head* come first, then its odd ones, because a rotation pairs features of one head.
    """


@edit(
    halves_from_neighbours,
    "weight.reshape(num_heads, -1, 2",
    "weight.reshape(num_heads, 2, -1",
)
def the_inverse_order():
    """This is the way back: it puts rows of the two halves next to each other. Here the
    pairs are neighbours at first."""


@edit(
    halves_from_neighbours, "pairs.swapaxes(1, 2)", "pairs[:, :, ::-1].swapaxes(1, 2)"
)
def odd_rows_first():
    """The odd rows come before the even ones, so the two members of each pair are
    swapped and the pair rotates the wrong way."""


@mistake(halves_from_neighbours)
def columns_reordered(weight, num_heads):
    """You reordered the columns. With `x @ weight.T`, the features of a query are the
    rows; the columns are features of the token."""
    order = np.r_[0 : weight.shape[1] : 2, 1 : weight.shape[1] : 2]
    return weight[:, order]


@edit(halves_from_neighbours, "pairs.swapaxes(1, 2)", "pairs[..., ::-1, :, :]")
def pairs_reversed():
    """You reversed the order of the pairs. Their order stays; the first members go to
    the first half of the head, the second members to the other."""


# chat_prompt


@edit(chat_prompt, '"".join(turns) + f"{start}assistant\\n"', '"".join(turns)')
def no_turn_opened():
    """The prompt ends after the last message. Without the beginning of its own turn,
    the model has to guess who speaks next."""


@edit(chat_prompt, 'f"{start}assistant\\n"', 'f"{start}assistant"')
def no_line_break_at_the_end():
    """The last line break is missing. In training, a line break always came between
    the role and the text."""


@edit(chat_prompt, '{start}assistant\\n"', '{start}assistant\\n{end}\\n"')
def own_turn_closed():
    """You closed the assistant's turn as well. The model writes the end token itself,
    when its answer is complete."""


@edit(chat_prompt, "{end}\\n", "{end}")
def no_line_break_between_turns():
    """There is no line break after the end token. The template has one after every
    message, and the model was trained on texts that have it."""


@edit(chat_prompt, "{role}\\n{text}", "{role} {text}")
def space_after_the_role():
    """Role and text are separated by a space. The template has a line break there, and
    a model answers best to texts of the form that it was trained on."""


@edit(chat_prompt, "{start}{role}\\n", "{role}\\n")
def start_token_missing():
    """The messages have no start token. It is in front of each role, and tells the
    model that a role follows, and not one more word of the text."""


@edit(chat_prompt, "for role, text in messages", "for role, text in messages[-1:]")
def last_message_alone():
    """Only the last message is in the prompt. The model has no memory beside its
    prompt: earlier messages have to be repeated."""


@edit(chat_prompt, "{text}{end}", "{text.strip()}{end}")
def text_stripped():
    """You removed spaces and line breaks around a text. The template copies each text
    as it is: what a user wrote may be code, in which spaces count."""


@edit(chat_prompt, '"".join(turns)', '"\\n".join(turns)')
def empty_lines_between_turns():
    """There is an empty line between the messages, because each ends with a line break
    already. The model never saw such a text in training."""


@mistake(chat_prompt)
def fixed_tokens(messages, special):
    """You wrote the tokens of one model into the function. Take them from `special`:
    other models have other tokens."""
    turns = [f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages]
    return "".join(turns) + "<|im_start|>assistant\n"


# generate


@edit(generate, "forward(ids[-1:])", "forward(prompt_ids + ids)")
def everything_again():
    """The whole text was given to the model at each step. It remembers what it has
    been given, so the text is now in its memory several times."""


@edit(generate, "choose(logits[-1])", "choose(logits[0])")
def first_row_of_the_logits():
    """You read the first row of the logits. In the prompt, it predicts the second
    token; what follows the prompt is in the last row."""


@edit(generate, "choose(logits[-1])", "int(logits[-1].argmax())")
def always_the_largest():
    """The largest logit was taken and `choose` was not used. How an id is picked is the
    caller's decision."""


@edit(generate, "ids[-1] == end_id or ", "")
def end_ignored():
    """Generation went on after the end token. The answer is complete there, and what
    comes after it means nothing."""


@edit(
    generate,
    "            return ids\n",
    "            return ids[: len(ids) - (ids[-1] == end_id)]\n",
)
def end_dropped():
    """The end token is missing from the result. It tells the caller that the answer is
    complete and was not cut off."""


@edit(generate, "            return ids\n", "            return prompt_ids + ids\n")
def prompt_returned():
    """The result begins with the prompt. Only the new ids are asked for: they are the
    answer, and the caller has the prompt."""


@edit(generate, "len(ids) == max_new", "len(ids) + len(prompt_ids) >= max_new")
def prompt_counted():
    """You counted the prompt. `max_new` limits the new ids alone, or a long question
    would leave no room for an answer."""


@mistake(generate)
def prompt_in_pieces(forward, prompt_ids, end_id, max_new, choose):
    """The prompt was given to the model one id at a time. The ids are right, but one
    call with the whole prompt is much faster."""
    for new in prompt_ids:
        logits = forward([new])
    ids = []
    while True:
        ids.append(choose(logits[-1]))
        if ids[-1] == end_id or len(ids) == max_new:
            return ids
        logits = forward(ids[-1:])


@mistake(generate)
def a_call_for_nothing(forward, prompt_ids, end_id, max_new, choose):
    """The model was called once more after the last id, and its logits were not used.
    Look at the id before you call the model again."""
    logits, ids = forward(prompt_ids), []
    while len(ids) < max_new:
        ids.append(choose(logits[-1]))
        logits = forward(ids[-1:])
        if ids[-1] == end_id:
            break
    return ids
