"""
Questions on three levels
=========================

clinc150 has questions that people ask an assistant: 150 intents, such as "flight_status", in ten
domains. Their vectors are clustered by cosine; one tree gives topics on three levels, and words
that set each topic apart name it.

This example reads ``clinc150.parquet`` in the folder that ``COHIRF_DATA`` names.
"""

import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.app.explain import name_topics, write_report
from cohirf.curate import near_duplicates

# %%
# Vectors
# -------
#
# Any embedding of texts will do. Here it is the plainest one that needs no download: word
# frequencies, reduced to 64 dimensions.

data = pd.read_parquet(Path(os.environ.get("COHIRF_DATA", "../shared/data")) / "clinc150.parquet")
data = data[data["part"] == "test"].reset_index(drop=True)
frequencies = TfidfVectorizer(sublinear_tf=True).fit_transform(data["text"])
X = TruncatedSVD(64, random_state=0).fit_transform(frequencies).astype(np.float32)
print(f"{X.shape[0]:,} questions, {X.shape[1]} dimensions")

# %%
# Topics
# ------
#
# ``hierarchy_.levels`` returns nested labels, and ``name_topics`` the words and typical texts of
# each topic. Compact merges keep the coarse topics of similar sizes; those along the neighbour
# graph would leave one of 4,034 questions.

model = CoHiRF(n_clusters=60, metric="cosine", merge="compact", random_state=0).fit(X)
topics = name_topics(model, X, data["text"], levels=[60, 20, 6])
print(topics)

# %%
# One of them, with typical texts:

largest = max(topics.topics[2], key=lambda topic: topic.size)
print(largest.name, largest.size, round(largest.stability, 2), *largest.texts, sep="\n")

# %%
# Domains and topics
# ------------------
#
# The six topics of the coarsest level, and how many questions of each domain they have.

table = pd.crosstab(data["domain"], topics.labels[:, 0])
fig, ax = plt.subplots(figsize=(9, 5))
ax.imshow(table, cmap="Blues", aspect="auto")
ax.set_xticks(range(6), [topic.name.replace(", ", "\n") for topic in topics.topics[0]])
ax.set_yticks(range(len(table)), table.index)
score = adjusted_rand_score(data["intent"], model.labels_)
ax.set_title(f"Six topics of 4,500 questions (60 topics against 150 intents: ARI {score:.2f})")
for (row, column), count in np.ndenumerate(table.to_numpy()):
    ax.text(
        column,
        row,
        count,
        ha="center",
        va="center",
        color="white" if count > 200 else "black",
        fontsize=8,
    )
fig.tight_layout()
plt.show()

# %%
# A page to read: a map of topics, the tree with words and typical texts, and search, in one file.

page = write_report(
    model, X, Path(tempfile.mkdtemp()) / "topics.html", texts=topics, title="Questions"
)
print(f"{page.name}: {page.stat().st_size / 1e3:.0f} kB")

# %%
# A smaller set
# -------------
#
# Near duplicates by cosine, and a sample that is spread evenly over the tree.

found = near_duplicates(X, 0.98)
print(found)
for (first, second), cosine in zip(found.pairs[:3], found.similarity, strict=False):
    print(f"{cosine:.3f}", data["text"][first], "|", data["text"][second])
chosen = model.hierarchy_.sample(150, among=found.kept)
print(f"150 questions have {data['intent'][chosen].nunique()} of 150 intents")
