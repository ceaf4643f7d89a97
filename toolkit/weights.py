"""Published weights, from a folder or from the Hugging Face hub.

    config, state_dict = weights.load("google/vit-base-patch16-224")
    config, state_dict = weights.load("/data/vit-base-patch16-224")

A folder, or a repository of the hub, holds ``config.json`` and ``model.safetensors``.
Only safetensors are read: they are numbers with names. The older ``.bin`` files are
pickles, which run whatever code their author put into them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

CONFIG, WEIGHTS = "config.json", "model.safetensors"


class WeightsUnavailable(Exception):
    """The weights cannot be had; the message says in one line why and what to do."""


def load(
    source: str | Path, *, download: bool = True
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Read a published model's configuration and weights.

    Args:
        source: a folder, or a name on the hub such as "google/vit-base-patch16-224".
        download: whether to fetch what is not on this machine yet. What the hub has
            sent once is kept on disk and found again without a network.

    Returns:
        The configuration, and the tensors by the names that their authors gave them.

    Raises:
        WeightsUnavailable: a file is missing, or cannot be fetched or read.
    """
    config_file = find(source, CONFIG, download=download)
    weights_file = find(source, WEIGHTS, download=download)
    try:
        config = json.loads(config_file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise WeightsUnavailable(f"{config_file} cannot be read: {error}") from error
    return config, read(weights_file)


def find(source: str | Path, filename: str, *, download: bool = True) -> Path:
    """The path of one file of a folder, or of a repository on the hub.

    Raises:
        WeightsUnavailable: it is not there, or cannot be fetched.
    """
    folder = Path(source).expanduser()
    if folder.is_dir():
        if not (folder / filename).is_file():
            raise WeightsUnavailable(
                f"{folder} holds no {filename}; it needs {CONFIG} and {WEIGHTS}"
            )
        return folder / filename
    if str(source).count("/") != 1 or str(source).startswith((".", "/", "~")):
        raise WeightsUnavailable(
            f"{source} is neither a folder here nor a name on the hub (owner/name)"
        )
    return _from_hub(str(source), filename, download)


def read(file: Path) -> dict[str, Tensor]:
    """The tensors of one safetensors file, by name.

    Raises:
        WeightsUnavailable: it is no safetensors file.
    """
    try:
        return load_file(file)
    except (SafetensorError, OSError) as error:
        raise WeightsUnavailable(
            f"{file} is no readable safetensors file: {error}"
        ) from error


def _from_hub(name: str, filename: str, download: bool) -> Path:
    try:
        from huggingface_hub import (
            get_hf_file_metadata,
            hf_hub_download,
            hf_hub_url,
            try_to_load_from_cache,
        )
    except ImportError as error:
        raise WeightsUnavailable(
            f"{name} is on the hub, which needs: pip install huggingface-hub"
        ) from error
    known = try_to_load_from_cache(name, filename)
    if isinstance(known, str):
        return Path(known)
    advice = f"put {CONFIG} and {WEIGHTS} into a folder and give its path instead"
    if not download:
        raise WeightsUnavailable(
            f"{filename} of {name} is not on this machine; fetch it with "
            f'weights.load("{name}"), or {advice}'
        )
    try:
        # Asks once; the download alone would try six times without a network.
        get_hf_file_metadata(hf_hub_url(name, filename))
        return Path(hf_hub_download(name, filename))
    except Exception as error:  # no network, no such file, no permission, no space
        why = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        raise WeightsUnavailable(
            f"{filename} of {name} cannot be fetched ({why}); {advice}"
        ) from error
