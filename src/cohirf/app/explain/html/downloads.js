/* Files to keep: the cluster and its name for each row, and a table of the clusters. */

function saveFile(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

const asCell = (value) => (/[",\n\r]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
const harmless = (text) => (/^[=+\-@\t]/.test(text) ? `'${text}` : text); // spreadsheets run such cells as formulas
const csvLine = (cells) => cells.map(asCell).join(",");

function hasAllLabels() {
  let at = data.labels === null ? null : state.cut;
  while (at !== null && at !== data.labels.cut) at = data.cuts[at].finer;
  return at !== null;
}

async function rowNames() {
  if (!data.row_names?.names) return null;
  return (await (await inflate(data.row_names.names)).text()).split("\n");
}

async function saveLabels() {
  const all = hasAllLabels();
  const labels = all ? labelsAt(state.cut, data.labels.cut, await unpack(data.labels.labels)) : pointLabels;
  const names = await rowNames();
  const rowOf = (i) => (all ? i : points.row[i]);
  const called = new Map([...clusterOf].map(([label, cluster]) => [label, harmless(nameOf(cluster))])).set(-1, "noise");
  const lines = [csvLine([...(names ? [data.row_names.column] : []), "row", "cluster", "name"])];
  for (let i = 0; i < labels.length; i++) {
    const row = rowOf(i);
    const start = names ? `${asCell(names[row])},` : "";
    lines.push(`${start}${row},${numberOf(labels[i])},${asCell(called.get(labels[i]) ?? "")}`);
  }
  saveFile(`labels-${cutNow().n_clusters}-clusters.csv`, `${lines.join("\n")}\n`, "text/csv");
}

function saveClusters() {
  const told = (trait) => {
    const column = data.columns[trait.column];
    const feature = trait.level === null ? column.name : `${column.name} = ${trait.level}`;
    const value = (x) => (trait.level === null ? valueText(x, column) : percent(x));
    return `${feature} ${value(trait.inside)} (others ${value(trait.outside)})`;
  };
  const lines = clusters.map((cluster) => csvLine([
    numberOf(cluster.number), harmless(nameOf(cluster)), cluster.size, (cluster.size / data.figures.n_rows).toFixed(4),
    harmless(cluster.called), harmless(cluster.traits.map(told).join("; ")),
  ]));
  const head = csvLine(["cluster", "name", "rows", "share", "most typical", "features"]);
  saveFile(`clusters-${cutNow().n_clusters}.csv`, `${[head, ...lines].join("\n")}\n`, "text/csv");
}

function describeDownloads() {
  const nRows = data.figures.n_rows;
  const call = isFinal() ? "model.labels_ has" : `model.hierarchy_.cut(n_clusters=${cutNow().n_clusters}) returns`;
  const rows = hasAllLabels()
    ? `The labels are those of ${nRows === 1 ? "the" : "all"} ${plural(nRows, "row")}`
    : `The labels are those of the ${count(points.row.length)} rows on the map, because all ${count(nRows)} would make this page too large; in Python, ${call} all of them`;
  const named = data.row_names ? (data.row_names.names ? `, with ${data.row_names.column}` : `, without ${data.row_names.column}, which would make this page too large`) : "";
  find("download-note").textContent = `${rows}${named}. Names that you change are in both files, and in the address of this page.`;
}

find("save-labels").addEventListener("click", saveLabels);
find("save-clusters").addEventListener("click", saveClusters);

onCut.push(describeDownloads);
