"""What torch's RuntimeErrors usually mean."""

from __future__ import annotations

from autograder.lessons.sentences import (
    INNER_SIZES,
    ITEM,
    LETTERS,
    MASK_OF_TORCH,
    NEW_SHAPE,
    NO_FORWARD,
    TRUTH,
    TWO_SHAPES,
    Lesson,
)

_DTYPES = (
    "Tensors of two dtypes meet. Make new ones in the dtype and on the device of the "
    "inputs, as x.new_zeros(...) or torch.zeros(..., dtype=x.dtype) do."
)

LESSONS: list[Lesson] = [
    (
        "RuntimeError",
        r"to be on the same device|not on the expected device",
        "A tensor was made without saying where, so it lies on the CPU, and meets one "
        "of a GPU. Make new tensors beside the inputs, as torch.arange(n, "
        "device=x.device) and x.new_zeros(...) do.",
    ),
    (
        "RuntimeError",
        r"divisible by the product of kernel_size|number of sliding blocks",
        "F.unfold gives, and F.fold takes, one column for each patch, (B, C*p*p, N): "
        "swap these axes where a patch is a row.",
    ),
    (
        "RuntimeError",
        r"missing the required \"forward\" function",
        NO_FORWARD,
    ),
    (
        "RuntimeError",
        r"(bitwise|logical)_\w+\"? not implemented|bitwise_\w+_cpu",
        "An operation is not defined for values of this dtype. &, | and ~ want masks "
        "of True and False: numbers become one by a comparison, such as mask != 0.",
    ),
    (
        "RuntimeError",
        r"\" not implemented for '(Bool|Byte|Char|Short|Int|Long)'"
        r"|could not infer output dtype|only support floating point",
        "This operation needs real numbers, and the tensor holds whole numbers or "
        "truth values. Convert it first, as x.float() does or mask.to(x.dtype).",
    ),
    (
        "RuntimeError",
        r"\" not implemented for '",
        "An operation is not defined for values of this dtype: look at how they came "
        "by it.",
    ),
    (
        "RuntimeError",
        r"only supports a 0-dimensional value tensor",
        "masked_fill writes one and the same number wherever the mask is True. To take "
        "values from another tensor, use torch.where(mask, a, b).",
    ),
    ("RuntimeError", r"elements cannot be converted to Scalar", ITEM),
    (
        "RuntimeError",
        r"Index tensor must have the same number of dimensions",
        "gather and scatter need an index with as many axes as the tensor: index[..., "
        "None] has one more, and index.expand makes one longer.",
    ),
    (
        "RuntimeError",
        r"expected index \[.*to be no larger than|to be no larger than self",
        "Along every axis but dim, the index of gather or scatter may be no longer "
        "than the tensor: look at dim, and at the order of the axes of the index.",
    ),
    (
        "RuntimeError",
        r"support input requests",
        "input() and debuggers wait for somebody to type, and nobody does in grading.",
    ),
    (
        "RuntimeError",
        r"(with|on) a bool tensor is not supported",
        "A mask of True and False has no sign and cannot be subtracted: ~mask is its "
        "opposite.",
    ),
    (
        "RuntimeError",
        r"boolean masks|to be a boolean tensor",
        "A mask of True and False is needed here, and this one holds numbers: a "
        "comparison, such as mask != 0, makes one.",
    ),
    ("RuntimeError", r"mat1 and mat2 shapes|batch[12]|size mismatch", INNER_SIZES),
    (
        "RuntimeError",
        r"desired ordering of dimensions",
        "permute wants every axis once: it got more of them, or fewer, than there are.",
    ),
    (
        "RuntimeError",
        r"duplicate dims|repeated dim|appears multiple times",
        "An axis is named twice: permute, sums and the like want each axis once.",
    ),
    (
        "RuntimeError",
        r"multiplication overflow|negative dimension|invalid shape dimension -"
        r"|negative value",
        "A size is negative. Where a size is asked for, only -1 means something: the "
        "size that there is, or whatever is left.",
    ),
    (
        "RuntimeError",
        r"must have same number of dimensions",
        "Tensors that are joined need equally many axes: one of them has lost an axis, "
        "by an index or a sum without keepdim, or has one too many.",
    ),
    (
        "RuntimeError",
        r"t\(\) expects a tensor with <= 2 dimensions",
        "A weight with two axes is needed where a larger tensor is given. F.linear "
        "takes the inputs first, then the weight, then the bias.",
    ),
    (
        "RuntimeError",
        r"non-empty TensorList",
        "An empty list was to be joined: the loop that should fill it does not run, or "
        "never appends.",
    ),
    (
        "RuntimeError",
        r"flatten\(\) has invalid args",
        "flatten joins the axes from the first one named to the last one, in order.",
    ),
    ("RuntimeError", r"einsum\(\)", LETTERS),
    (
        "RuntimeError",
        r"bounds? inconsistent with step",
        "arange(start, end, step) counts from start towards end: the two are swapped, "
        "or step has the wrong sign.",
    ),
    (
        "RuntimeError",
        r"At least one of .?min.? or .?max",
        "clamp wants to be told a bound: min, below which nothing may be, or max.",
    ),
    (
        "RuntimeError",
        r"diagonal dimensions cannot be identical|cannot be identical",
        "Two axes are asked for and both are the same one. Counted from the end, -1 is "
        "the last axis and -2 the one before it.",
    ),
    (
        "RuntimeError",
        r"inconsistent (input|hidden)_size",
        "A recurrent cell was given vectors of another width than it was made for. It "
        "takes the input first, then the state.",
    ),
    (
        "RuntimeError",
        r"equal size, but got|Sizes of tensors must match",
        "Tensors that are joined have to agree in every axis but the one that they are "
        "joined along: look at dim.",
    ),
    (
        "RuntimeError",
        r"must match the size|expanded size|not broadcastable",
        TWO_SHAPES,
    ),
    ("RuntimeError", r"Boolean value of Tensor", TRUTH),
    (
        "RuntimeError",
        r"view size is not compatible|use \.reshape",
        "view needs its values side by side in memory, which they are not after a "
        "transpose; reshape copies where it has to.",
    ),
    (
        "RuntimeError",
        r"last dimension with stride 1",
        "view_as_complex needs the two numbers of a pair side by side in memory: call "
        "contiguous() first.",
    ),
    ("RuntimeError", r"shape '.*' is invalid|cannot reshape|invalid shape", NEW_SHAPE),
    (
        "RuntimeError",
        r"Expected target size",
        "F.cross_entropy expects the classes along the second axis of the logits. "
        "Either move them there, (B, V, T) for targets of shape (B, T), or flatten the "
        "other axes: (B * T, V) for targets of shape (B * T,).",
    ),
    (
        "RuntimeError",
        r"shape of the [23]D attn_mask is|attn_mask.*but should be",
        MASK_OF_TORCH,
    ),
    (
        "RuntimeError",
        r"leaf [Vv]ariable",
        "A parameter, or an input that wants a gradient, was changed in place (+=, "
        "fill_, x[...] = ...). Make a new tensor; parameters are only set under "
        "torch.no_grad().",
    ),
    (
        "RuntimeError",
        r"modified by an in-?place|in-?place operation",
        "A tensor that a gradient needs was changed in place (+=, *=, fill_, "
        "x[...] = ...). Make a new one.",
    ),
    (
        "RuntimeError",
        r"does not require grad|grad_fn",
        "The result is cut off from its inputs: detach, item, numpy, no_grad or a new "
        "tensor made from old values stops the gradient.",
    ),
    (
        "RuntimeError",
        r"[Ee]xpected dtype int|scalar types: Long|to be Long",
        "Ids and indices have to be whole numbers: a tensor of dtype torch.long.",
    ),
    (
        "RuntimeError",
        r"mixed dtype \(CPU\)",
        "A layer's parameters have another dtype than its input. Converting a module "
        "reaches the layers that are its attributes, or in an nn.ModuleList: a plain "
        "list hides them, and one that is made in forward is new. Or the input was "
        "converted on the way.",
    ),
    (
        "RuntimeError",
        r"same dtype|expected .* (Float|Double|Half|Long|Bool)|scalar type",
        _DTYPES,
    ),
    (
        "RuntimeError",
        r"requires grad",
        "A tensor that has a gradient cannot become a NumPy array; stay in torch.",
    ),
]
