"""The translator in NumPy computes what torch computes with the same weights."""

import numpy as np
import pytest
import torch

from tests.toolkit.small_translator import SOURCE, TARGET, Model, file_of, made
from toolkit.numpy_translator import END, START, Translator


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
