/* Clusters of the fit in sections that do not follow the cut, with the names that the reader gave. */

const placeOfLabel = new Map(data.cuts[data.final].labels.map((label, i) => [label, i]));

function nameInFit(label) {
  const place = placeOfLabel.get(label);
  const cut = data.cuts[data.final];
  return place === undefined ? `cluster ${numberAt(data.final, label)}` : state.names.get(cut.clusters[place]) ?? cut.names[place];
}

function clusterOfFit(label) {
  const number = badge(colours[data.final][label], numberAt(data.final, label));
  return element("span", { class: "cluster", "data-cluster": label }, number, element("span", {}, nameInFit(label)));
}

function showNames() { // wherever a section names a cluster of the fit
  for (const shown of document.querySelectorAll("[data-cluster]")) {
    shown.lastElementChild.textContent = nameInFit(Number(shown.dataset.cluster));
  }
}

onCut.push(showNames);
onName.push(showNames);
