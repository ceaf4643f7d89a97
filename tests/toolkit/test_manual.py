"""The corpus that Python brings, and what is held out of it."""

from toolkit.manual import BLOCK, HELD_OUT, manual


def test_each_paragraph_is_taken_once_and_in_one_of_the_texts():
    topics = {
        "a": "\n\n".join(f"paragraph {i}" for i in range(300)),
        "b": "\n\n".join(f"paragraph {i}" for i in range(100, 420)) + "\n\n\n\n",
    }
    training, held_out = (text.rstrip("\n").split("\n\n") for text in manual(topics))
    assert sorted(training + held_out) == sorted(f"paragraph {i}" for i in range(420))
    first = BLOCK * (HELD_OUT - 1)
    expected = [f"paragraph {i}" for i in range(420) if i % 200 >= first]
    assert held_out == expected


def test_the_manual_of_this_python_is_text_of_which_a_tenth_is_held_out():
    training, held_out = manual()
    assert 200_000 < len(training) < 2_000_000
    assert 0.04 < len(held_out) / len(training) < 0.25
    assert training.isprintable() is False and "statement" in training
    assert not set(training.split("\n\n")) & set(held_out.split("\n\n"))
