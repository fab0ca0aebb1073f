/* Small charts of the levels of the fit. */

function drawLevels() {
  const records = data.contraction;
  const rows = [records[0].rows_in, ...records.map((record) => record.rows_out)];
  drawBars("rows-chart", rows, (n) => count(n), Math.log10(Math.max(...rows) + 1), (n) => Math.log10(n + 1));
  const agreement = records.map((record) => record.agreement);
  find("agreement-part").hidden = agreement.every((value) => value === null);
  drawBars("agreement-chart", [null, ...agreement], decimal, 1, (value) => Math.max(0, value));
}

function drawBars(id, values, told, highest, scale) {
  find(id).replaceChildren(...values.map((value, level) => {
    if (value === null) return null;
    const bar = element("i", {});
    bar.style.width = `${Math.max(0.5, (100 * scale(value)) / highest)}%`;
    return element("li", {}, element("span", {}, level ? `level ${level}` : "rows"), element("span", { class: "bar" }, bar), element("b", {}, told(value)));
  }).filter(Boolean));
}
