"""
Topics of texts
===============

The texts are the documentation of nearly three thousand functions and classes of NumPy, SciPy and
scikit-learn. Each text is a row of word frequencies (TF-IDF) in a sparse matrix. CoHiRF clusters it
as it is, and finds topics: distributions, tests, polynomials, special functions, linear algebra,
Fourier transforms. One tree has topics on several levels.
"""

import importlib
import inspect
import pkgutil
import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from cohirf import CoHiRF
from cohirf.app.explain import name_topics, write_report
from cohirf.app.plotting.canvas import cluster_colours
from cohirf.curate import near_duplicates

# %%
# The texts
# ---------
#
# Docstrings of public functions and classes, with at least 500 characters.


def read_docstrings(*packages):
    """Return the docstrings of packages, and the names of what they describe."""
    found = {}
    for package in packages:
        module = importlib.import_module(package)
        for name in [
            package,
            *(f"{package}.{part.name}" for part in pkgutil.iter_modules(module.__path__)),
        ]:
            if any(
                part.startswith("_") or part in ("tests", "conftest") for part in name.split(".")
            ):
                continue
            with warnings.catch_warnings(action="ignore"):  # of modules that are deprecated
                members = inspect.getmembers(importlib.import_module(name))
            for member, value in members:
                text = getattr(value, "__doc__", None)
                if (
                    not member.startswith("_")
                    and callable(value)
                    and isinstance(text, str)
                    and len(text) >= 500
                ):
                    found.setdefault(text, f"{name}.{member}")
    return list(found), list(found.values())


texts, names = read_docstrings(
    "numpy", "numpy.polynomial", "scipy", "scipy.sparse", "sklearn", "scipy.stats"
)
vectorizer = TfidfVectorizer(
    max_df=0.3, min_df=10, token_pattern=r"[A-Za-z]{3,}", stop_words="english", sublinear_tf=True
)
X = vectorizer.fit_transform(texts)
print(
    f"{X.shape[0]:,} texts, {X.shape[1]:,} words, {X.nnz / np.prod(X.shape):.1%} of the cells are "
    "not zero"
)

# %%
# Fit
# ---

model = CoHiRF(n_clusters=12, random_state=0).fit(X)
words = vectorizer.get_feature_names_out()
means = np.vstack(
    [np.asarray(X[model.labels_ == cluster].mean(axis=0)).ravel() for cluster in range(12)]
)
apart = means - means.mean(axis=0)
sizes = np.bincount(model.labels_)
for cluster in np.argsort(-sizes):
    print(
        f"{sizes[cluster]:4} {names[model.exemplar_indices_[cluster]]:40.40}",
        *words[np.argsort(-apart[cluster])[:5]],
    )

# %%
# The words of each topic
# -----------------------
#
# The four words that set each topic apart most; the darker, the more frequent. A text of one topic
# rarely has the words of another.

order = np.argsort(-sizes)
top = list(dict.fromkeys(word for cluster in order for word in np.argsort(-apart[cluster])[:4]))
figure, ax = plt.subplots(figsize=(11, 5), layout="constrained")
ax.imshow(np.sqrt(means[order][:, top] / means[:, top].max(axis=0)), cmap="Blues", aspect="auto")
ax.set_xticks(range(len(top)), words[top], rotation=90)
ax.set_yticks(
    range(12),
    [f"{names[model.exemplar_indices_[cluster]]} ({sizes[cluster]})" for cluster in order],
)
for tick, cluster in zip(ax.get_yticklabels(), order, strict=True):
    tick.set_color(cluster_colours([cluster])[0] * 0.8)
ax.set_title("topics, named by their most central text, and their words")
plt.show()

# %%
# Two levels, and a page
# ----------------------
#
# Words that mean nearly the same are nearly the same direction in 64 dimensions. ``name_topics``
# gives the topics of several levels names and typical texts; here, the texts are the names of
# functions and the first words of their docstrings. Compact merges keep coarse topics of similar
# sizes. The report is one file: a map, the tree with
# words and texts, and search.

vectors = TruncatedSVD(64, random_state=0).fit_transform(X)
model = CoHiRF(n_clusters=24, metric="cosine", merge="compact", random_state=0).fit(vectors)
lines = [f"{name}: {' '.join(text.split())[:100]}" for name, text in zip(names, texts, strict=True)]
topics = name_topics(model, vectors, lines, levels=[24, 6])
print(topics)
with tempfile.TemporaryDirectory() as folder:
    page = write_report(
        model, vectors, Path(folder) / "topics.html", texts=topics, title="Functions"
    )
    print(f"{page.name}: {page.stat().st_size / 1e3:.0f} kB")

# %%
# A smaller set
# -------------
#
# Pairs of functions whose documentation is nearly the same, by the cosine of their words, and a
# sample that is spread evenly over the tree.

found = near_duplicates(vectors, 0.98)
print(found)
for first, second in found.pairs[:3]:
    print(names[first], "|", names[second])
chosen = model.hierarchy_.sample(48, among=found.kept)
print(f"48 texts are of {len(np.unique(model.labels_[chosen]))} of 24 topics")
