"""What one student hands in costs nobody else in the class anything."""

from __future__ import annotations

import copy
import csv
import io
import struct
import tarfile
import zipfile

import pytest

from autograder.lms import archives, gradescope, members, names
from autograder.lms.archives import unpack
from autograder.lms.collect import NothingCollected, collect
from autograder.lms.names import readings
from tests.autograder.archives import zipped
from tests.autograder.conftest import TOPIC

pytestmark = pytest.mark.usefixtures("attacker")
ANN = f"annx_1_10_{TOPIC}.ipynb"
EVE = "eve_3_12_work.zip"


def laid_out(place, files):
    """A folder with files in it."""
    for name, content in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return place


@pytest.fixture
def collected(course, tmp_path):
    """What collecting files told, and who has a submission."""

    def run(files, folder=False, chapter=TOPIC, **words):
        if folder:
            source = laid_out(tmp_path / "download", files)
        else:
            source = tmp_path / "class.zip"
            source.write_bytes(zipped(files))
        done = collect(chapter, source, course, **words)
        found = (course / "submitted").rglob(f"{chapter}/*.ipynb")
        return done, {
            path.parent.parent.name: path.read_text()
            for path in found
            if path.is_file()
        }

    return run


def submitter(**told):
    """Gradescope's list with one submission."""
    lines = "".join(f"    {key}: {value}\n" for key, value in told.items())
    return f"submission_11:\n  :submitters:\n  -\n{lines}".replace("    ", "    :")


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize(
    ("honest", "theirs"),
    [
        (
            f"Ann A_1_assignsubmission_file/{TOPIC}.ipynb",
            {"Eve E_3_assignsubmission_file/submission_metadata.yml": "- x"},
        ),
        (ANN, {EVE: zipped({"submission_metadata.yml": "- x"})}),
    ],
)
def test_list_of_a_class_is_never_one_that_a_student_handed_in(
    collected, folder, honest, theirs
):
    done, found = collected({honest: "ann", **theirs}, folder)
    assert list(found.values()) == ["ann"]
    assert any("Eve" in what or "eve" in what for what, _ in done.left_out)


def test_list_beside_the_submissions_is_the_one_that_counts(collected):
    done, found = collected(
        {
            "submission_metadata.yml": submitter(name="Ann", sid="1"),
            f"submission_11/{TOPIC}.ipynb": "ann",
            "a/submission_metadata.yml": submitter(name="Eve", sid="2"),
        }
    )
    assert (done.system, found) == ("gradescope", {"Ann_1": "ann"})


@pytest.mark.parametrize("key", ["sid", "email", "name"])
@pytest.mark.parametrize("value", ["*b", "y" * 5000, "{}"])
def test_list_of_a_class_has_short_texts_or_it_is_none(collected, key, value):
    told = submitter(**{"sid": "1", key: value})
    files = {
        "e/submission_metadata.yml": told.replace("11:", "11:\n  z: [&b [x]]", 1),
        f"e/submission_11/{TOPIC}.ipynb": "ann",
    }
    with pytest.raises(NothingCollected, match="is not the list that Gradescope"):
        collected(files)


def test_list_of_a_class_that_fills_the_memory_is_said(collected, monkeypatch):
    def full(*_, **__):
        raise MemoryError

    monkeypatch.setattr(gradescope.yaml, "load", full)
    with pytest.raises(NothingCollected, match="too large"):
        collected({"e/submission_metadata.yml": "a: 1", "e/x.ipynb": "x"})


def owners(*people, first=11):
    """What Gradescope packs: submissions by name, SID and address, each in its list."""
    lists, files = "", {}
    for number, (name, sid, email) in enumerate(people, start=first):
        told = submitter(name=name, sid=f"'{sid}'", email=email)
        lists += told.replace("submission_11", f"submission_{number}")
        files[f"submission_{number}/notebook.ipynb"] = email
    return {"submission_metadata.yml": lists, **files}


ROSTER = "Name,SID,Email\nAnn A,1,ann@x.edu\nEve E,2,eve@x.edu\n"


@pytest.mark.parametrize("name", ["Ann A", "Eve E"])
@pytest.mark.parametrize("sid", ["1", "ann@x.edu"])
@pytest.mark.parametrize("listed", [False, True])
def test_who_enters_the_sid_of_somebody_else_takes_nothing_from_that_person(
    collected, tmp_path, name, sid, listed
):
    """In a first archive, and in one after both were collected as themselves."""
    roster = tmp_path / "roster.csv"
    roster.write_text(ROSTER)
    words = {"roster": roster} if listed else {}
    ann = ("Ann A", sid, "ann@x.edu")
    done, found = collected(owners(ann, (name, sid, "eve@x.edu")), **words)
    assert (sorted(found.values()), done.left_out) == (["ann@x.edu", "eve@x.edu"], [])
    if listed:
        assert all(student == text for student, text in found.items())
    eve = (name, "2", "eve@x.edu")
    done, again = collected(owners(eve, ann, first=20), **words)
    assert (again, done.left_out) == (found, [])
    done, again = collected(owners((name, sid, "eve@x.edu"), first=30), **words)
    assert (again, done.left_out) == (found, [])


def test_name_of_before_stays_when_somebody_else_enters_that_sid(collected):
    ann = ("Ann A", "1", "ann@x.edu")
    _, found = collected(owners(ann))
    assert found == {"Ann A_1": "ann@x.edu"}
    _, found = collected(owners(ann, ("Ann A", "1", "eve@x.edu")))
    assert found == {"Ann A_1": "ann@x.edu", "Ann A_eve@x.edu": "eve@x.edu"}


@pytest.mark.parametrize("listed", [False, True])
def test_sid_of_somebody_who_has_not_handed_in_yet_is_nobody_elses(
    collected, tmp_path, listed
):
    """Of an earlier chapter, or the class list, her address is known."""
    roster = tmp_path / "roster.csv"
    roster.write_text("student,name,email,sid\nvera,Vera V,v@x.edu,123\n")
    words = {"roster": roster} if listed else {}
    vera, eve = ("Vera V", "123", "v@x.edu"), ("Vera V", "123", "e@y.org")
    name = "vera" if listed else "Vera V_123"
    if not listed:
        collected(owners(vera), chapter="masking")
    done, found = collected(owners(eve, first=20), **words)
    assert found == {"Vera V_e@y.org": "e@y.org"}
    line = (
        "  collected under a name of its own: Vera V_e@y.org: its SID, 123, is that of "
        "v@x.edu"
    )
    assert line in done.lines(TOPIC)
    assert done.unlisted == ([*found] if listed else [])
    done, found = collected(owners(eve, vera, first=20), **words)
    assert found == {"Vera V_e@y.org": "e@y.org", name: "v@x.edu"}
    assert (done.left_out, done.apart) == ([], {})


def test_sid_in_the_form_of_an_address_is_that_of_nobody_else(collected):
    collected(owners(("Vera V", "v@x.edu", "e@x.edu")))
    done, found = collected(owners(("Vera V", "123", "v@x.edu"), first=20))
    assert (sorted(found.values()), done.left_out) == (["e@x.edu", "v@x.edu"], [])


def test_who_came_first_with_the_sid_of_somebody_else_is_not_that_person(
    collected, tmp_path
):
    """With a class list that comes later too."""
    _, first = collected(owners(("Eve E", "1", "eve@x.edu")), chapter="masking")
    roster = tmp_path / "roster.csv"
    roster.write_text(ROSTER)
    ann = ("Ann A", "1", "ann@x.edu")
    done, found = collected(owners(ann, first=20), roster=roster)
    assert (found, done.left_out) == ({"ann@x.edu": "ann@x.edu"}, [])


def test_class_list_without_addresses_joins_by_sid(collected, tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text("student,sid\nann,1\nbo,2\n")
    collected(owners(("Ann A", "1", "ann@x.edu")), chapter="masking")
    people = ("Ann A", "1", "ann@x.edu"), ("Bo B", "2", "bo@x.edu")
    done, found = collected(owners(*people), roster=roster)
    assert found == {"Ann A_1": "ann@x.edu", "bo": "bo@x.edu"}
    assert (done.missing, done.unlisted, done.apart) == ([], [], {})


def test_address_in_the_class_list_counts_before_an_sid(collected, tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text(ROSTER)
    files = owners(("Eve E", "1", "eve@x.edu"))
    done, found = collected(files, roster=roster)
    assert (found, done.missing) == ({"eve@x.edu": "eve@x.edu"}, ["ann@x.edu"])


def test_time_before_the_calendar_is_none(collected, course):
    told = submitter(sid="1", name="Ann") + "  :created_at: 0001-01-01 00:00:00 +14:00"
    _, found = collected(
        {"e/submission_metadata.yml": told, f"e/submission_11/{TOPIC}.ipynb": "ann"}
    )
    assert found == {"Ann_1": "ann"}
    assert not list(course.rglob("timestamp.txt"))


def test_folder_named_as_a_notebook_is_a_folder(collected):
    inside = {f"{TOPIC}.ipynb/x.ipynb": "eve"}
    _, found = collected({ANN: "ann", EVE: zipped(inside)})
    assert found == {"annx_1": "ann", "eve_3": "eve"}


def test_student_whose_notebook_cannot_be_kept_is_the_only_one_without(
    collected, course
):
    (course / "submitted" / "annx_1" / TOPIC / f"{TOPIC}.ipynb").mkdir(parents=True)
    done, _ = collected({ANN: "ann", f"bobx_2_11_{TOPIC}.ipynb": "bob"})
    assert (done.new, done.changed) == (["bobx_2"], [])
    assert dict(done.left_out)[ANN].startswith("it cannot be kept")


@pytest.mark.parametrize("folder", [False, True])
def test_damaged_compression_costs_its_own_file_alone(collected, folder):
    raw = bytearray(zipped({f"{TOPIC}.ipynb": "e" * 500}, zipfile.ZIP_DEFLATED))
    raw[30 + len(f"{TOPIC}.ipynb")] = 0xFF  # the kind of the first block
    done, found = collected({EVE: bytes(raw), ANN: "ann"}, folder)
    assert found == {"annx_1": "ann"}
    assert any("while decompressing" in why for _, why in done.left_out)


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_that_unpacks_without_a_bound_is_not_opened(
    collected, method, folder
):
    raw = bytearray(zipped({f"{TOPIC}.ipynb": bytes(2**20)}, method))
    said = raw.rindex(b"PK\1\2") + 24  # how many bytes it has: 5
    raw[said : said + 4] = struct.pack("<I", 5)
    done, found = collected({EVE: bytes(raw), ANN: "ann"}, folder)
    assert found == {"annx_1": "ann"}
    assert any("not compressed with Deflate" in why for _, why in done.left_out)


def test_archive_of_a_student_has_its_limits_in_a_folder_too(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MAX_MEMBERS", 5)
    monkeypatch.setattr(archives, "MAX_UPLOAD", 2000)
    many = zipped({f"{number}.ipynb": "{}" for number in range(9)})
    files = {EVE: many, "class.zip": many, "fay_4_13_w.zip": bytes(2001)}
    told = []
    unpack(
        laid_out(tmp_path / "download", files),
        tmp_path / "unpacked",
        lambda *line: told.append(" ".join(line)),
    )
    count = {p.name: len(list(p.iterdir())) for p in (tmp_path / "unpacked").iterdir()}
    assert count == {EVE: 5, "class.zip": 9}
    assert ["more than 5 files" in told[0], "more than 0 MB" in told[1]] == [True, True]


def unpacked(files, tmp_path, folder):
    """What was told of files, and where how many bytes were written."""
    told, place = [], tmp_path / "unpacked"
    source = tmp_path / "class.zip"
    if folder:
        source = laid_out(tmp_path / "download", files)
    else:
        source.write_bytes(zipped(files))
    unpack(source, place, lambda *line: told.append(" ".join(line)))
    found = [path for path in place.rglob("*") if path.is_file()]
    return told, {str(p.relative_to(place)): p.stat().st_size for p in found}


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize(
    "name",
    [
        "eve_3_{}_work.zip",
        "eve_3_{}_1_{}_work.zip",  # which may be of others, too
        "Eve E_3_assignsubmission_file/{}.zip",
        "Team E_assignsubmission_file/{}.zip",
        "submission_3/{}.zip",
    ],
)
@pytest.mark.parametrize(("size", "most"), [(40, 100), (0, 3)])
def test_many_archives_of_one_person_do_not_fill_the_disk(
    tmp_path, monkeypatch, folder, name, size, most
):
    monkeypatch.setattr(archives, "MAX_UNPACKED", 100)
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    inside = zipped({"a.ipynb": bytes(size), "b.ipynb": bytes(size)})
    files = {name.format(n, n): inside for n in range(5)}
    told, found = unpacked({**files, "fay_4_13_x.ipynb": "f" * 90}, tmp_path, folder)
    assert found.pop("fay_4_13_x.ipynb") == 90
    assert len(found) <= most and sum(found.values()) <= most
    assert found and all("of one person" in line for line in told)


def one_file_of_many_names(size, count, damaged):
    """A ZIP archive in which one file is listed again and again."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.ipynb", bytes(size))
        for _ in range(count - 1):
            again = copy.copy(archive.filelist[0])
            again.CRC ^= damaged
            archive.filelist.append(again)
    return packed.getvalue()


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize(("size", "most"), [(400, 1000), (0, 1000)])
def test_one_file_of_many_names_is_not_unpacked_again_and_again(
    tmp_path, monkeypatch, folder, damaged, size, most
):
    """50 KB kept collect busy for minutes: of 1000 names, each was 40 MB long."""
    monkeypatch.setattr(archives, "MAX_UNPACKED", most)
    monkeypatch.setattr(archives, "MAX_MEMBERS", 50)
    inside = one_file_of_many_names(size, 40, damaged)
    files = {f"Eve E_3_assignsubmission_file/{n}.zip": inside for n in range(5)}
    opened = []
    read = zipfile.ZipExtFile.read

    def counted(self, number=-1):
        if self.name == "a.ipynb":
            opened.append(number)
        return read(self, number)

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    told, found = unpacked({**files, "fay_4_13_x.ipynb": "f" * 90}, tmp_path, folder)
    assert found["fay_4_13_x.ipynb"] == 90
    assert len(opened) == (most // size if size else 50)
    assert any("of one person" in line for line in told)


@pytest.mark.parametrize("folder", [False, True])
def test_list_of_very_many_files_is_not_even_read(tmp_path, monkeypatch, folder):
    monkeypatch.setattr(archives, "MAX_ENTRIES", 5)
    files = {EVE: zipped({f"{number}.ipynb": "e" for number in range(6)}), ANN: "ann"}
    told, found = unpacked(files, tmp_path, folder)
    assert found == {ANN: 3}
    assert "more than 5 files" in told[0]


@pytest.mark.parametrize("name", ["a/" * 32_000, "a" * 65_000, "\u0301" * 30_000])
def test_only_the_ends_of_a_long_name_are_looked_at(tmp_path, monkeypatch, name):
    looked_at = []
    safe = members.safe
    monkeypatch.setattr(members, "safe", lambda p: looked_at.append(p) or safe(p))
    normalize = members.unicodedata.normalize
    monkeypatch.setattr(
        members.unicodedata,
        "normalize",
        lambda form, text: normalize(form, text) if len(text) < 1000 else 1 / 0,
    )
    files = {EVE: zipped({f"{name}x.ipynb": "eve"})}
    told, found = unpacked(files, tmp_path, folder=False)
    assert (told, list(found.values())) == ([], [3])
    assert len(looked_at) <= 1 + members.MAX_DEPTH + 1


def test_of_the_archives_of_students_only_zip_is_opened(tmp_path):
    class_, eves = io.BytesIO(), tmp_path / "eve.tar.gz"
    with tarfile.open(fileobj=class_, mode="w:gz") as archive:
        info = tarfile.TarInfo(ANN)
        archive.addfile(info)
    eves.write_bytes(class_.getvalue())
    files = {"class.tar.gz": class_.getvalue(), "eve_3_12_work.tgz": eves.read_bytes()}
    told, found = unpacked(files, tmp_path, folder=True)
    assert (told, found) == ([], {f"class.tar.gz/{ANN}": 0})


def test_list_of_a_class_is_none_in_the_folder_of_a_group(tmp_path):
    group = "Team E_assignsubmission_file"
    files = {f"{group}/{archives.METADATA}": "- x", f"{group}/x.ipynb": "e"}
    assert unpacked(files, tmp_path, folder=False)[1] == {f"{group}/x.ipynb": 1}


def test_time_to_tell_whose_they_are_grows_as_the_number_of_notebooks(
    collected, monkeypatch
):
    asked = []
    shape_of = names.shape_of
    monkeypatch.setattr(names, "shape_of", lambda *a: asked.append(a) or shape_of(*a))
    collected({EVE: zipped({f"{number}.ipynb": "e" for number in range(100)})})
    assert len(asked) < 10 * 100


GRADEBOOK = "Student,ID,SIS Login ID\n"
ZOE = '"Zed, Zoe",12345,zoe\n'
# What Canvas makes of the name "Zed, Zoe_.12345_.99999999999" of the person 999.
AS_ZOE = f"zedzoe_12345_99999999999_999_888_{TOPIC}.ipynb"
ALSO = "Zoe Zed_1_assignsubmission_file_x_3_assignsubmission_file"


@pytest.mark.parametrize(
    ("name", "persons"),
    [
        (AS_ZOE, ["12345", "99999999999", "999"]),
        ("12345_9_999_888_x.ipynb", ["12345", "9", "999"]),
        ("e_12345_9_LATE_999_888_x.ipynb", ["12345", "999"]),
        ("anon_abcde_777_999_888_x.ipynb", ["anon_abcde", "777", "999"]),
        (f"zedzoe_12345_6_{TOPIC}.ipynb", ["12345"]),
        (ALSO, ["1", "3"]),
    ],
)
def test_every_way_to_read_a_name_is_found(name, persons):
    assert [shape.person for shape in readings(name)] == persons


@pytest.mark.parametrize("listed", ["", ZOE, '"E, Eve",999,eve\n', ZOE + '"E",999,e\n'])
def test_name_with_numbers_in_it_makes_nobody_somebody_else(
    collected, tmp_path, listed
):
    words = {}
    if listed:
        words["roster"] = tmp_path / "gradebook.csv"
        words["roster"].write_text(GRADEBOOK + listed)
    zoe = f"zedzoe_12345_50_{TOPIC}.ipynb"
    done, found = collected({zoe: "zoe", AS_ZOE: "eve"}, **words)
    assert list(found.values()) == ["zoe"]
    assert "12345, 99999999999 or 999" in dict(done.left_out)[AS_ZOE]


@pytest.mark.parametrize("system", [None, "canvas"])
@pytest.mark.parametrize(
    ("folder", "why"),
    [
        ("Team E_assignsubmission_file", "gives it no number of a person"),
        ("submission_12", "it is of Gradescope"),
        ("e/submission_12", "it is of Gradescope"),
    ],
)
def test_name_in_a_folder_of_somebody_unknown_makes_nobody_somebody_else(
    collected, folder, why, system
):
    theft = f"{folder}/{ANN}"
    with pytest.raises(NothingCollected) as error:
        collected({theft: "eve"}, system=system)
    assert why in str(error.value.lines)
    assert collected({theft: "eve", ANN: "ann"}, system=system)[1] == {"annx_1": "ann"}


@pytest.mark.parametrize("system", [None, "moodle"])
def test_name_of_moodle_with_numbers_in_it_is_nobody_else_either(collected, system):
    files = {f"{ALSO}/{TOPIC}.ipynb": "eve", f"Bo_2_{ALSO[10:31]}/x.ipynb": "bo"}
    assert list(collected(files, system=system)[1]) == ["Bo_2"]


def test_numbers_in_the_name_of_a_file_do_no_harm_to_whom_the_class_list_has(
    collected, tmp_path
):
    roster = tmp_path / "gradebook.csv"
    others = '"Yew, Ed",12346,ed\n"Roe, Al",12347,al\n"E",999,e\n'
    roster.write_text(GRADEBOOK + ZOE + others)
    files = {
        "zedzoe_12345_67890_hw_1_2_x.ipynb": "zoe",
        "eve_12346_9_997_888_x.ipynb": "by an Eve of a name that is not Ed's",
        "roeal_12347_9_999_888_x.ipynb": "by an Eve of Al's name, in the list as well",
        "eve_998_887_12346_9_x.ipynb": "by an Eve who calls her file so",
    }
    done, found = collected(files, roster=roster)
    assert found == {"zoe": "zoe"}
    assert len(done.left_out) == 3


def test_name_of_somebody_in_the_class_list_is_for_nobody_else(collected, tmp_path):
    roster = tmp_path / "roster.csv"
    roster.write_text("Name,SID,Email\nBob,9,bob_eve@x.edu\n")
    eve, bob = submitter(name="bob", email="eve@x.edu"), submitter(name="B", sid="9")
    files = {
        "e/submission_metadata.yml": eve + bob.replace("11", "12"),
        f"e/submission_11/{TOPIC}.ipynb": "eve",
    }
    done, found = collected(files, roster=roster)
    assert found == {}
    assert "is the name of somebody else" in done.left_out[0][1]
    files[f"e/submission_12/{TOPIC}.ipynb"] = "bob"
    assert collected(files, roster=roster)[1] == {"bob_eve@x.edu": "bob"}


@pytest.mark.parametrize("email", ["", "b/o@x.edu"])
def test_worksheet_takes_names_and_texts_that_students_wrote(
    collected, tmp_path, email
):
    worksheet = tmp_path / "worksheet.csv"
    worksheet.write_text(
        "Identifier,Full name,Email address,Online text\n"
        f"Participant 1,Bo [he/him],{email},{'y' * 140_000}\n"
    )
    before = csv.field_size_limit()
    files = {f"Bo [he-him]_1_assignsubmission_file/{TOPIC}.ipynb": "bo"}
    done, found = collected(files, roster=worksheet)
    assert found == {"b-o@x.edu" if email else "Bo -he-him-_1": "bo"}
    assert (done.missing, done.unlisted) == ([], [])
    assert csv.field_size_limit() == before


def test_one_student_does_not_fill_the_list_of_what_was_left_out(collected):
    many = {f"{number}.ipynb": "eve" for number in range(60)}
    files = {ANN: "ann", EVE: zipped(many), "fay_4_13_w.zip": zipped({"a.ipynb": ""})}
    links = {f"gil_5_14_w/{number}.zip": "none" for number in range(60)}
    done, found = collected({**files, **links})
    assert set(found) == {"annx_1", "eve_3", "fay_4"}
    lines = done.lines(TOPIC)
    assert len(lines) == 1 + 2 * (5 + 1)
    assert f"  not collected: {EVE}: 54 more in it" in lines
