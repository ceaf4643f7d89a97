import datetime

import numpy as np
import pytest

from toolkit import datasets


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def days_of(line):
    return [datetime.date.fromisoformat(day) for day in line.target.split(" ")]


def all_days():
    day = datasets.FIRST_DAY
    while day <= datasets.LAST_DAY:
        yield day
        day += datetime.timedelta(days=1)


def test_a_line_is_what_people_write_in_that_language():
    day = datetime.date(2026, 7, 3)
    written = {
        locale: datasets.write_line([day], locale, ["full"]).source
        for locale in datasets.LOCALES
    }
    assert written["en_US"] == "Friday, July 3, 2026"
    assert written["de"] == "Freitag, 3. Juli 2026"
    assert written["hu"] == "2026. július 3., péntek"
    assert written["lv"] == "piektdiena, 2026. gada 3. jūlijs"
    assert written["el"] == "Παρασκευή 3 Ιουλίου 2026"


def test_no_text_has_two_meanings():
    meaning = {}
    for day in all_days():
        if day.year % 10 == 7:
            for locale in datasets.LOCALES:
                for style in datasets.FORMATS:
                    line = datasets.write_line([day], locale, [style])
                    assert meaning.setdefault(line.source, line.target) == line.target


def test_no_held_out_day_is_trained_on(rng):
    training = datasets.dates(500, rng, dates_per_line=(1, 4))
    testing = datasets.dates(500, rng, dates_per_line=(1, 4), held_out=True)
    trained = {day for line in training for day in days_of(line)}
    tested = {day for line in testing for day in days_of(line)}
    assert not trained & tested
    assert all(datasets.is_held_out(day) for day in tested)


def test_every_line_can_be_encoded_and_decoded(rng):
    source, target = datasets.date_vocabularies()
    for line in datasets.dates(400, rng, dates_per_line=(1, 3)):
        assert source.decode(source.encode(line.source)) == line.source
        assert target.decode(target.encode(line.target)) == line.target


def test_a_batch_is_padded_behind_and_ends_where_asked():
    vocabulary = datasets.Vocabulary("ab")
    a, b = vocabulary.encode("ab")
    assert vocabulary.batch(["ab", "b"]).tolist() == [[a, b], [b, vocabulary.pad_id]]
    assert vocabulary.batch(["ab", "b"], end=True).tolist() == [
        [a, b, vocabulary.end_id],
        [b, vocabulary.end_id, vocabulary.pad_id],
    ]
