"""Drift in words: what has changed, and what to do."""

from __future__ import annotations

from collections.abc import Iterator

from cohirf import Drift
from cohirf.app.explain.policy import WORD
from cohirf.inspection import ClusterDrift, FeatureDrift
from cohirf.wording import count_of, percent


def say_drift(drift: Drift) -> str:
    """Return what has changed and what to do, in one sentence without a capital and a full stop.

    Parameters
    ----------
    drift : Drift
        What :meth:`cohirf.CoHiRF.drift` returns.

    Returns
    -------
    sentence : str
        The new kinds, the clusters and features that have changed most, and the rows outside.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from cohirf import CoHiRF
    >>> from cohirf.app.explain import say_drift
    >>> X, _ = make_blobs(4000, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = CoHiRF(n_clusters=3, random_state=0).fit(X[:2000])
    >>> say_drift(model.drift(X[2000:]))
    'the new rows look like those of the recent past'
    """
    if not drift.has_drifted:
        return "the new rows look like those of the recent past"
    return f"{'; '.join(_say_findings(drift))}: update the model"


def show_drift(drift: Drift) -> str:
    """Return the sentence and the main figures, a line each, as ``print(drift)`` shows them.

    Parameters
    ----------
    drift : Drift
        What :meth:`cohirf.CoHiRF.drift` returns.

    Returns
    -------
    lines : str
        The sentence, the share of rows outside, the clusters whose shares differ most, and the
        features that differ most.
    """
    clusters = _by_change(drift.clusters)[: WORD.drift_lines]
    features = drift.features[: WORD.drift_lines]
    lines = [f"Drift of {drift.n_rows:,} new rows: {say_drift(drift)}"]
    lines += [f"  outside: {drift.share_outside:.1%} (usual is 1.0%)"]
    lines += [f"  {part.name}: {part.before:.1%} before, {part.now:.1%} now" for part in clusters]
    lines += [
        f"  {part.name}: shift {part.shift:+.2f} standard deviations, KS {part.statistic:.2f}"
        for part in features
    ]
    return "\n".join(lines)


def _say_findings(drift: Drift) -> Iterator[str]:
    """Yield what has changed, the most telling first."""
    if drift.has_new_kind:
        if len(drift.new_kinds) == 1:
            kinds = "a new kind"
        else:
            kinds = f"{len(drift.new_kinds):,} new kinds"
        n_rows = sum(drift.new_kinds)
        yield f"{n_rows:,} of the new rows {'is' if n_rows == 1 else 'are'} of {kinds}"
    clusters = [_say_cluster(part) for part in _by_change(drift.clusters) if part.has_changed]
    yield from say_some(clusters, "cluster")
    if drift.is_outside:
        far = percent(drift.share_outside)
        yield f"{far} of the new rows are far from everything (usual is 1%)"
    features = [_say_feature(part) for part in drift.features if part.has_changed]
    yield from say_some(features, "feature")


def _by_change(clusters: list[ClusterDrift]) -> list[ClusterDrift]:
    """Return the clusters, the one whose share differs most first."""
    return sorted(clusters, key=lambda part: -abs(part.now - part.before))


def _say_cluster(part: ClusterDrift) -> str:
    verb = "grew" if part.now > part.before else "shrank"
    return f"{part.name} {verb} from {percent(part.before)} to {percent(part.now)}"


def _say_feature(part: FeatureDrift) -> str:
    if not part.has_moved:
        return f"{part.name} has another distribution"
    direction = "up" if part.shift > 0 else "down"
    return f"{part.name} moved {direction} by {abs(part.shift):.1f} standard deviations"


def say_some(said: list[str], what: str) -> Iterator[str]:
    """Yield the first findings, and how many more there are."""
    yield from said[: WORD.findings]
    if len(said) > WORD.findings:
        yield f"{count_of(len(said) - WORD.findings, f'more {what}')} changed"
