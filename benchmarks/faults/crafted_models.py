"""Is a model with valid hashes and invalid content refused, or loaded whole?

Some small models of different kinds are saved. Each case takes one of them, changes one to three
things at random, and writes it again with digests that fit, as an attacker would: a value of an
array, all of its values, its length, type or order, which array a field has, a number or a text, or
an item of a list. Some cases do what is known to be dangerous: row numbers at the limits of
integers, groups that absorb each other, rows that stand for each other's groups, huge numbers of
clusters.

The changed model is loaded in a process of its own, with a limit of processor time and of memory. It is fine
if it is refused with ``ModelFileError``, or if what a model can do works, or is refused with
``ValueError``: predictions and four other calls are tried. Broken are: a crash, a hang, any other
error, and memory above ten times the file while it is loaded (or half a MB, if that is more).

    python -m benchmarks.faults.crafted_models [--cases 2000] [--seed 0]

Case n is the same in every run: ``--cases 1 --first n`` repeats it, and ``--show`` prints its
traceback.
"""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from benchmarks._common import make_parser, parse
from benchmarks.faults._watching import Watch
from cohirf import CoHiRF, FusionHierarchy, load, merge
from cohirf.app.cli.summary import summarize_model
from cohirf.app.explain import describe_clusters
from cohirf.store.archive import Archive
from cohirf.store.files import ModelFileError
from cohirf.store.models import MODEL

SECONDS = 60  # of processor time in a case: most take a tenth of one
ROOM = 2**30  # bytes of address space for everything that a loaded model does
MOST_TIMES = 10  # as many bytes as the file has may be taken while it is loaded
SMALLEST = 2**19  # bytes that any load may take
N_OTHERS = 2  # calls of a case beside those that read the model: all would take ten times as long
# exit codes of a case
DONE = 0
BROKEN = 3

Record = tuple[Any, list[np.ndarray]]


# -- models ----------------------------------------------------------------------------------------------------------


def make_models() -> list[tuple[CoHiRF, Any]]:
    """Return models of different kinds, and new rows for each."""
    X = make_blobs(150, 4, centers=4, random_state=0)[0]
    new = make_blobs(30, 4, centers=4, random_state=1)[0]
    weights = np.random.default_rng(0).choice([0.0, 0.5, 2.0], size=len(X))
    with_gaps = X.copy()
    with_gaps[::17, 1] = np.nan
    many_zeros = sparse.csr_array(np.where(X < 3, 0, X))
    updated = CoHiRF(KMeans(4, n_init=1), batch_size=40, random_state=0).partial_fit(X)
    for part in (X[:50] + 9, X[50:80]):
        updated.partial_fit(part)
    updated.forget(updates=[1])
    return [
        (CoHiRF(random_state=0).fit(X), new),
        (CoHiRF.as_published(KMeans(5, n_init=1), batch_size=40, random_state=0).fit(X), new),
        (CoHiRF(DBSCAN(1.5), random_state=0).fit(X), new),
        (CoHiRF(HDBSCAN(min_cluster_size=5, copy=True), random_state=0).fit(with_gaps), new),
        (CoHiRF(KMeans(4, n_init=1), random_state=0).fit(many_zeros), sparse.csr_array(new)),
        (CoHiRF(n_clusters=3, metric="cosine", random_state=0).fit(X), new),
        (CoHiRF(KMeans(4, n_init=1), random_state=0).fit(X, sample_weight=weights), new),
        (updated, new),
    ]


# -- changes


def integers_for(rng: np.random.Generator, array: np.ndarray) -> Any:
    """Return an integer that can be wrong: at a limit of its type, or near the length of the
    array.
    """
    limits = np.iinfo(array.dtype)
    near = [-2, -1, 0, 1, len(array.ravel()), 2 * len(array.ravel()) + 1, 2**16, 2**31 - 1, 2**62]
    fits = [value for value in near if limits.min <= value <= limits.max]
    return rng.choice([limits.min, limits.max, limits.max - 1, *fits])


def value_for(rng: np.random.Generator, array: np.ndarray) -> Any:
    if array.dtype.kind == "b":
        return bool(rng.random() < 0.5)
    if array.dtype.kind in "iu":
        return integers_for(rng, array)
    return rng.choice([np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 2.0, 1e30, -1e30])


def change_value(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    changed = array.copy()
    if changed.size:
        changed.reshape(-1)[rng.integers(changed.size)] = value_for(rng, array)
    return changed


def fill(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    return np.full_like(array, value_for(rng, array))


def reorder(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    return array[rng.permutation(len(array))] if array.ndim else array


def resize(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Return an array of another length or shape."""
    flat = array.reshape(-1)
    shapes = [
        array[:-1],
        array[:0],
        array[:, None],
        flat,
        np.concatenate([array, array[-1:]]),
        array.T,
        array[None],
    ]
    return shapes[rng.integers(len(shapes))] if array.ndim else flat


def retype(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore"):
        return array.astype(rng.choice(["?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8"]))


ARRAY_CHANGES = (
    change_value,
    change_value,
    change_value,
    change_value,
    fill,
    reorder,
    resize,
    retype,
)


def change_array(rng: np.random.Generator, content: Any, arrays: list[np.ndarray]) -> None:
    number = int(rng.integers(len(arrays)))
    arrays[number] = ARRAY_CHANGES[rng.integers(len(ARRAY_CHANGES))](rng, arrays[number])


def places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container of JSON with each of its keys."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        yield content, key
        if isinstance(value, dict | list):
            yield from places(value)


def change_json(rng: np.random.Generator, content: Any, arrays: list[np.ndarray]) -> None:
    """Change a number, a text or a reference to an array somewhere."""
    found = list(places(content))
    inside, key = found[rng.integers(len(found))]
    numbers = [-(2**63), -1, 0, 1, 2, 7, 10**4, 2**31 - 1, 2**31, 2**63, 10**30, 0.5, -0.5, 1e308]
    others = [None, True, "text", "", [], {}, [0], [-1], int(rng.integers(len(arrays)))]
    values = numbers + others if rng.random() < 0.3 else numbers
    inside[key] = values[rng.integers(len(values))]


def change_items(rng: np.random.Generator, content: Any, arrays: list[np.ndarray]) -> None:
    """Leave something out, or repeat it."""
    found = list(places(content))
    inside, key = found[rng.integers(len(found))]
    if isinstance(inside, list) and rng.random() < 0.5:
        inside.extend(deepcopy(inside[key : key + 1]) * int(rng.integers(1, 4)))
    else:
        del inside[key]


def make_circle(rng: np.random.Generator, content: Any, arrays: list[np.ndarray]) -> None:
    """Let two groups absorb each other."""
    rows = content["state"]["rows"]
    parents, absorbed_at = (arrays[rows[name]].copy() for name in ("parents", "absorbed_at"))
    if len(parents) > 1:
        one, two = rng.permutation(len(parents))[:2]
        parents[[one, two]] = two, one
        absorbed_at[[one, two]] = rng.integers(1, 4, size=2)
        arrays[rows["parents"]], arrays[rows["absorbed_at"]] = parents, absorbed_at


def exchange_medoids(rng: np.random.Generator, content: Any, arrays: list[np.ndarray]) -> None:
    """Let rows stand for groups that they are not in."""
    number = content["state"]["rows"]["rows"]
    arrays[number] = arrays[number][rng.permutation(len(arrays[number]))]


def raise_numbers(rng: np.random.Generator, content: Any, arrays: list[np.ndarray]) -> None:
    """Give all clusters large numbers, everywhere."""
    offset = int(rng.choice([5, 1000, 2**29, 2**30, 2**31 - 10]))
    state = content["state"]
    summary = state["summary"]
    landmarks = state["landmarks"]
    named = {state["clusters"]["numbers"], state["rows"]["labels"], landmarks["labels"]}
    named |= {landmarks["cells"]["labels"]} if landmarks["cells"] is not None else set()
    if summary is not None:
        named.add(summary["labels"])
        summary["next_number"] += offset
    for number in named:
        array = arrays[number].astype(np.int64)
        arrays[number] = np.where(array < 0, array, array + offset)


CHANGES: dict[Callable[..., None], float] = {
    change_array: 10,
    change_json: 6,
    change_items: 2,
    make_circle: 1,
    exchange_medoids: 1,
    raise_numbers: 1,
}


def craft(records: list[Record], rng: np.random.Generator) -> list[Record]:
    """Return the records of a model with one to three changes.

    Most are of its results, some of its parameters.
    """
    (about, about_arrays), (content, arrays) = deepcopy(records)
    shares = np.array(list(CHANGES.values()))
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        change = list(CHANGES)[rng.choice(len(CHANGES), p=shares / shares.sum())]
        if change in (change_json, change_items) and rng.random() < 0.15:
            change(rng, about, [np.empty(0)])
        else:
            try:
                change(rng, content, arrays)
            except (LookupError, TypeError):  # an earlier change has removed what this one needs
                change_array(rng, content, arrays)
    return [(about, about_arrays), (content, arrays)]


def read_records(path: Path) -> list[Record]:
    with path.open("rb", buffering=0) as file:
        archive = Archive(file)
        archive.open(*MODEL)
        return list(iter(archive.read, None))


def write_records(path: Path, records: list[Record]) -> bool:
    """Write records with digests that fit; return False if JSON cannot hold them."""
    with path.open("wb", buffering=0) as file:
        archive = Archive(file)
        archive.begin(*MODEL)
        try:
            for content, arrays in records:
                archive.append(content, [np.ascontiguousarray(array) for array in arrays])
        except ValueError:  # an infinite number
            return False
    return True


# -- what a loaded model can do


def look(model: CoHiRF, new: Any) -> None:
    """Look at all results by row: they must form a valid hierarchy."""
    hierarchy = model.hierarchy_
    FusionHierarchy(hierarchy.parents, hierarchy.absorbed_at, tree=hierarchy.tree)
    repr(hierarchy)
    for level in range(hierarchy.n_levels + 1):
        hierarchy.cut(level=level)
    if hierarchy.tree.n_leaves:
        hierarchy.cut(n_clusters=max(1, hierarchy.tree.n_leaves // 2))
    known = np.isin(model.labels_, np.append(model.cluster_numbers_, -1))
    assert known.all(), "labels are not the numbers of clusters"
    assert len(model.labels_) == len(model.parents_) == len(model.stability_)


def apply(model: CoHiRF, new: Any) -> None:
    model.predict(new)
    model.transform(new)
    model.membership(new)
    model.score_outliers(new)
    model.drift(new)


def describe(model: CoHiRF, new: Any) -> None:
    str(model.changes_)
    [step.events for step in model.history_]
    describe_clusters(model)
    summarize_model(model)


def diagnose(model: CoHiRF, new: Any) -> None:
    """Compare the model with its base method, which is fitted."""
    str(model.diagnose())


def update(model: CoHiRF, new: Any) -> None:
    model.partial_fit(new)
    look(model, new)


def forget(model: CoHiRF, new: Any) -> None:
    model.forget([0, 5])
    look(model, new)


def find_anew(model: CoHiRF, new: Any) -> None:
    model.recluster()
    look(model, new)


def join(model: CoHiRF, new: Any) -> None:
    look(merge([model, copy(model)]), new)


def save(model: CoHiRF, new: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        load(Path(folder) / "model")


READS = (look, apply)
OTHERS = (describe, save, diagnose, update, forget, find_anew, join)
CALLS = (*READS, *OTHERS)


def try_out(path: Path, new: Any, calls: Sequence[Callable[[CoHiRF, Any], None]] = CALLS) -> str:
    """Load a model and call what it can do; return the outcome, or raise what is broken."""
    limit = max(SMALLEST, MOST_TIMES * path.stat().st_size)
    tracemalloc.start()
    try:
        model = load(path)
    except ModelFileError as error:
        if "does not fit into memory" in str(error):
            raise AssertionError("too much memory was asked for") from error
        return "refused"
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= limit, (
            f"loading took {peak:,} bytes, and the file has {path.stat().st_size:,}"
        )
    outcome = "whole"
    for call in calls:
        try:
            call(copy(model), new)
        except (ValueError, NotImplementedError):  # the message says what to do
            outcome = "whole, some calls refused"
    return outcome


# -- cases -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bases:
    """Records of saved models, and new rows for each."""

    records: list[list[Record]]
    new: list[Any]

    @classmethod
    def make(cls, folder: Path) -> Bases:
        """Fit and save the models, and do everything once, so that a case measures no imports."""
        records = []
        new = []
        for model, rows in make_models():
            path = folder / "base"
            model.save(path, overwrite=True)
            records.append(read_records(path))
            new.append(rows)
            assert try_out(path, rows) == "whole", "a model that was not changed is not whole"
        return cls(records, new)


def run_case(number: int, seed: int, bases: Bases, folder: Path, *, show: bool = False) -> str:
    """Run a case in a process of its own; return its outcome, or what is broken."""
    rng = np.random.default_rng([seed, number])
    which = int(rng.integers(len(bases.records)))
    path = folder / "crafted"
    records = craft(bases.records[which], rng)
    if not write_records(path, records):
        return "cannot be written"
    # an update or a fit takes as long as the parameters of the model ask for
    others = OTHERS if records[0][0] == bases.records[which][0][0] else (describe, save)
    some = [others[each] for each in rng.permutation(len(others))[:N_OTHERS]]
    said = folder / "said"
    said.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        _be_tried(partial(try_out, path, bases.new[which], [*READS, *some]), said, show=show)
    status = _wait(child)
    if status == DONE:
        return said.read_text(encoding="utf-8")
    if isinstance(status, str):
        return f"broken: hung, {status}"
    return f"broken: {said.read_text(encoding='utf-8') if status == BROKEN else f'ended with {status}'}"


def _be_tried(try_model: Callable[[], str], said: Path, *, show: bool) -> None:
    """Try a model out, note the outcome, and end this process."""
    status = BROKEN
    faulthandler.disable()
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, taken + ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    try:
        said.write_text(try_model(), encoding="utf-8")
        status = DONE
    except BaseException as error:
        where = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if "cohirf" in frame.filename
        ]
        place = f"{Path(where[-1].filename).name}:{where[-1].lineno}" if where else "?"
        said.write_text(f"{type(error).__name__}: {error} ({place})"[:300], encoding="utf-8")
        if show:
            traceback.print_exc()
    finally:
        os._exit(status)


def _wait(child: int) -> int | str:
    """Return the exit code of a process, negative for a signal; if it hung, why."""
    watch = Watch([child], SECONDS)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        hung = watch.why_hung()
        if hung is not None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return hung
        time.sleep(0.005)


def run_cases(
    n_cases: int, seed: int, first: int = 0, *, show: bool = False
) -> tuple[Counter[str], list[str]]:
    """Run cases; return how many had which outcome, and what is broken."""
    counts: Counter[str] = Counter()
    broken = []
    # a process that is forked from one with threads of OpenMP waits for ever for threads that it
    # does not have
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        folder = Path(name)
        bases = Bases.make(folder)
        for number in range(first, first + n_cases):
            outcome = run_case(number, seed, bases, folder, show=show)
            counts[outcome.partition(":")[0]] += 1
            if outcome.startswith("broken"):
                broken.append(f"crafted model {number}: {outcome.removeprefix('broken: ')}")
                print(broken[-1], flush=True)
    return counts, broken


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print tracebacks")
    arguments = parse(parser, argv, cases=50)
    started = time.perf_counter()
    counts, broken = run_cases(
        arguments.cases, arguments.seed, arguments.first, show=arguments.show
    )
    for outcome, count in sorted(counts.items()):
        print(f"{outcome:<40} {count:>6,}")
    print(
        f"{len(broken)} of {arguments.cases:,} crafted models broken, "
        f"{time.perf_counter() - started:.0f} s"
    )
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
