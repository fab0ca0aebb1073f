"""A checkpoint that was forged, with digests that are right and content that is not, is refused in words."""

import copy
import hashlib
import json
import re
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from cohirf import CheckpointError, open_source
from cohirf.algorithm.batches import LocalBatches, Run
from cohirf.algorithm.runs import ContractedRun, Links, RunTask, Survivors
from cohirf.checkpoint import ResumableEngine
from cohirf.checkpoint.journal import DIGEST_BYTES, FRAME_BYTES, LENGTHS, Journal, _frame
from cohirf.checkpoint.outcomes import JournalEntry, decode, encode
from cohirf.durable.json_text import seal
from cohirf.spanning.spanning_labels import SpannedRun
from resumable import Cells, X, fit, make_model

# batches are tiny here, so that there are many
pytestmark = pytest.mark.filterwarnings("ignore::cohirf.ThinBatchesWarning")

DENSE = X[:60]
CSR = sparse.csr_matrix(np.where(DENSE > 0, DENSE, 0))
KINDS = {
    "values": lambda: open_source(DENSE),
    "CSR": lambda: open_source(CSR),
    "array": lambda: DENSE,
}


def model(path=None):
    return make_model(path, estimator=Cells(width=2.0), batch_size=20, medoid_weights=True)


def split(content):
    """Return the header and the bytes of the arrays of each record of a journal."""
    records, start = [], 0
    while start < len(content):
        _, n_header, n_arrays = LENGTHS.unpack(content[start : start + LENGTHS.size])
        header = start + FRAME_BYTES
        arrays = header + n_header
        records.append((json.loads(content[header:arrays]), content[arrays : arrays + n_arrays]))
        start = arrays + n_arrays + DIGEST_BYTES
    return records


def join(records, manifest):
    """Return a journal of these records whose digests are right, as an attacker would."""
    content, digest = b"", hashlib.sha256(manifest).digest()
    for header, arrays in records:
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        frame = _frame(len(text), len(arrays))
        digest = hashlib.sha256(digest + frame + text + arrays).digest()
        content += frame + text + arrays + digest
    return content


@pytest.fixture(scope="module", params=KINDS)
def checkpoint(request, tmp_path_factory):
    """A finished checkpoint, the data it is of, and its records."""
    path = tmp_path_factory.mktemp("forged") / "checkpoint"
    data = KINDS[request.param]
    fit(model(path), data())
    content = (path / "journal").read_bytes()
    records = split(content)
    assert join(records, (path / "manifest.json").read_bytes()) == content
    yield path, data, records
    (path / "journal").write_bytes(content)


def refit(checkpoint, records):
    """Fit with a forged journal; return the error, which must be a CheckpointError that says what to do, or None."""
    path, data, _ = checkpoint
    (path / "journal").write_bytes(join(records, (path / "manifest.json").read_bytes()))
    error = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit(model(path), data())
        except CheckpointError as raised:
            error = str(raised)
    if error is not None:
        assert str(path) in error
        assert re.search(r"Delete .* to start again\.|Give another directory\.", error)
    return error


def arrays_of(record):
    header, data = record
    outcome = decode(json.dumps(header).encode(), data).outcome
    of_rows = {"survivor_of": outcome.survivor_of, "row_stability": outcome.stability}
    return SimpleNamespace(**vars(outcome.survivors), **of_rows)


def changed(record, **arrays):
    """Return a record with other arrays in the place of some."""
    entry = decode(json.dumps(record[0]).encode(), record[1])
    of_rows = {"survivor_of": "survivor_of", "row_stability": "stability", "links": "links"}
    survivors = {name: array for name, array in arrays.items() if name not in of_rows}
    others = {of_rows[name]: array for name, array in arrays.items() if name in of_rows}
    outcome = replace(entry.outcome, survivors=replace(entry.outcome.survivors, **survivors), **others)
    header, data = encode(JournalEntry(entry.place, outcome))
    return json.loads(header), b"".join(data)


# -- headers -------------------------------------------------------------------------------------------------------


HEADERS = {
    "not JSON": lambda h: b"{",
    "not text": lambda h: b"\xff\xfe",
    "deep": lambda h: b"[" * 60_000,
    "a list": lambda h: [],
    "a number": lambda h: 1,
    "empty": lambda h: {},
    "extra key": lambda h: h | {"code": "print(1)"},
    "short place": lambda h: h | {"place": [1]},
    "long place": lambda h: h | {"place": [1, 2, 3]},
    "negative place": lambda h: h | {"place": [1, -1]},
    "place of text": lambda h: h | {"place": "ab"},
    "place of null": lambda h: h | {"place": None},
    "another place": lambda h: h | {"place": [7, 7]},
    "no arrays": lambda h: h | {"arrays": {}},
    "arrays as list": lambda h: h | {"arrays": []},
    "arrays of objects": lambda h: h | {"arrays": h["arrays"] | {"survivor_of": ["|O", [20]]}},
    "layout as number": lambda h: h | {"arrays": h["arrays"] | {"survivor_of": 5}},
    "unknown array": lambda h: h | {"arrays": {"evil": ["<i4", [1]]} | h["arrays"]},
    "negative length": lambda h: h | {"arrays": h["arrays"] | {"survivor_of": ["<i4", [-1]]}},
    "huge length": lambda h: h | {"arrays": h["arrays"] | {"survivor_of": ["<i4", [2**61]]}},
    "more axes": lambda h: h | {"arrays": h["arrays"] | {"survivor_of": ["<i4", [1, 20]]}},
    "no csr": lambda h: {key: value for key, value in h.items() if key != "csr"},
    "csr as text": lambda h: h | {"csr": "matrix"},
    "csr as number": lambda h: h | {"csr": 1},
    "csr of another kind": lambda h: h | {"csr": ["coo_matrix", [1, 1]]},
}


@pytest.mark.parametrize("forge", HEADERS)
def test_a_forged_header_is_refused(forge, checkpoint):
    records = list(checkpoint[2])
    header, data = records[1]
    records[1] = HEADERS[forge](header), data
    assert refit(checkpoint, records) is not None


def test_a_header_that_is_too_long_is_refused_before_it_is_read(checkpoint):
    header, data = checkpoint[2][0]
    assert "has a header of 100000 bytes, but at most 65536 are allowed" in refit(
        checkpoint, [(json.dumps(header).encode().ljust(100_000), data)]
    )


def test_a_journal_that_is_mostly_a_hole_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "checkpoint"
    fit(model(path), DENSE)
    n_bytes = 200 * 10**6
    with (path / "journal").open("wb") as journal:
        journal.write(_frame(100, n_bytes))
        journal.truncate(FRAME_BYTES + 100 + n_bytes + DIGEST_BYTES)
    message = f"{path / 'journal'}.* on disk, less than a fiftieth.*Delete {path} to start again"
    with pytest.raises(CheckpointError, match=message):
        fit(model(path), DENSE)


def places_in(content, where=()):
    """Yield the place of each value within JSON."""
    yield where
    parts = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, part in parts:
        yield from places_in(part, (*where, key))


def put(content, where, value):
    if not where:
        return value
    content = copy.deepcopy(content)
    inner = content
    for key in where[:-1]:
        inner = inner[key]
    if value is DELETED:
        del inner[where[-1]]
    else:
        inner[where[-1]] = value
    return content


DELETED = object()
VALUES = st.sampled_from(
    [DELETED, None, True, -1, 0, 1, 3, 2**31, 2**63, 10**30, 0.5, "", "<i4", "|O", "ContractedBatch", [], [0], {}, "x"]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_change_of_a_header_is_refused_or_does_no_harm(checkpoint, data):
    records = list(checkpoint[2])
    number = data.draw(st.integers(0, len(records) - 1))
    header, arrays = records[number]
    where = data.draw(st.sampled_from(list(places_in(header))))
    value = data.draw(VALUES)
    if not where and value is DELETED:
        return
    records[number] = put(header, where, value), arrays
    refit(checkpoint, records)  # which fails for any other error


# -- values --------------------------------------------------------------------------------------------------------

ARRAYS = {
    "survivors beyond their number": lambda b: {"survivor_of": np.full_like(b.survivor_of, len(b.rows))},
    "negative survivors": lambda b: {"survivor_of": np.full_like(b.survivor_of, -1)},
    "fewer rows": lambda b: {"survivor_of": b.survivor_of[:-1], "row_stability": b.row_stability[:-1]},
    "rows without stability": lambda b: {"row_stability": b.row_stability[:-1]},
    "no map": lambda b: {"survivor_of": None, "row_stability": None},
    "half a map": lambda b: {"row_stability": None},
    "survivors beyond the rows": lambda b: {"rows": b.rows + 1000},
    "negative rows": lambda b: {"rows": b.rows - 1000},
    "survivors of other clusters": lambda b: {"survivor_of": len(b.rows) - 1 - b.survivor_of},
    "fewer survivors": lambda b: {"rows": b.rows[:-1]},
    "a survivor twice": lambda b: {"rows": np.r_[b.rows[:1], b.rows[:-1]]},
    "other sizes": lambda b: {"sizes": b.sizes[::-1]},
    "first rows of another run": lambda b: {"first_rows": b.first_rows + 1000},
    "no mass": lambda b: {"mass": None},
    "mass of NaN": lambda b: {"mass": b.mass * np.nan},
    "less mass": lambda b: {"mass": b.mass[:-1]},
    "stability above 1": lambda b: {"row_stability": b.row_stability + 2},
    "no stability": lambda b: {"stability": b.stability[:0]},
    "no views": lambda b: {"view_stability": b.view_stability[:, :0]},
    "more views": lambda b: {"view_stability": np.repeat(b.view_stability, 2, axis=1)},
    "survivors of another type": lambda b: {"survivor_of": b.survivor_of.astype(np.float64)},
}


@pytest.mark.parametrize("forge", ARRAYS)
def test_forged_arrays_are_refused(forge, checkpoint):
    records = list(checkpoint[2])
    assert len(set(arrays_of(records[0]).sizes)) > 1
    records[0] = changed(records[0], **ARRAYS[forge](arrays_of(records[0])))
    assert refit(checkpoint, records) is not None


VALUES_FORGED = {
    "missing": lambda v: None,
    "fewer rows": lambda v: v[:-1],
    "fewer features": lambda v: v[:, :-1],
    "infinite": lambda v: v * np.inf,
    "NaN": lambda v: v * np.nan,
    "squares that overflow": lambda v: v * 1e300,
    "other kind": lambda v: v.toarray() if sparse.issparse(v) else sparse.csr_array(v),
    "other type": lambda v: v.astype(np.float32),
}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("forge", VALUES_FORGED)
@pytest.mark.parametrize("number", [0, 1])
def test_forged_values_are_refused(forge, number, checkpoint):
    records = list(checkpoint[2])
    values = arrays_of(records[number]).values
    if values is None:
        records[number] = changed(records[number], values=np.zeros((3, 3)))
    else:
        records[number] = changed(records[number], values=VALUES_FORGED[forge](values))
    assert refit(checkpoint, records) is not None


def test_values_that_differ_from_those_of_computed_batches_are_refused(checkpoint):
    records = checkpoint[2]
    values = arrays_of(records[0]).values
    if values is not None:
        assert "of different types" in refit(checkpoint, [changed(records[0], values=values.astype(np.float32))])


def test_a_csr_matrix_that_leads_out_of_its_memory_is_refused(checkpoint):
    header, data = checkpoint[2][0]
    for name, (_, (n_rows, n_columns)) in header["csr"].items():
        for shape in ([n_rows, n_columns - 1], [n_rows + 1, n_columns], [n_rows - 1, n_columns], [-1, 3], [3]):
            forged = header | {"csr": header["csr"] | {name: ["csr_matrix", shape]}}
            assert refit(checkpoint, [(forged, data)]) is not None


# -- runs of batches, as a fit on Dask has them ---------------------------------------------------------------------

RUN = Run(bounds=np.array([0, 4, 8]), held=np.array([1]), first_batch=3, start=10)
CONTRACTION = SimpleNamespace(views=SimpleNamespace(n_views=5), weighted=False, keeps_means=True)
SURVIVORS = Survivors(
    rows=np.array([10, 11, 15]),
    values=np.ones((3, 2)),
    mass=None,
    sizes=np.array([3, 1, 4]),
    first_rows=np.array([10, 11, 14]),
    weights=None,
    means=np.ones((3, 2)),
    is_noise=np.array([False, True, False]),
    stability=np.array([0.5, np.nan, 1], np.float32),
    batch_sizes=np.array([3, 4]),
    batch_costs=np.ones((2, 6)),
    view_stability=np.ones((2, 5)),
)


def read_run(tmp_path, **changes):
    """Return what an engine gives back for a run whose survivors are in the journal."""
    header, data = encode(JournalEntry((1, 3), ContractedRun(SURVIVORS)))
    record = changed((json.loads(header), b"".join(data)), **changes)
    (tmp_path / "journal").write_bytes(join([record], b"manifest"))
    with Journal(tmp_path / "journal", hashlib.sha256(b"manifest").digest()) as journal:
        task = RunTask(RUN, level=1, values=None, carry_values=True)
        return list(ResumableEngine(None, journal, n_features=2).run(None, [(task, CONTRACTION)], 1))


def test_the_survivors_of_a_run_come_back(tmp_path):
    (found,) = read_run(tmp_path)
    assert found.survivor_of is None
    for name, expected in vars(SURVIVORS).items():
        np.testing.assert_array_equal(getattr(found.survivors, name), expected)


RUNS_FORGED = {
    "row before the run": {"rows": np.array([9, 11, 15])},
    "row behind the run": {"rows": np.array([10, 11, 18])},
    "rows that are not sorted": {"rows": np.array([11, 10, 15])},
    "without the row held aside": {"rows": np.array([10, 12, 15])},
    "first row behind the run": {"first_rows": np.array([10, 11, 18])},
    "first row before the run": {"first_rows": np.array([9, 11, 14])},
    "sizes of more rows": {"sizes": np.array([3, 1, 5])},
    "size of 0": {"sizes": np.array([4, 0, 4])},
    "batches of more rows": {"batch_sizes": np.array([3, 5])},
    "batch of negative size": {"batch_sizes": np.array([-1, 8])},
    "one batch": {"batch_sizes": np.array([7]), "batch_costs": np.ones((1, 6)), "view_stability": np.ones((1, 5))},
    "few costs": {"batch_costs": np.ones((2, 5))},
    "more views": {"view_stability": np.ones((2, 6))},
    "infinite costs": {"batch_costs": np.full((2, 6), np.inf)},
    "no values": {"values": None},
    "values of other features": {"values": np.ones((3, 3))},
    "values of NaN": {"values": np.full((3, 2), np.nan)},
    "values of other rows": {"values": sparse.csr_array(np.ones((4, 2)))},
    "a map that is kept elsewhere": {
        "survivor_of": np.array([0, 1, 0, 0, 2, 2, 2, 2]),
        "row_stability": np.ones(8, np.float32),
    },
    "mass that the fit does not have": {"mass": np.ones(3)},
    "short weights": {"weights": np.ones(2)},
    "weights of NaN": {"weights": np.full(3, np.nan)},
    "mass of NaN": {"mass": np.full(3, np.nan)},
    "no stability": {"stability": np.zeros(3, np.float32)},
    "no stability of views": {"view_stability": np.zeros((2, 5))},
}


@pytest.mark.parametrize("forge", RUNS_FORGED)
def test_forged_survivors_are_refused(forge, tmp_path):
    with pytest.raises(CheckpointError, match=f"{tmp_path}.*(Delete {tmp_path} to start again|Give another directory)"):
        read_run(tmp_path, **RUNS_FORGED[forge])


NEXT_RUN = Run(bounds=np.array([0, 4, 8]), held=np.array([1]), first_batch=5, start=18)


def test_runs_that_do_not_agree_on_what_they_carry_are_refused(tmp_path):
    following = replace(SURVIVORS, rows=SURVIVORS.rows + 8, first_rows=SURVIVORS.first_rows + 8)
    tasks = [(RunTask(run, level=1, values=None, carry_values=True), CONTRACTION) for run in (RUN, NEXT_RUN)]

    def read(last):
        entries = [JournalEntry((1, 3), ContractedRun(SURVIVORS)), JournalEntry((1, 5), ContractedRun(last))]
        records = [(header, b"".join(data)) for header, data in map(encode, entries)]
        (tmp_path / "journal").write_bytes(join(records, b"manifest"))
        with Journal(tmp_path / "journal", hashlib.sha256(b"manifest").digest()) as journal:
            return list(ResumableEngine(None, journal, n_features=2).run(None, tasks, 2))

    assert len(read(following)) == 2
    with pytest.raises(CheckpointError, match="its batches have values of different types"):
        read(replace(following, weights=np.ones(3)))


def test_a_cluster_of_many_rows_comes_back(tmp_path):
    run = Run(bounds=np.array([0, 400]), held=np.empty(0, int), first_batch=3, start=0)
    one = {name: value if value is None else value[:1] for name, value in vars(SURVIVORS).items()}
    one |= {
        "rows": np.array([10]),
        "sizes": np.array([400]),
        "first_rows": np.array([0]),
        "is_noise": np.array([False]),
    }
    header, data = encode(JournalEntry((1, 3), ContractedRun(Survivors(**one | {"batch_sizes": np.array([400])}))))
    (tmp_path / "journal").write_bytes(join([(header, b"".join(data))], b"manifest"))
    with Journal(tmp_path / "journal", hashlib.sha256(b"manifest").digest()) as journal:
        task = RunTask(run, level=1, values=None, carry_values=True)
        (found,) = ResumableEngine(None, journal, n_features=2).run(None, [(task, CONTRACTION)], 1)
    assert found.survivors.sizes.tolist() == [400]


# -- links between local batches -----------------------------------------------------------------------------------


def keep(links):
    return links


LINKS_FORGED = {
    "none": lambda links: None,
    "rows of no halo": lambda links: replace(links, rows=links.rows * 0 + 10**6),
    "negative rows": lambda links: replace(links, rows=-links.rows - 1),
    "survivors that are none": lambda links: replace(links, survivors=links.survivors * 0 + 10**6),
    "more rows than survivors": lambda links: replace(links, rows=np.append(links.rows, links.rows[:1])),
    "rows that are no whole numbers": lambda links: replace(links, rows=links.rows + 0.5),
}


def refit_with_links(path, forge):
    """Stop a fit in local batches, forge the links of its first record, and fit again."""
    local = {"batches": "local", "batch_size": 20}
    fit(make_model(path, **local), DENSE, stop_at=3)
    header, data = split((path / "journal").read_bytes())[0]
    entry = decode(json.dumps(header).encode(), data)
    forged = replace(entry, outcome=replace(entry.outcome, links=forge(entry.outcome.links)))
    header, arrays = encode(forged)
    manifest = (path / "manifest.json").read_bytes()
    (path / "journal").write_bytes(join([(header, b"".join(arrays))], manifest))
    return fit(make_model(path, **local), DENSE)[0]


def test_links_that_are_right_are_read(tmp_path):
    ours = refit_with_links(tmp_path / "fit", keep)
    same = fit(make_model(batches="local", batch_size=20), DENSE)[0]
    assert (ours.labels_ == same.labels_).all()


@pytest.mark.parametrize("forge", LINKS_FORGED)
def test_forged_links_are_refused(forge, tmp_path):
    path = tmp_path / "fit"
    with pytest.raises(CheckpointError, match=f"{path}.*(Delete {path} to start again|Give another directory)"):
        refit_with_links(path, LINKS_FORGED[forge])


def test_a_part_of_the_links_is_refused(tmp_path):
    path = tmp_path / "fit"
    fit(make_model(path, batches="local", batch_size=20), DENSE, stop_at=3)
    header, data = split((path / "journal").read_bytes())[0]
    assert list(header["arrays"])[-1] == "link_by_core"
    del header["arrays"]["link_by_core"]
    manifest = (path / "manifest.json").read_bytes()
    (path / "journal").write_bytes(join([(header, data[:-1])], manifest))
    with pytest.raises(CheckpointError, match=f"Delete {path} to start again"):
        fit(make_model(path, batches="local", batch_size=20), DENSE)


def test_links_of_random_batches_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match="to start again"):
        read_run(tmp_path, links=Links(np.empty(0, np.int64), np.empty(0, np.int64), by_core=True))


# -- spanning trees of local batches -------------------------------------------------------------------------------

# Two batches, of rows 1 and 4 beside 0, and of rows 0 and 2 beside 4.
(SPANNED,) = LocalBatches(np.array([1, 4, 0, 2]), np.array([0, 2, 4]), np.array([0, 4]), np.array([0, 1, 2])).runs(
    np.array([0])
)
TREES = SpannedRun(
    rows=np.array([1, 4, 0, 0, 2, 4]),
    core=np.ones(6),
    one=np.array([1, 4, 0, 2]),
    two=np.array([4, 0, 2, 4]),
    lengths=np.ones(4),
    batch_sizes=np.array([2, 2]),
)


def record_of(trees):
    header, data = encode(JournalEntry((0, 0), trees))
    return json.loads(header), b"".join(data)


def read_trees(tmp_path, record):
    """Return what an engine gives back for a run whose spanning trees are in the journal."""
    (tmp_path / "journal").write_bytes(join([record], b"manifest"))
    with Journal(tmp_path / "journal", hashlib.sha256(b"manifest").digest()) as journal:
        task = RunTask(SPANNED, level=0, values=None)
        return list(ResumableEngine(None, journal, n_features=2).run(None, [(task, SPANNED, 5)], 1))


def test_the_spanning_trees_of_a_run_come_back(tmp_path):
    (found,) = read_trees(tmp_path, record_of(TREES))
    for name, expected in vars(TREES).items():
        np.testing.assert_array_equal(getattr(found, name), expected)


TREES_FORGED = {
    "rows in another order": {"rows": np.array([4, 1, 0, 0, 2, 4])},
    "rows of another batch": {"rows": np.array([1, 4, 0, 0, 2, 5])},
    "fewer rows": {"rows": TREES.rows[:5], "core": TREES.core[:5]},
    "batches of other sizes": {"batch_sizes": np.array([1, 3])},
    "one batch": {"batch_sizes": np.array([4])},
    "an edge less": {"one": TREES.one[:3], "two": TREES.two[:3], "lengths": TREES.lengths[:3]},
    "an edge more": {"one": np.arange(5), "two": np.zeros(5, int), "lengths": np.ones(5)},
    "edges from a row that is not there": {"one": np.array([1, 4, 0, 3])},
    "edges to a row that is not there": {"two": np.array([4, 0, 2, -1])},
    "edges without an end": {"two": TREES.two[:3]},
    "a core distance that is not a number": {"core": np.array([1, 1, np.nan, 1, 1, 1])},
    "an edge without an end in space": {"lengths": np.array([1, 1, 1, np.inf])},
}


@pytest.mark.parametrize("forge", TREES_FORGED)
def test_forged_spanning_trees_are_refused(forge, tmp_path):
    with pytest.raises(CheckpointError, match=f"{tmp_path}.*(Delete {tmp_path} to start again|Give another directory)"):
        read_trees(tmp_path, record_of(replace(TREES, **TREES_FORGED[forge])))


def test_spanning_trees_with_more_or_fewer_arrays_are_refused(tmp_path):
    header, data = record_of(TREES)
    more = header | {"arrays": header["arrays"] | {"link_by_core": ["|b1", [1]]}}
    with pytest.raises(CheckpointError, match=r"must have the arrays .'tree_batch_sizes', .*, and no others"):
        read_trees(tmp_path, (more, data + b"\x01"))
    assert list(header["arrays"])[-1] == "tree_batch_sizes"
    fewer = header | {"arrays": {name: of for name, of in header["arrays"].items() if name != "tree_batch_sizes"}}
    with pytest.raises(CheckpointError, match="must have the arrays"):
        read_trees(tmp_path, (fewer, data[: -TREES.batch_sizes.nbytes]))


# -- the manifest --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "forge",
    [
        {"fit": None},
        {"fit": [1]},
        {"settled": None},
        {"settled": {}},
        {"settled": {"entropy": None, "batch_size": 20}},
        {"settled": {"entropy": [], "batch_size": 20}},
        {"settled": {"entropy": [-1], "batch_size": 20}},
        {"settled": {"entropy": ["x"], "batch_size": 20}},
        {"settled": {"entropy": [1] * 10_000, "batch_size": 20}},
        {"settled": {"entropy": [1], "batch_size": 1}},
        {"settled": {"entropy": [1], "batch_size": "auto"}},
        {"settled": {"entropy": [1], "batch_size": 20, "more": 1}},
        {"format": "another"},
        {"version": "1"},
        {"more": 1},
    ],
    ids=repr,
)
def test_a_forged_manifest_is_refused(forge, tmp_path):
    path = tmp_path / "checkpoint"
    fit(model(path), DENSE, stop_at=2)
    body = json.loads((path / "manifest.json").read_text(encoding="utf-8"))
    del body["sha256"]
    (path / "manifest.json").write_bytes(seal(body | forge))
    message = f"{path / 'manifest.json'} is damaged: delete {path} to start again."
    with pytest.raises(CheckpointError, match=f"^{re.escape(message)}$"):
        fit(model(path), DENSE)
