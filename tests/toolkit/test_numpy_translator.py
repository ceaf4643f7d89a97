"""The translator in NumPy computes what torch computes with the same weights."""

import base64

import numpy as np
import pytest
import torch

from tests.toolkit.small_translator import SOURCE, TARGET, Model, file_of, made
from toolkit.numpy_translator import END, START, NotANumber, Translator


def softmax(scores: np.ndarray) -> np.ndarray:
    return torch.from_numpy(scores).softmax(dim=-1).numpy()


@pytest.fixture(scope="module")
def model() -> Model:
    return made()


@pytest.fixture(scope="module")
def file(model: Model) -> dict:
    return file_of(model)


def test_logits_are_those_of_torch(model, file):
    source, prefix = [3, 5, 9, 4, 6], [START, 7, 3, 12]
    with torch.no_grad():
        expected = model(torch.tensor(source), torch.tensor(prefix)).numpy()
    ours = Translator(file, softmax=softmax)
    found = ours.write(prefix, ours.read(source))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_translation_is_generated_greedily_up_to_the_end(model, file):
    source = "cab 21"
    ids = torch.tensor([SOURCE.index(c) + 3 for c in source])
    prefix = [START]
    with torch.no_grad():
        while len(prefix) <= 11:
            token = int(model(ids, torch.tensor(prefix))[-1].argmax())
            if token == END:
                break
            prefix.append(token)
    expected = "".join(TARGET[token - 3] for token in prefix if token >= 3)
    assert Translator(file, softmax=softmax).translate(source) == expected


def small(file: dict) -> tuple[dict, dict]:
    """A file in format 2, and one in format 1 with the numbers that it stands for."""
    numbers = np.frombuffer(base64.b64decode(file["numbers"]), "<f4")
    two, one, start = b"", b"", 0
    for _, shape in file["tensors"]:
        size = int(np.prod(shape))
        part, start = numbers[start : start + size].reshape(shape), start + size
        if part.ndim == 2:
            scales = np.float32(0.05) + np.arange(len(part), dtype="<f4") / 64
            steps = np.clip(part * 20, -127, 127).astype(np.int8)
            two += scales.tobytes() + steps.tobytes()
            one += (scales[:, None] * steps).astype("<f4").tobytes()
        else:
            two += part.tobytes()
            one += part.tobytes()
    texts = [base64.b64encode(data).decode() for data in (two, one)]
    return {**file, "format": 2, "numbers": texts[0]}, {**file, "numbers": texts[1]}


def test_numbers_of_one_byte_are_read_with_the_scale_of_their_row(file):
    found, expected = (
        Translator(each, softmax=softmax).weights for each in small(file)
    )
    assert found.keys() == expected.keys()
    for name, numbers in expected.items():
        np.testing.assert_allclose(found[name], numbers, rtol=1e-6)
    with pytest.raises(ValueError, match="format 3; expected 1 or 2"):
        Translator({**file, "format": 3}, softmax=softmax)


def test_weights_of_another_shape_are_refused_with_both_shapes(file):
    with pytest.raises(ValueError, match=r"\(2, 3\) of scores of shape \(2, 3, 3\)"):
        Translator(file, softmax=lambda scores: scores.sum(axis=-1)).translate("abc")


def test_predictions_that_are_not_numbers_are_said_to_be_none(file):
    with pytest.raises(NotANumber):
        Translator(file, softmax=lambda scores: scores * np.nan).translate("abc")
