/* Rows to look at: the least typical ones, and those between two clusters; always of the clusters of the fit. */

function tellingValues(values) {
  return element("ul", {}, ...values.map(([place, value, ...typical]) => {
    const column = data.columns[place];
    const isShare = column.levels !== null;
    const usual = typical.map((one) => (isShare && one !== null ? percent(one) : valueText(one, column)));
    const told = isShare ? `in ${usual.join(" and ")} of the cluster${usual.length > 1 ? "s" : ""}` : `cluster${usual.length > 1 ? "s" : ""}: ${usual.join(" and ")}`;
    return element("li", {}, element("bdi", {}, column.name), " ", element("b", {}, valueText(value, column, 4)), ` (${told})`);
  }));
}

function showOddRows() {
  if (!find("odd")) return;
  const { loose, border, n_compared: nCompared } = data.odd;
  const line = (row, ...cells) => element("tr", {}, element("th", { scope: "row" }, element("bdi", {}, row.called)), ...cells);
  const why = (row) => (row.image ? element("img", { src: row.image, alt: row.called }) : tellingValues(row.values));
  const cell = (...content) => element("td", {}, ...content);
  find("loose").replaceChildren(...loose.map((row) => line(row, cell(clusterOfFit(row.cluster)), cell(why(row)))));
  find("border").replaceChildren(...border.map((row) => line(row, cell(clusterOfFit(row.cluster), clusterOfFit(row.other)), cell(why(row)))));
  find("loose-part").hidden = !loose.length;
  find("border-part").hidden = !border.length;
  const part = nCompared < data.figures.n_rows ? `Looked for among ${count(nCompared)} rows. ` : "";
  find("odd-note").textContent = `${part}${isFinal() ? "" : `These are rows of the ${plural(data.cuts[data.final].n_clusters, "cluster")} of the fit.`}`;
}

onCut.push(showOddRows);
