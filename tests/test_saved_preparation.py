"""What a saved model says about the preparation of its data: kept whole, or refused."""

import hashlib
import json

import numpy as np
import pytest

from cohirf import CoHiRF, ModelFileError, load
from cohirf.saving import load_preparation, save_model

X = np.random.default_rng(0).normal(size=(40, 2))
CONTENT = {"columns": ["a", "b"], "scale": [1.5, 2.5e-300], "text": "dörte\x00"}


@pytest.fixture
def path(tmp_path):
    save_model(CoHiRF.as_published(random_state=0).fit(X), tmp_path / "model", preparation=CONTENT)
    return tmp_path / "model"


def test_it_comes_back_and_the_model_loads(path):
    assert load_preparation(path) == CONTENT
    assert load(path).n_clusters_ > 0


def test_a_model_without_it_says_nothing(tmp_path):
    CoHiRF.as_published(random_state=0).fit(X).save(tmp_path / "model")
    assert load_preparation(tmp_path / "model") is None
    assert not (tmp_path / "model" / "preparation.json").exists()


def test_a_model_that_has_it_can_be_replaced(path):
    CoHiRF.as_published(random_state=0).fit(X).save(path, overwrite=True)
    assert load_preparation(path) is None


@pytest.mark.parametrize("read", [load, load_preparation])
def test_every_flipped_bit_is_noticed(path, read):
    file = path / "preparation.json"
    content = file.read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        file.write_bytes(changed)
        with pytest.raises(ModelFileError, match=r"preparation\.json' cannot be used: its SHA-256 differs"):
            read(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.unlink(), "the file is missing"),
        (lambda file: file.write_bytes(file.read_bytes() + b" "), "it has more than .* bytes"),
        (lambda file: file.write_bytes(file.read_bytes()[:-1]), "SHA-256 differs"),
        (
            lambda file: file.rename(file.with_name("other")) and file.symlink_to("other"),
            "extra file|not a regular",
        ),
    ],
)
def test_files_that_are_not_what_they_were_are_refused(path, change, message):
    change(path / "preparation.json")
    with pytest.raises(ModelFileError, match=message):
        load(path)


def rewrite_manifest(path, change):
    manifest = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    change(manifest)
    text = json.dumps(manifest).encode()
    (path / "manifest.json").write_bytes(text)
    (path / "manifest.sha256").write_text(f"{hashlib.sha256(text).hexdigest()}  manifest.json\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"bytes": 5}, "preparation must be a JSON object with the keys bytes, sha256"),
        ({"bytes": 5, "sha256": 3}, "the sha256 of preparation must be a string"),
        ({"bytes": -5, "sha256": "x"}, "bytes"),
    ],
)
def test_a_manifest_that_lies_about_it_is_refused(path, entry, message):
    rewrite_manifest(path, lambda manifest: manifest.update(preparation=entry))
    with pytest.raises(ModelFileError, match=message):
        load_preparation(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[]", "it must be a JSON object"),
        (b'{"a": NaN}', "NaN is not valid JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"not JSON", "Expecting value"),
        (b"\xff", "codec can't decode"),
    ],
)
@pytest.mark.parametrize("read", [load, load_preparation])
def test_what_is_not_an_object_of_json_is_refused(path, read, text, message):
    (path / "preparation.json").write_bytes(text)
    entry = {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}
    rewrite_manifest(path, lambda manifest: manifest.update(preparation=entry))
    with pytest.raises(ModelFileError, match=message):
        read(path)


def test_a_file_that_the_manifest_does_not_name_is_refused(path):
    rewrite_manifest(path, lambda manifest: manifest.pop("preparation"))
    with pytest.raises(ModelFileError, match=r"preparation\.json' is an extra file"):
        load(path)


def test_more_than_a_model_file_holds_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"takes .* bytes of JSON, but a saved model holds at most 4,194,304: prepare"):
        save_model(CoHiRF.as_published(random_state=0).fit(X), tmp_path / "model", preparation={"a": "x" * 2**22})
    assert not (tmp_path / "model").exists()
