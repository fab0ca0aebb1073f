"""The paper's own results, as mean and standard deviation of each metric.

Nursery is in none of its tables. The one figure is what its authors recorded for K-Means.
"""

from __future__ import annotations

Figure = tuple[float, float]
Row = tuple[str, str, str]  # data set, base method, variant
FEW_CLUSTERS = (
    ", k to 5"  # the paper says 2 to 30 clusters, the authors' configuration also has 2 to 5
)
METRICS = ("ari", "calinski_harabasz", "silhouette")

N_ROWS = {
    "iris": 147,
    "alizadeh-2000-v2": 62,
    "garber-2001": 66,
    "shuttle": 58_000,
    "coil-20": 1440,
    "nursery": 12_958,
}
# a figure for each metric
RESULTS: dict[Row, tuple[Figure | None, Figure, Figure | None]] = {
    ("iris", "K-Means", "alone"): ((0.618, 0.035), (241.038, 0.0), (0.579, 0.0)),
    ("iris", "K-Means", "CoHiRF"): ((0.786, 0.132), (238.928, 4.719), (0.579, 0.0)),
    ("iris", "K-Means", "R-CoHiRF"): ((0.868, 0.079), (241.038, 0.0), (0.579, 0.0)),
    ("iris", "kernel K-Means", "alone"): ((0.641, 0.022), (228.04, 29.064), (0.578, 0.002)),
    ("iris", "kernel K-Means", "CoHiRF"): ((0.798, 0.094), (231.46, 21.417), (0.579, 0.0)),
    ("iris", "kernel K-Means", "R-CoHiRF"): ((0.9, 0.018), (233.757, 16.28), (0.579, 0.0)),
    ("alizadeh-2000-v2", "K-Means", "alone"): ((0.838, 0.014), (15.151, 0.0), (0.204, 0.036)),
    ("alizadeh-2000-v2", "K-Means", "CoHiRF"): ((0.871, 0.014), (15.094, 0.126), (0.186, 0.006)),
    ("alizadeh-2000-v2", "K-Means", "R-CoHiRF"): ((0.905, 0.039), (15.151, 0.0), (0.221, 0.043)),
    ("alizadeh-2000-v2", "kernel K-Means", "alone"): (
        (0.044, 0.015),
        (1.376, 0.129),
        (0.014, 0.007),
    ),
    ("alizadeh-2000-v2", "kernel K-Means", "CoHiRF"): (
        (0.083, 0.034),
        (1.569, 0.143),
        (0.001, 0.012),
    ),
    ("alizadeh-2000-v2", "kernel K-Means", "R-CoHiRF"): (
        (0.142, 0.06),
        (2.43, 0.537),
        (0.041, 0.006),
    ),
    ("alizadeh-2000-v2", "DBSCAN", "alone"): ((0.0, 0.0), (0.0, 0.0), (-1.0, 0.0)),
    ("alizadeh-2000-v2", "DBSCAN", "CoHiRF"): ((0.0, 0.0), (0.0, 0.0), (-1.0, 0.0)),
    ("alizadeh-2000-v2", "DBSCAN", "R-CoHiRF"): ((0.0, 0.0), (0.0, 0.0), (-1.0, 0.0)),
    ("alizadeh-2000-v2", "SC-SRGF", "alone"): ((0.891, 0.125), (12.338, 0.0), (0.194, 0.0)),
    ("alizadeh-2000-v2", "SC-SRGF", "CoHiRF, R=1"): ((0.947, 0.0), (12.338, 0.0), (0.194, 0.0)),
    ("alizadeh-2000-v2", "SC-SRGF", "CoHiRF, R=2"): ((0.947, 0.0), (12.338, 0.0), (0.194, 0.0)),
    ("garber-2001", "K-Means", "alone"): ((0.248, 0.044), (5.606, 1.264), (0.333, 0.0)),
    ("garber-2001", "K-Means", "CoHiRF"): ((0.292, 0.034), (5.993, 0.122), (0.329, 0.006)),
    ("garber-2001", "K-Means", "R-CoHiRF"): ((0.26, 0.053), (5.974, 0.132), (0.327, 0.006)),
    ("garber-2001", "kernel K-Means", "alone"): ((0.054, 0.021), (1.315, 0.099), (0.035, 0.024)),
    ("garber-2001", "kernel K-Means", "CoHiRF"): ((0.054, 0.015), (1.992, 0.527), (0.046, 0.067)),
    ("garber-2001", "kernel K-Means", "R-CoHiRF"): ((0.147, 0.056), (1.862, 0.546), (0.055, 0.018)),
    ("garber-2001", "DBSCAN", "alone"): ((0.0, 0.0), (0.0, 0.0), (-1.0, 0.0)),
    ("garber-2001", "DBSCAN", "CoHiRF"): ((0.0, 0.0), (0.0, 0.0), (-1.0, 0.0)),
    ("garber-2001", "DBSCAN", "R-CoHiRF"): ((0.0, 0.0), (0.0, 0.0), (-1.0, 0.0)),
    ("garber-2001", "SC-SRGF", "alone"): ((0.204, 0.035), (4.966, 0.066), (0.059, 0.003)),
    ("garber-2001", "SC-SRGF", "CoHiRF, R=1"): ((0.235, 0.013), (4.994, 0.03), (0.06, 0.002)),
    ("garber-2001", "SC-SRGF", "CoHiRF, R=2"): ((0.454, 0.034), (4.995, 0.055), (0.229, 0.097)),
    ("shuttle", "K-Means", "alone"): ((0.608, 0.0), (30845.871, 297.412), (0.96, 0.009)),
    ("shuttle", "K-Means", "CoHiRF"): ((0.579, 0.018), (19657.664, 1672.913), (0.947, 0.025)),
    ("shuttle", "K-Means", "R-CoHiRF"): ((0.646, 0.025), (20315.311, 180.882), (0.969, 0.005)),
    ("shuttle", "kernel K-Means", "alone"): ((0.25, 0.084), (11742.148, 2434.781), (0.39, 0.01)),
    ("shuttle", "kernel K-Means", "CoHiRF"): ((0.581, 0.114), (11265.563, 3001.593), (0.69, 0.241)),
    ("shuttle", "kernel K-Means", "R-CoHiRF"): (
        (0.553, 0.074),
        (13994.981, 2466.253),
        (0.856, 0.079),
    ),
    ("shuttle", "DBSCAN", "alone"): ((0.709, 0.013), (7504.082, 12.888), (0.948, 0.001)),
    ("shuttle", "DBSCAN", "CoHiRF"): ((0.704, 0.016), (5529.149, 9498.927), (0.923, 0.032)),
    ("shuttle", "DBSCAN", "R-CoHiRF"): ((0.696, 0.015), (1291.726, 583.649), (0.938, 0.032)),
    ("shuttle", "DBSCAN", "CoHiRF, 10 batches"): (
        (0.723, 0.053),
        (1352.078, 307.578),
        (0.851, 0.047),
    ),
    ("shuttle", "DBSCAN", "R-CoHiRF, 10 batches"): (
        (0.71, 0.055),
        (1191.66, 136.736),
        (0.916, 0.03),
    ),
    ("shuttle", "SC-SRGF", "CoHiRF, R=1, 100 batches"): (
        (0.456, 0.017),
        (7317.554, 686.449),
        (0.573, 0.003),
    ),
    ("coil-20", "K-Means", "alone"): ((0.664, 0.005), (288.095, 0.0), (0.225, 0.002)),
    ("coil-20", "K-Means", "CoHiRF"): ((0.335, 0.015), (288.091, 0.001), (0.176, 0.004)),
    ("coil-20", "K-Means", "R-CoHiRF"): ((0.244, 0.021), (288.092, 0.002), (0.181, 0.012)),
    ("coil-20", "kernel K-Means", "alone"): ((0.004, 0.003), (1.795, 0.427), (0.001, 0.0)),
    ("coil-20", "kernel K-Means", "CoHiRF"): ((0.018, 0.028), (2.606, 2.107), (0.004, 0.001)),
    ("coil-20", "kernel K-Means", "R-CoHiRF"): ((0.012, 0.015), (11.301, 13.254), (0.004, 0.001)),
    ("coil-20", "DBSCAN", "alone"): ((0.143, 0.0), (56.906, 0.0), (-0.005, 0.0)),
    ("coil-20", "DBSCAN", "CoHiRF"): ((0.725, 0.021), (52.067, 78.175), (0.18, 0.004)),
    ("coil-20", "DBSCAN", "R-CoHiRF"): ((0.721, 0.024), (109.584, 199.16), (0.19, 0.004)),
    ("coil-20", "SC-SRGF", "alone"): ((0.775, 0.005), (83.629, 1.49), (0.161, 0.0)),
    ("coil-20", "SC-SRGF", "CoHiRF, R=1"): ((0.164, 0.013), (73.762, 6.568), (0.121, 0.005)),
    ("coil-20", "SC-SRGF", "CoHiRF, R=2"): ((0.2, 0.014), (88.969, 4.455), (0.111, 0.028)),
    ("nursery", "K-Means", "alone"): (None, (1023.966, 0.0), None),
}


def published(data: str, base: str, variant: str, metric: str) -> Figure | None:
    """Return the paper's figure, or None if it has none.

    It is the same for both ranges of the number of clusters.
    """
    figures = RESULTS.get((data, base, variant.removesuffix(FEW_CLUSTERS)))
    return None if figures is None else figures[METRICS.index(metric)]


def best_published(data: str, base: str, metric: str) -> float | None:
    """Return the highest mean that the paper has for a base method, alone or in CoHiRF, or None if
    it has none.
    """
    figures = [published(*row, metric) for row in RESULTS if row[:2] == (data, base)]
    return max((figure[0] for figure in figures if figure is not None), default=None)
