"""The user's own CIF files: read in any symmetry, bad ones skipped with a counted reason."""

from __future__ import annotations

import io
import tarfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from atomworld_env.errors import UsageError
from atomworld_env.structures import cif_files, cif_folder
from atomworld_env.structures.cif import write_cif
from atomworld_env.structures.cif_folder import read_cif_folder, skipped_report
from atomworld_env.structures.pool import default_pool, load_pool


def cif(
    sites: str,
    *,
    group: str = "P 1",
    lengths: tuple[float, ...] = (5.64,) * 3,
    angles: tuple[float, ...] = (90,) * 3,
) -> str:
    cell = "".join(f"_cell_length_{axis} {value}\n" for axis, value in zip("abc", lengths, strict=True))
    cell += "".join(
        f"_cell_angle_{name} {value}\n" for name, value in zip(("alpha", "beta", "gamma"), angles, strict=True)
    )
    tags = ("label", "type_symbol", "fract_x", "fract_y", "fract_z", "occupancy")
    loop = "loop_\n" + "".join(f"_atom_site_{tag}\n" for tag in tags)
    return f"data_x\n_symmetry_space_group_name_H-M '{group}'\n{cell}{loop}{sites}\n"


ROCK_SALT = cif("Na0 Na 0 0 0 1\nCl1 Cl 0.5 0.5 0.5 1", group="F m -3 m")
CAESIUM_CHLORIDE = cif("Cs0 Cs 0 0 0 1\nCl1 Cl 0.5 0.5 0.5 1", lengths=(4.12,) * 3)

BAD = {
    "disordered.cif": (cif("Na0 Na 0 0 0 0.5\nK0 K 0 0 0 0.5\nCl1 Cl 0.5 0.5 0.5 1"), cif_folder.DISORDERED),
    "vacant.cif": (cif("Na0 Na 0 0 0 0.9\nCl1 Cl 0.5 0.5 0.5 1"), cif_folder.DISORDERED),
    "prose.cif": ("not a CIF at all", cif_folder.UNREADABLE),
    "empty.cif": ("", cif_folder.UNREADABLE),
    "no_sites.cif": (cif(""), cif_folder.UNREADABLE),
    "nan.cif": (cif("Na0 Na nan 0 0 1\nCl1 Cl 0.5 0.5 0.5 1"), cif_folder.UNREADABLE),
    "dummy.cif": (cif("Xx0 Xx 0 0 0 1\nCl1 Cl 0.5 0.5 0.5 1"), cif_folder.UNKNOWN_ELEMENT),
    "heavy.cif": (cif("Es0 Es 0 0 0 1\nCl1 Cl 0.5 0.5 0.5 1"), cif_folder.NO_RADIUS),
    "close.cif": (cif("Na0 Na 0 0 0 1\nCl1 Cl 0.1 0.1 0.1 1"), cif_folder.TOO_CLOSE),
    "flat.cif": (cif("Na0 Na 0 0 0 1", lengths=(5, 5, 0.5)), cif_folder.FLAT_CELL),
    "skewed.cif": (cif("Na0 Na 0 0 0 1", angles=(90, 90, 5)), cif_folder.FLAT_CELL),
    "two.cif": (ROCK_SALT + CAESIUM_CHLORIDE.replace("data_x", "data_y"), cif_folder.SEVERAL),
    "many.cif": (
        cif(
            "\n".join(f"H{i} H {i % 7 / 7:.4f} {i // 7 % 7 / 7:.4f} {i // 49 / 7:.4f} 1" for i in range(343)),
            lengths=(20,) * 3,
        ),
        cif_folder.TOO_MANY_SITES,
    ),
    "costly.cif": (
        cif("\n".join(f"H{i} H 0.{i:03d} 0.1 0.2 1" for i in range(100)), group="F m -3 m", lengths=(99,) * 3),
        cif_folder.TOO_MANY_SITES,
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "salts").mkdir()
    (tmp_path / "salts" / "NaCl.cif").write_text(ROCK_SALT)
    (tmp_path / "CsCl.CIF").write_text(CAESIUM_CHLORIDE)
    (tmp_path / "notes.txt").write_text("passed over")
    (tmp_path / "._CsCl.cif").write_bytes(b"\x00\x05\x16\x07")
    return tmp_path


def test_symmetry_is_expanded_and_ids_come_from_the_names(folder: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pool = read_cif_folder(folder)
    assert [entry.structure_id for entry in pool.entries()] == ["CsCl", "salts/NaCl"]
    salt = pool.entry("salts/NaCl")
    assert (salt.n_sites, salt.family, salt.provenance) == (8, "AB-225", "salts/NaCl.cif")
    assert salt.crystal.composition == {"Na": 4, "Cl": 4}
    assert pool.entry("CsCl").family == "AB-221"
    assert pool.elements == ("Cl", "Cs", "Na")
    assert {entry.split for entry in pool.entries()} == {"train", "test"}
    assert not pool.skipped
    assert skipped_report(pool) == []


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_skipped_with_their_reason(folder: Path, name: str) -> None:
    text, reason = BAD[name]
    (folder / name).write_text(text)
    pool = read_cif_folder(folder)
    assert len(pool) == 2
    assert pool.skipped == {reason: 1}
    assert pool.skipped_files == {name: reason}


def test_reasons_are_counted_and_disordered_files_named(folder: Path) -> None:
    for name, (text, _) in BAD.items():
        (folder / name).write_text(text)
    pool = read_cif_folder(folder)
    assert pool.skipped.total() == len(BAD)
    assert "2 skipped, disordered: disordered.cif, vacant.cif" in skipped_report(pool)


def test_a_file_above_the_size_cap_is_skipped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "large.cif").write_text(ROCK_SALT + "#" * 2000)
    monkeypatch.setattr(cif_files, "MAX_FILE_BYTES", 1500)
    assert read_cif_folder(folder).skipped_files == {"large.cif": cif_folder.TOO_LARGE}


def test_duplicates_are_skipped(folder: Path) -> None:
    (folder / "salts" / "again.cif").write_text(ROCK_SALT)
    pool = read_cif_folder(folder)
    assert pool.skipped_files == {"salts/again.cif": cif_folder.DUPLICATE}


def test_equal_stems_keep_distinct_ids(folder: Path) -> None:
    (folder / "CsCl.cif").write_text(CAESIUM_CHLORIDE.replace("4.12", "4.2"))
    assert {entry.structure_id for entry in read_cif_folder(folder).entries()} == {
        "CsCl",
        "CsCl.cif",
        "salts/NaCl",
    }


def test_deuterium_is_hydrogen(tmp_path: Path) -> None:
    (tmp_path / "LiD.cif").write_text(cif("Li0 Li 0 0 0 1\nD1 D 0.5 0.5 0.5 1", lengths=(4.08,) * 3))
    assert read_cif_folder(tmp_path / "LiD.cif").elements == ("H", "Li")


def test_max_sites_is_a_choice(folder: Path) -> None:
    assert read_cif_folder(folder, max_sites=4).skipped_files == {"salts/NaCl.cif": cif_folder.TOO_MANY_SITES}


@pytest.mark.parametrize("suffix", ["zip", "tar", "tar.gz", "tar.xz"])
def test_archives_give_the_same_pool(folder: Path, tmp_path_factory: pytest.TempPathFactory, suffix: str) -> None:
    (folder / "disordered.cif").write_text(BAD["disordered.cif"][0])
    path = tmp_path_factory.mktemp("archive") / f"cifs.{suffix}"
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    if suffix == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files[::-1]:
                archive.write(file, file.relative_to(folder))
    else:
        with tarfile.open(path, f"w:{suffix.removeprefix('tar').removeprefix('.')}") as archive:
            for file in files[::-1]:
                archive.add(file, f"./{file.relative_to(folder)}")
    from_folder, from_archive = load_pool(folder), load_pool(path)
    assert from_archive.version == from_folder.version
    assert from_archive.entries() == from_folder.entries()
    assert from_archive.skipped_files == from_folder.skipped_files


def test_links_in_an_archive_are_not_followed(tmp_path: Path) -> None:
    path = tmp_path / "cifs.tar"
    with tarfile.open(path, "w") as archive:
        link = tarfile.TarInfo("outside.cif")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        member = tarfile.TarInfo("NaCl.cif")
        member.size = len(ROCK_SALT)
        archive.addfile(member, io.BytesIO(ROCK_SALT.encode()))
    pool = read_cif_folder(path)
    assert [entry.structure_id for entry in pool.entries()] == ["NaCl"]
    assert not pool.skipped


def test_an_archive_that_unpacks_to_too_much_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "cifs.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(5):
            archive.writestr(f"{number}.cif", ROCK_SALT)
    monkeypatch.setattr(cif_files, "MAX_ARCHIVE_BYTES", 2 * len(ROCK_SALT))
    with pytest.raises(UsageError, match="unpack them to a folder"):
        read_cif_folder(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("cifs.zip", b"PK\x03\x04 broken", "no readable .zip or .tar archive", id="broken-zip"),
        pytest.param("cifs.tar.gz", b"\x1f\x8b\x08 broken", "no readable .zip or .tar archive", id="broken-tar"),
        pytest.param("notes.txt", b"hello", "no readable .zip or .tar archive", id="some-file"),
        pytest.param("bad.cif", b"hello", r"no usable CIF: 1 unreadable \(bad.cif\)", id="one-bad-cif"),
    ],
)
def test_an_unusable_path_is_one_line_with_the_mend(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message) as raised:
        load_pool(tmp_path / name)
    assert "\n" not in str(raised.value)


def test_a_folder_without_usable_files_says_counts_by_reason(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"holds no \.cif file"):
        read_cif_folder(tmp_path)
    for name in ("disordered.cif", "vacant.cif", "prose.cif"):
        (tmp_path / name).write_text(BAD[name][0])
    with pytest.raises(UsageError, match=r"2 disordered \(disordered.cif, vacant.cif\); 1 unreadable"):
        read_cif_folder(tmp_path)
    with pytest.raises(UsageError, match="does not exist"):
        read_cif_folder(tmp_path / "nowhere")


def test_random_bytes_never_raise(folder: Path) -> None:
    generator = np.random.default_rng(0)
    for number in range(30):
        garbled = bytearray(ROCK_SALT.encode())
        for place in generator.integers(0, len(garbled), 20):
            garbled[place] = generator.integers(0, 256)
        (folder / f"garbled{number}.cif").write_bytes(bytes(garbled))
    pool = read_cif_folder(folder)
    assert len(pool) + pool.skipped.total() == 32


def test_the_embedded_pool_survives_a_round_trip_through_files(tmp_path: Path) -> None:
    entries = default_pool().entries("test", 10, 40)[::60]
    for number, entry in enumerate(entries):
        (tmp_path / f"{number:03d}.cif").write_text(write_cif(entry.crystal))
    pool = read_cif_folder(tmp_path)
    assert not pool.skipped
    for number, entry in enumerate(entries):
        read = pool.entry(f"{number:03d}").crystal
        assert read.composition == entry.crystal.composition
        assert read.cell == pytest.approx(entry.crystal.cell, abs=1.1e-4)
