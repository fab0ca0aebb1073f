"""Similarity network fusion as in Wang et al. (2014), dense, in float64 and slowly: what kernels are compared with."""

import numpy as np
from scipy.spatial.distance import cdist


def literal_similarity(view, n_neighbors, scale=0.5):
    n = len(view)
    distance = cdist(view, view)
    nearest = [[j for j in np.argsort(distance[i], kind="stable") if j != i][:n_neighbors] for i in range(n)]
    local = [np.mean(distance[i, nearest[i]]) for i in range(n)]
    similarity = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            width = scale * (local[i] + local[j] + distance[i, j]) / 3
            similarity[i, j] = np.exp(-(distance[i, j] ** 2) / (2 * width**2)) if distance[i, j] > 0 else 1
    return similarity, nearest


def literal_status(similarity):
    n = len(similarity)
    status = np.empty((n, n))
    for i in range(n):
        others = sum(similarity[i, k] for k in range(n) if k != i)
        for j in range(n):
            status[i, j] = 1 / 2 if i == j else similarity[i, j] / (2 * others)
    return status


def literal_neighbors(similarity, nearest):
    kernel = np.zeros_like(similarity)
    for i, neighbors in enumerate(nearest):
        for j in neighbors:
            kernel[i, j] = similarity[i, j] / sum(similarity[i, k] for k in neighbors)
    return kernel


def literal_fusion(status, kernels, n_iter):
    m = len(status)
    for _ in range(n_iter):
        others = [sum(status[k] for k in range(m) if k != v) / (m - 1) if m > 1 else status[0] for v in range(m)]
        status = [literal_status(kernels[v] @ others[v] @ kernels[v].T) for v in range(m)]
    mean = sum(status) / m
    return (mean + mean.T) / 2
