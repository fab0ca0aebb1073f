/* Clusters by features: means in the units of the data, coloured by how far they are from the mean of all rows. */

const UNKNOWN = -2147483648;
const MAX_LINES = 60;
const FULL = 2; // standard deviations from the mean that have the strongest colour
const heat = data.compare && { ...data.compare, values: await unpack(data.compare.values) };

function showHeatmap() {
  if (!heat) return;
  find("compare").hidden = clusters.length < 2;
  if (find("compare").hidden) return;
  const nFeatures = heat.features.length;
  const away = (cluster, feature) => {
    const value = heat.values[cluster.place * nFeatures + feature];
    return value === UNKNOWN ? null : value / 10000;
  };
  const order = treeOrder();
  const lines = chosenClusters().sort((a, b) => order.get(a.number) - order.get(b.number)).slice(0, MAX_LINES);
  const peak = (feature) => { // the line where a feature is highest; features are sorted by it
    const values = lines.map((cluster) => away(cluster, feature) ?? -Infinity);
    return values.indexOf(Math.max(...values));
  };
  const features = [...heat.features.keys()].sort((a, b) => peak(a) - peak(b));
  const heading = (feature) => {
    const { name, level } = heat.features[feature];
    const text = level === null ? name : `${name} = ${level}`;
    return element("th", { scope: "col", title: text }, element("span", {}, element("bdi", {}, breakable(text))));
  };
  const head = element("tr", {}, element("td", {}), ...features.map(heading));
  const body = lines.map((cluster) => {
    const name = element("th", { scope: "row" }, badge(cluster.colour, numberOf(cluster.number)), element("span", {}, nameOf(cluster)));
    return element("tr", {}, name, ...features.map((feature) => heatCell(heat.features[feature], away(cluster, feature))));
  });
  const all = element("tr", { class: "all" }, element("th", { scope: "row" }, element("span", {}, "all rows")),
    ...features.map((feature) => heatCell(heat.features[feature], 0)));
  find("heatmap").replaceChildren(element("thead", {}, head), element("tbody", {}, ...body, all));
  const left = chosenClusters().length - lines.length;
  find("heatmap-note").textContent = left > 0 ? `${count(lines.length)} clusters are shown; search or select to see the other ${count(left)}.` : "";
}

function treeOrder() { // clusters that are near each other in the tree are near each other here
  const order = new Map(clusters.map((cluster, i) => [cluster.number, 1000 + i]));
  if (tree) tree.leaves.forEach((one, line) => order.set(one.label, line));
  return order;
}

function heatCell(feature, away) {
  if (away === null) return element("td", {}, "\u2013");
  const value = feature.mean + away * feature.deviation;
  const text = feature.kind === "level" ? percent(Math.max(0, Math.min(1, value))) : valueText(value, feature);
  const cell = element("td", {}, text);
  const strength = Math.min(1, Math.abs(away) / FULL);
  cell.style.setProperty("--strength", `${Math.round(72 * strength)}%`);
  cell.className = away < 0 ? "low" : "high";
  return cell;
}

onCut.push(showHeatmap);
onName.push(showHeatmap);
