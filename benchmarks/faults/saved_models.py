"""Is damage to a saved model noticed, does a killed save leave a whole model, and what do saving
and loading cost?

Damage is done to a small model: single bits are flipped and the file is cut short, at random
places. Processes that save one model over another, again and again, are killed at random instants;
what they leave beside the model is gone after the next save.
Time and memory are those of a fresh process each; memory is the rise of its peak resident size,
also in units of the arrays that make up the model.

    python -m benchmarks.faults.saved_models [--flips 1000] [--cuts 100] [--kills 100] [--rows
    10000000]
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from benchmarks._common import flip_bit, in_fresh_process, make_parser, parse, peak_rise, timed
from cohirf import CoHiRF, FusionHierarchy
from cohirf.beyond.merge_tree import MergeTree, link_groups
from cohirf.landmarks import Landmarks
from cohirf.store.files import ModelFileError
from cohirf.store.models import load

N_LEVELS = 6
N_CLUSTERS = 10
N_FEATURES = 10
N_LANDMARKS = 10_000


def small_model() -> CoHiRF:
    X, _ = make_blobs(60, 3, centers=4, random_state=0)
    return CoHiRF.as_published(KMeans(4), random_state=0).fit(X)


def is_noticed(file: Path, damaged: bytes) -> bool:
    """Put damaged content into the file of a model, see whether the model is refused, and repair
    the file.
    """
    whole = file.read_bytes()
    file.write_bytes(damaged)
    try:
        load(file)
    except ModelFileError:
        return True
    finally:
        file.write_bytes(whole)
    return False


def cut(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(len(content))]


def bench_damage(n_flips: int, n_cuts: int) -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        small_model().save(path)
        for what, damage, times in (("bit flips", flip_bit, n_flips), ("truncations", cut, n_cuts)):
            noticed = sum(is_noticed(path, damage(path.read_bytes(), rng)) for _ in range(times))
            print(f"{what:<44} {noticed:>5,} of {times:>5,} noticed")


def bench_kills(n_kills: int) -> None:
    rng = np.random.default_rng(0)
    models = [small_model(), small_model().set_params(views=3)]
    whole = with_strays = cleaned = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        models[0].save(path)
        for _ in range(n_kills):
            child = os.fork()
            if child == 0:
                while True:
                    for model in models:
                        model.save(path, overwrite=True)
            time.sleep(rng.uniform(0.01, 0.05))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            whole += load(path).views in (3, 5)
            with_strays += len(list(Path(folder).iterdir())) > 1
            models[0].save(path, overwrite=True)
            cleaned += list(Path(folder).iterdir()) == [path]
    print(
        f"{'kills while one model replaces another':<44} {whole:>5,} of {n_kills:>5,} left a whole "
        "model"
    )
    print(f"{'files beside the model after a kill':<44} {with_strays:>5,} of {n_kills:>5,}")
    print(f"{'none of them after the next save':<44} {cleaned:>5,} of {n_kills:>5,}")


def large_model(n_rows: int) -> CoHiRF:
    """Return a model as a fit would leave it, without the fit: six levels, each of which keeps the
    first rows.
    """
    sizes = np.geomspace(n_rows, N_CLUSTERS, N_LEVELS + 1).astype(np.int64)
    parents = np.arange(n_rows, dtype=np.int32)
    absorbed_at = np.zeros(n_rows, dtype=np.uint8)
    for level, (before, after) in enumerate(pairwise(sizes), start=1):
        parents[after:before] %= after
        absorbed_at[after:before] = level
    landmarks = np.random.default_rng(0).normal(size=(N_LANDMARKS, N_FEATURES))
    model = CoHiRF.as_published(KMeans(N_CLUSTERS), random_state=0).fit(landmarks)
    medoids = FusionHierarchy(parents, absorbed_at).medoids(N_LEVELS)
    linkage = link_groups(landmarks[medoids], np.ones(len(medoids)))
    hierarchy = FusionHierarchy(parents, absorbed_at, tree=MergeTree(medoids, linkage, N_LEVELS))
    labels = hierarchy.cut(level=N_LEVELS)
    vars(model).update(
        labels_=labels,
        parents_=parents,
        stability_=np.ones(n_rows, dtype=np.float32),
        hierarchy_=hierarchy,
        n_clusters_=len(medoids),
        medoid_indices_=medoids,
        medoids_=landmarks[medoids],
        exemplar_indices_=medoids,
        exemplars_=landmarks[medoids],
        cluster_numbers_=np.arange(len(medoids)),
        _summary=None,  # of the small fit
        n_iter_=N_LEVELS + 1,
        diagnostics_=[model.diagnostics_[0]] * (N_LEVELS + 1),
        _landmarks=Landmarks(landmarks, labels[:N_LANDMARKS].copy()),
    )
    return model


def measure(step: str, folder: Path, n_rows: int) -> tuple[float, int]:
    """Return seconds by the clock and the rise of the peak resident size.

    Run in a process of its own.
    """
    load(folder / "small")  # imports and caches do not count
    model = large_model(n_rows) if step == "save" else None
    steps = {
        "save": lambda: model.save(folder / "large"),
        "load": lambda: load(folder / "large"),
    }
    rise, (seconds, _) = peak_rise(lambda: timed(steps[step], time.perf_counter))
    return seconds, rise


def bench_size(n_rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small_model().save(folder / "small")
        for step in ("save", "load"):
            seconds, rise = in_fresh_process(measure, step, folder, n_rows)
            size = (folder / "large").stat().st_size
            print(
                f"{f'{step} {n_rows:,} rows, {size / 1e6:.0f} MB':<44} {seconds:>5.2f} s "
                f"{rise / 1e6:>6.0f} MB more at the peak, {rise / size:.2f} of the model"
            )


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--cuts", type=int, default=100)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--rows", type=int, default=10_000_000)
    arguments = parse(parser, argv, flips=50, cuts=10, kills=10, rows=100_000)
    bench_damage(arguments.flips, arguments.cuts)
    bench_kills(arguments.kills)
    bench_size(arguments.rows)


if __name__ == "__main__":
    main()
