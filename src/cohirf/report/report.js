"use strict";

/* The interactive parts of a report: hierarchy, cuts with their scatter plot, table and download, and the theme.
 * Text is added to the page as text nodes only, and to charts with chartText, because plotly interprets some HTML. */

(async () => {
  const find = (id) => document.getElementById(id);
  const root = document.documentElement;
  const data = JSON.parse(find("report-data").textContent);
  const nColours = data.palette.light.length - 1; // the last colour is that of noise
  const state = { cut: data.final, alone: null, node: -1, printing: false };
  const count = (n) => n.toLocaleString("en-US");
  const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
  const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;
  const decimal = (x) => x.toFixed(2).replace("-", "\u2212");
  const significant = (x) => (Math.abs(x) >= 1000 && Math.abs(x) < 1e7
    ? Math.round(x).toLocaleString("en-US") : String(Number(x.toPrecision(3)))).replace("-", "\u2212");
  const signed = (x) => (x < 0 ? "\u2212" : "+") + Math.abs(x).toFixed(1);
  const chartText = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }
  const swatch = (colour) => element("span", { class: `swatch ${colourClass(colour)}`, "aria-hidden": "true" });
  const colourClass = (colour) => (colour < 0 ? "c-noise" : `c-${colour % nColours}`);

  // ---- theme

  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => root.dataset.theme === "dark";
  const colourOf = (colour) => data.palette[isDark() ? "dark" : "light"][colour < 0 ? nColours : colour % nColours];
  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  function setTheme(dark) {
    root.dataset.theme = dark ? "dark" : "light";
    find("theme").setAttribute("aria-pressed", String(dark));
  }
  setTheme(prefersDark.matches);
  prefersDark.addEventListener("change", (event) => { setTheme(event.matches); drawAll(); });
  find("theme").addEventListener("click", () => { setTheme(!isDark()); drawAll(); });

  // ---- packed arrays and the chart library

  async function inflate(text) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
  }

  const ARRAYS = { Int8Array, Int16Array, Int32Array, Uint8Array, Uint16Array, Uint32Array, Float32Array };

  async function unpack(packed) {
    const planes = new Uint8Array(await (await inflate(packed.data)).arrayBuffer());
    const Numbers = ARRAYS[`${packed.type}Array`];
    const width = Numbers.BYTES_PER_ELEMENT;
    const n = planes.length / width;
    const bytes = new Uint8Array(planes.length);
    for (let plane = 0; plane < width; plane++) {
      for (let i = 0; i < n; i++) bytes[i * width + plane] = planes[plane * n + i];
    }
    return new Numbers(bytes.buffer);
  }

  async function loadCharts() {
    const library = document.createElement("script");
    library.textContent = await (await inflate(find("chart-library").textContent)).text();
    document.head.append(library);
  }

  // ---- charts

  const narrow = () => find("main").clientWidth < 600;
  const config = { displayModeBar: false, responsive: true, showTips: false };
  const draw = (id, traces, about) => globalThis.Plotly?.react(id, traces, about, config); // does nothing before plotly is loaded

  const PRINTED = { "merge-chart": 680, "tree-chart": 680, scatter: 560, "rows-chart": 320, "agreement-chart": 320, "silhouette-chart": 320, "heights-chart": 320 }; // pixels on A4
  const widthOf = (id) => (state.printing ? PRINTED[id] : find(id).clientWidth);

  function layout(id, more) {
    return {
      ...(state.printing ? { width: widthOf(id) } : { autosize: true }),
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
      font: { family: style("--sans"), size: 12, color: style("--ink") },
      hoverlabel: {
        bgcolor: style("--panel"), bordercolor: style("--strong-line"), font: { color: style("--ink") }, align: "left",
      },
      margin: { t: 10, r: 10, b: 44, l: 52 },
      ...more,
    };
  }
  const axis = (title, more) => ({
    title: { text: title, font: { size: 12, color: style("--soft") }, standoff: 8 },
    gridcolor: style("--line"), zeroline: false, linecolor: style("--strong-line"),
    tickfont: { color: style("--soft"), size: 11 }, ...more,
  });

  // ---- merges: a dendrogram; the leaves are the first nodes, and cluster -2 is above the clusters of the cut

  const MIXED = -2;

  function clustersOfNodes(merges, cut) {
    const cluster = [...merges.labels[cut]];
    merges.parent.forEach((parent, node) => { // parts come before the whole
      if (parent < 0) return;
      cluster[parent] = cluster[parent] === undefined || cluster[parent] === cluster[node] ? cluster[node] : MIXED;
    });
    return cluster;
  }

  function drawMerges() {
    const merges = data.merges;
    if (!merges) return;
    const shown = merges.labels[state.cut] === null ? data.final : state.cut; // of very fine cuts, the final one
    const clusters = merges.labels[shown] === null ? merges.parent.map(() => MIXED) : clustersOfNodes(merges, shown);
    const height = merges.cuts[shown];
    const isLeaf = (node) => node < merges.n_leaves;
    const strokeOf = (cluster) => (cluster === MIXED ? style("--soft") : colourOf(colourAt(shown, cluster)));
    const lines = new Map(); // from a cluster to the ends of its lines, separated by null
    const add = (cluster, ...ends) => {
      if (!lines.has(cluster)) lines.set(cluster, { x: [], y: [] });
      for (const [x, y] of [...ends, [null, null]]) { lines.get(cluster).x.push(x); lines.get(cluster).y.push(y); }
    };
    merges.parent.forEach((parent, node) => {
      const { x, height: heights } = merges;
      const above = parent < 0 ? MIXED : clusters[parent];
      const cluster = clusters[node];
      const end = parent < 0 ? merges.top : heights[parent];
      if (cluster === above || height === null) add(cluster, [x[node], heights[node]], [x[node], end]);
      else { // coloured up to the cut
        add(cluster, [x[node], heights[node]], [x[node], height]);
        add(MIXED, [x[node], height], [x[node], end]);
      }
      const bar = node - merges.n_leaves;
      if (bar >= 0) add(cluster, [merges.start[bar], heights[node]], [merges.end[bar], heights[node]]);
    });
    const traces = [...lines].map(([cluster, ends]) => ({
      type: "scatter", mode: "lines", ...ends, hoverinfo: "skip", line: { color: strokeOf(cluster), width: 1.6 },
    }));
    const nodes = [...merges.parent.keys()];
    const largest = Math.log(1 + Math.max(...merges.size.slice(0, merges.n_leaves)));
    const room = (0.9 * widthOf("merge-chart")) / (merges.x[merges.n_leaves - 1] + 1);
    const area = (node) => (isLeaf(node) ? 2 + (Math.min(14, room) * Math.log(1 + merges.size[node])) / largest : 4);
    const about = (node) => {
      const known = clusters[node];
      const inside = known === MIXED ? "rows of several clusters" : known < 0 ? "noise" : `cluster ${known}`;
      const made = isLeaf(node) ? `medoid: row ${merges.medoid[node]}` : `merged at height ${merges.height[node]}`;
      return [`<b>${inside}</b>`, plural(merges.size[node], "row"), made].join("<br>");
    };
    traces.push({
      type: "scatter", mode: "markers", x: merges.x, y: merges.height, customdata: nodes.map(about),
      hovertemplate: "%{customdata}<extra></extra>",
      marker: {
        color: nodes.map((node) => strokeOf(clusters[node])), size: nodes.map(area), opacity: 1, line: { width: 0 },
      },
    });
    const tops = nodes.filter((node) => {
      const parent = merges.parent[node];
      return clusters[node] >= 0 && (parent < 0 || clusters[parent] !== clusters[node]);
    });
    const numbers = tops.map((node) => ({
      x: merges.x[node], y: height ?? merges.height[node], text: `<b>${clusters[node]}</b>`, showarrow: false,
      bgcolor: style("--paper"), borderpad: 1, font: { size: 11, color: strokeOf(clusters[node]) },
    }));
    const cut = {
      type: "line", xref: "paper", x0: 0, x1: 1, y0: height, y1: height, layer: "below",
      line: { color: style("--ink"), width: 1, dash: "dash" },
    };
    const which = shown === data.final ? "the final clusters" : plural(data.cuts[shown].n_clusters, "cluster");
    find("merge-note").textContent = height === null ? "" : `The dashed line is the cut into ${which}.`;
    draw("merge-chart", traces, layout("merge-chart", {
      height: narrow() ? 320 : 400, hovermode: "closest", dragmode: false, margin: { t: 10, r: 10, b: 14, l: 52 },
      xaxis: { visible: false, fixedrange: true, range: [-0.8, merges.x[merges.n_leaves - 1] + 0.8] },
      yaxis: axis("height of the merge", { fixedrange: true, range: [-0.04 * merges.top, Math.max(merges.top, 1.05 * height)] }),
      shapes: height === null ? [] : [cut], annotations: tops.length * 14 < widthOf("merge-chart") ? numbers : [],
    }));
  }

  // ---- choice of the number of clusters

  function drawChoice() {
    const choice = data.choice;
    if (!choice) return;
    const colours = choice.candidates.map((n) => (n === choice.n_clusters ? colourOf(0) : style("--soft")));
    const xaxis = axis("number of clusters", { fixedrange: true });
    const margin = { t: 16, r: 16, b: 44, l: 52 };
    const common = { xaxis, margin, hovermode: "closest", dragmode: false, yaxis: axis("", { fixedrange: true }) };
    const silhouettes = {
      type: "scatter", mode: "lines+markers", x: choice.candidates, y: choice.silhouettes,
      line: { color: style("--soft"), width: 1.5 },
      marker: { color: colours, opacity: 1, size: choice.candidates.map((n) => (n === choice.n_clusters ? 12 : 6)) },
      hovertemplate: "%{x} clusters<br>silhouette %{y:.2f}<extra></extra>",
    };
    const heights = {
      type: "bar", x: choice.candidates, y: choice.heights, marker: { color: colours },
      hovertemplate: "%{x} clusters<br>next merge at height %{y:.4~g}<extra></extra>",
    };
    draw("silhouette-chart", [silhouettes], layout("silhouette-chart", common));
    draw("heights-chart", [heights], layout("heights-chart", common));
  }

  // ---- hierarchy: nodes are numbered, and -1 is all rows

  const tree = data.tree;
  const partsOf = new Map([[-1, []]]);
  tree.parent.forEach((parent, node) => {
    if (!partsOf.has(parent)) partsOf.set(parent, []);
    partsOf.get(parent).push(node);
  });
  const nodeName = (node) => {
    if (node < 0) return `all ${plural(data.figures.n_rows, "row")}`;
    if (tree.medoid[node] === null) return "noise";
    return tree.parent[node] >= 0 ? `row ${tree.medoid[node]}` : `cluster ${tree.cluster[node]}`;
  };
  const nodeSize = (node) => (node < 0 ? data.figures.n_rows : tree.size[node]);
  const nodeId = (node) => (node < 0 ? "all" : String(node));

  function aboutNode(node) {
    const share = percent(nodeSize(node) / data.figures.n_rows);
    const size = `${plural(nodeSize(node), "row")} (${share})`;
    if (tree.medoid[node] === null) return [size, "in no cluster"];
    const known = tree.class === null ? "" : ` (${tree.class[node]})`;
    const made = tree.level[node] === 0 ? "a single row" : `formed at level ${tree.level[node]}`;
    return [size, `medoid: row ${tree.medoid[node]}${known}`, made];
  }

  function mix(colour, paper, share) {
    const parts = (code) => [1, 3, 5].map((i) => parseInt(code.slice(i, i + 2), 16));
    const [a, b] = [parts(colour), parts(paper)];
    const mixed = a.map((value, i) => Math.round(value * (1 - share) + b[i] * share));
    return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
  }

  function drawTree() {
    const nodes = [-1, ...tree.parent.keys()];
    const paper = style("--paper");
    const shade = (node) => mix(colourOf(tree.cluster[node]), paper, Math.min(0.14 * tree.depth[node], 0.6));
    const colours = nodes.map((node) => (node < 0 ? style("--panel") : shade(node)));
    const trace = {
      type: "icicle", branchvalues: "total", sort: false, level: nodeId(state.node),
      ids: nodes.map(nodeId),
      parents: nodes.map((node) => (node < 0 ? "" : nodeId(tree.parent[node]))),
      labels: nodes.map(nodeName),
      values: nodes.map(nodeSize),
      customdata: nodes.map((node) => (node < 0 ? "" : aboutNode(node).map(chartText).join("<br>"))),
      hovertemplate: "<b>%{label}</b><br>%{customdata}<extra></extra>",
      texttemplate: nodes.map((node) => (node < 0 ? "%{label}" : "%{label}<br>%{value:,}")),
      textposition: "middle center", insidetextfont: { color: colours.map(inkOn) },
      marker: { colors: colours, line: { color: paper, width: nodes.length > 100 ? 0.6 : 1.5 } },
      leaf: { opacity: 1 }, maxdepth: narrow() ? 3 : 5, tiling: { orientation: "h", pad: 0 },
      pathbar: { visible: false },
    };
    const margin = { t: 0, r: 0, b: 0, l: 0 };
    draw("tree-chart", [trace], layout("tree-chart", { margin, uniformtext: { minsize: 10, mode: "hide" } }));
  }

  const MAX_PARTS = 24;

  function listParts() {
    const path = [];
    for (let node = state.node; node >= 0; node = tree.parent[node]) path.unshift(node);
    const go = (node, ...content) => {
      const button = element("button", { type: "button" }, ...content);
      button.addEventListener("click", () => descend(node));
      return button;
    };
    find("tree-path").replaceChildren(...[-1, ...path].map((node) => {
      const button = go(node, nodeName(node));
      if (node === state.node) button.setAttribute("aria-current", "true");
      return element("li", {}, button);
    }));
    const parts = [...(partsOf.get(state.node) ?? [])].sort((a, b) => tree.size[b] - tree.size[a]);
    const more = parts.length - MAX_PARTS;
    const ofCluster = parts.length ? "Formed from:" : "The clusters that fused into it are not shown.";
    const made = state.node < 0 ? "Final clusters:" : ofCluster;
    const about = state.node < 0 ? "" : `${aboutNode(state.node).join(" \u00b7 ")}. `;
    const which = more > 0 ? ` the ${MAX_PARTS} largest of the ${count(parts.length)} shown.` : "";
    find("tree-about").textContent = about + made + which;
    find("tree-parts").replaceChildren(...parts.slice(0, MAX_PARTS).map((node) => {
      const button = go(node, swatch(tree.cluster[node]), nodeName(node), element("small", {}, count(tree.size[node])));
      return element("li", {}, button);
    }));
  }

  function descend(node) {
    state.node = node;
    listParts();
    if (document.activeElement === document.body) { // the button that had the focus was removed
      find("tree-path").querySelector("[aria-current]").focus({ preventScroll: true });
    }
    drawTree();
  }

  // ---- cuts: each is made from a finer one by the label of each of its clusters; points have the labels of the finest

  const placeOf = new Map(); // from the row number of an exemplar to its position in points.exemplar_x
  let points; // columns of the plotted rows
  let parts; // of each cut: the label of each cluster of the finer cut
  let colours; // of each cut: the colour of each label

  async function unpackPoints() {
    const packed = data.points;
    const names = ["x", "y", "row", "label", "exemplar", "exemplar_x", "exemplar_y"];
    const columns = await Promise.all(names.map((name) => unpack(packed[name])));
    parts = await Promise.all(data.cuts.map((cut) => cut.parts && unpack(cut.parts)));
    colours = await Promise.all(data.cuts.map((cut) => unpack(cut.colour)));
    points = Object.fromEntries(names.map((name, i) => [name, columns[i]]));
    points.axes = packed.axes.map((name) => chartText(name.length > 45 ? `${name.slice(0, 44)}\u2026` : name));
    points.names = packed.class && packed.class.names.map(chartText);
    points.class = packed.class && (await unpack(packed.class.number));
    points.exemplar.forEach((row, place) => placeOf.set(row, place));
  }

  const colourAt = (cut, label) => (label < 0 ? -1 : colours[cut][label]);
  const isFinal = () => state.cut === data.final;

  function labelsAt(cut, base, labels) { // labels of rows at a cut, given those at a finer one
    const steps = [];
    for (let at = cut; at !== base; at = data.cuts[at].finer) steps.unshift(parts[at]);
    if (!steps.length) return labels;
    const then = (table, step) => table.map((label) => (label < 0 ? -1 : step[label]));
    const table = steps.slice(1).reduce(then, Int32Array.from(steps[0]));
    return Int32Array.from(labels, (label) => (label < 0 ? -1 : table[label]));
  }
  const atCut = () => labelsAt(state.cut, data.cuts.length - 1, points.label);
  const listed = () => { // the largest clusters of the cut, with their numbers
    const cut = data.cuts[state.cut];
    return cut.clusters.map((place, i) => ({ number: cut.numbers[i], ...data.clusters[place] }));
  };

  const onPaper = { xref: "paper", yref: "paper", showarrow: false };
  const corner = { ...onPaper, x: 0, y: 1, xanchor: "left", yanchor: "bottom", xshift: -32 };

  function drawScatter() {
    const labels = atCut();
    const shown = (label) => state.alone === null || label === state.alone;
    const rank = (label) => 2 * shown(label) + (label >= 0); // points with a lower rank are drawn first, below the others
    const order = [...labels.keys()].sort((a, b) => rank(labels[a]) - rank(labels[b]));
    const pick = (values) => order.map((i) => values[i]);
    const size = Math.max(3.5, Math.min(8, 260 / Math.sqrt(order.length)));
    const rows = {
      type: "scatter", mode: "markers", x: pick(points.x), y: pick(points.y),
      marker: {
        color: order.map((i) => (shown(labels[i]) ? colourOf(colourAt(state.cut, labels[i])) : style("--fade"))),
        size, opacity: 0.8, line: { width: 0 },
      },
      customdata: order.map((i) => [
        labels[i] < 0 ? "noise" : `cluster ${labels[i]}`,
        points.class ? `<br>${points.names[points.class[i]]}` : "",
        points.row[i],
      ]),
      hovertemplate: "<b>%{customdata[0]}</b><br>row %{customdata[2]}%{customdata[1]}<extra></extra>",
    };
    const drawn = listed().filter((cluster) => shown(cluster.number));
    const numbered = drawn.length <= 30;
    const discs = {
      type: "scatter", mode: numbered ? "markers+text" : "markers",
      x: drawn.map((cluster) => points.exemplar_x[placeOf.get(cluster.exemplar)]),
      y: drawn.map((cluster) => points.exemplar_y[placeOf.get(cluster.exemplar)]),
      text: drawn.map((cluster) => String(cluster.number)),
      textfont: { size: 11, color: drawn.map((cluster) => inkOn(colourOf(cluster.colour))) },
      marker: {
        color: drawn.map((cluster) => colourOf(cluster.colour)), size: numbered ? 20 : 9, opacity: 1,
        line: { width: 1.5, color: style("--ink") },
      },
      customdata: drawn.map((cluster) => [cluster.number, cluster.exemplar, cluster.size]),
      hovertemplate:
        "<b>cluster %{customdata[0]}</b><br>exemplar: row %{customdata[1]}<br>%{customdata[2]:,} rows<extra></extra>",
    };
    const about = layout("scatter", {
      height: scatterHeight(),
      xaxis: axis(`${points.axes[0]} \u2192`),
      yaxis: axis("", data.points.same_unit ? { scaleanchor: "x" } : {}),
      annotations: [{ text: `\u2191 ${points.axes[1]}`, ...corner, font: { size: 12, color: style("--soft") } }],
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", // a finger scrolls the page
      hovermode: "closest", margin: { t: 28, r: 8, b: 44, l: 40 },
    });
    draw("scatter", [rows, discs], about);
  }

  function scatterHeight() {
    const spread = (values) => values.reduce((a, b) => Math.max(a, b)) - values.reduce((a, b) => Math.min(a, b));
    const shape = data.points.same_unit ? spread(points.y) / spread(points.x) || 1 : 0.8;
    return Math.round(widthOf("scatter") * Math.max(0.6, Math.min(1, shape)));
  }

  function inkOn(colour) {
    const [red, green, blue] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
    return 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 ? "#000" : "#fff";
  }

  function describeCut() {
    const cut = data.cuts[state.cut];
    const clusters = plural(cut.n_clusters, "cluster");
    const scores = isFinal() ? ["final"] : [];
    if (cut.levels.length) scores.push(`level ${cut.levels[0]} of ${data.figures.n_levels}`);
    if (cut.n_noise) scores.push(`${plural(cut.n_noise, "row")} of noise`);
    if (cut.silhouette !== null) scores.push(`silhouette ${decimal(cut.silhouette)}`);
    if (cut.ari !== null) scores.push(`ARI ${decimal(cut.ari)}`);
    find("cut-text").replaceChildren(element("b", {}, clusters), element("span", {}, scores.join(" \u00b7 ")));
    find("cut").setAttribute("aria-valuetext", `${clusters}${isFinal() ? ", final" : ""}`);
    find("back").disabled = isFinal();
    const nRows = data.figures.n_rows;
    const call = isFinal() ? "model.labels_ has" : `model.hierarchy_.cut(n_clusters=${cut.n_clusters}) returns`;
    find("download-note").textContent = hasAllLabels()
      ? `The file has ${nRows === 1 ? "the" : "all"} ${plural(nRows, "row")}.`
      : `The file has the ${count(points.row.length)} plotted rows: all ${count(nRows)} would make this page too large. `
        + `In Python, ${call} the labels of all rows.`;
  }

  function listClusters() {
    const cut = data.cuts[state.cut];
    const clusters = listed();
    const which = cut.n_clusters > clusters.length ? `The ${clusters.length} largest of ` : "";
    find("cut-caption").textContent = `${which}${plural(cut.n_clusters, isFinal() ? "final cluster" : "cluster")}`;
    const largest = Math.max(1, cut.n_noise, ...clusters.map((cluster) => cluster.size));
    const rows = clusters.map((cluster) => clusterRow(cluster, largest));
    const noise = { number: -1, colour: -1, size: cut.n_noise, exemplar: null, final: [], features: [] };
    if (cut.n_noise) rows.push(clusterRow(noise, largest));
    find("cut-table").tBodies[0].replaceChildren(...rows);
    find("cut-table").classList.toggle("last", isFinal());
  }

  const MAX_FINAL = 3; // final clusters named in a line of the table

  function nameFinal(final) {
    if (final.length > MAX_FINAL) return [`${count(final.length)} clusters`];
    return final.map((label) => element("span", {}, swatch(label), label < 0 ? "noise" : String(label)));
  }

  function clusterRow(cluster, largest) {
    const name = cluster.number < 0 ? "noise" : String(cluster.number);
    const button = element("button", { type: "button", "aria-pressed": "false" }, swatch(cluster.colour), name);
    button.dataset.cluster = cluster.number;
    button.addEventListener("click", () => showAlone(state.alone === cluster.number ? null : cluster.number));
    const bar = element("span", { class: `share ${colourClass(cluster.colour)}`, "aria-hidden": "true" });
    bar.style.width = `${Math.max(2, (100 * cluster.size) / largest)}%`;
    const features = cluster.features.slice(0, 2).flatMap((feature, i) => [
      i ? ", " : "", element("bdi", {}, feature.name), " ", element("span", {}, signed(feature.effect)),
    ]);
    return element(
      "tr", {},
      element("th", { scope: "row" }, button),
      element("td", { class: "number" }, count(cluster.size), bar),
      element("td", { class: "number wide" }, cluster.exemplar === null ? "" : `row ${cluster.exemplar}`),
      element("td", { class: "wide final" }, ...nameFinal(cluster.final)),
      element("td", { class: "features" }, ...features),
    );
  }

  function showAlone(cluster) {
    state.alone = cluster;
    for (const button of find("cut-table").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.cluster) === cluster));
    }
    drawScatter();
  }

  // ---- cards: the page has those of the final clusters; those of other cuts look the same

  const finalCards = [...find("at-a-glance").childNodes];
  const MAX_CARDS = 12;

  function showCards() {
    const glance = find("at-a-glance");
    if (isFinal()) { glance.replaceChildren(...finalCards); return; }
    const cut = data.cuts[state.cut];
    const cards = listed().slice(0, MAX_CARDS);
    const inCards = cards.reduce((sum, cluster) => sum + cluster.size, 0);
    const rest = data.figures.n_rows - cut.n_noise - inCards;
    const grow = (name, size) => {
      const span = element("span", { class: name });
      span.style.flexGrow = size;
      return span;
    };
    const strip = element("div", { class: "strip", "aria-hidden": "true" });
    strip.append(...cards.map((cluster) => grow(colourClass(cluster.colour), cluster.size)));
    if (rest) strip.append(grow("rest", rest));
    if (cut.n_noise) strip.append(grow("c-noise", cut.n_noise));
    const notes = [`${plural(cut.n_clusters, "cluster")}: not the final ones.`];
    if (rest) notes.push(`The cards show the ${MAX_CARDS} largest; the others contain ${plural(rest, "row")}.`);
    if (cut.n_noise) notes.push(`Grey is noise: ${plural(cut.n_noise, "row")} in no cluster.`);
    const list = element("ul", { class: "cards" }, ...cards.map(card));
    glance.replaceChildren(strip, element("p", { class: "note" }, notes.join(" ")), list);
  }

  function card(cluster) {
    const size = element("p", { class: "size" }, element("b", {}, count(cluster.size)),
      ` ${cluster.size === 1 ? "row" : "rows"} \u00b7 ${percent(cluster.size / data.figures.n_rows)}`);
    const head = element("header", {}, element("h3", {}, swatch(cluster.colour), `Cluster ${cluster.number}`), size);
    const who = element("div", { class: "who" });
    if (cluster.image) who.append(element("img", { src: cluster.image, alt: `Exemplar of cluster ${cluster.number}` }));
    const about = element("p", {}, `Most central: row ${cluster.exemplar}`);
    if (cluster.class) {
      about.append(element("br", {}), `${percent(cluster.class.share)} of class `, element("bdi", {}, cluster.class.name));
    }
    who.append(about);
    const features = cluster.features.length
      ? element("ul", { class: "effects" }, ...cluster.features.map(effect))
      : element("p", { class: "note" }, whyNoFeatures(cluster));
    return element("li", { class: `card ${colourClass(cluster.colour)}` }, head, who, features);
  }

  function whyNoFeatures(cluster) {
    if (cluster.size === data.figures.n_rows) return "The only cluster: there are no other rows to compare it with.";
    return cluster.n_sampled ? "No feature distinguishes it from other rows." : "None of its rows is in the sample.";
  }

  function effect(feature) {
    const part = (name, ...content) => element("span", { class: name }, ...content);
    const bar = element("i", { class: feature.effect > 0 ? "more" : "less" });
    bar.style.width = `${Math.min(50, (Math.abs(feature.effect) / 4) * 50)}%`;
    const name = part("name", element("bdi", {}, feature.name));
    name.title = feature.name;
    const agree = feature.views_agree === null
      ? "" : `; views with this feature have a stability of ${decimal(feature.views_agree)}`;
    const means = `mean ${significant(feature.mean)}, elsewhere ${significant(feature.elsewhere)}${agree}`;
    return element("li", {}, name, part("value", `${signed(feature.effect)} SD`), part("bar", bar), part("means", means));
  }

  let drawing = 0; // a dragged slider requests more frames than can be drawn

  function chooseCut(place) {
    state.cut = place;
    state.alone = null;
    describeCut();
    listClusters();
    cancelAnimationFrame(drawing);
    drawing = requestAnimationFrame(() => { showCards(); drawMerges(); drawScatter(); });
  }

  // ---- download

  function hasAllLabels() {
    let at = data.labels === null ? null : state.cut;
    while (at !== null && at !== data.labels.cut) at = data.cuts[at].finer;
    return at !== null;
  }

  async function download() {
    const all = hasAllLabels();
    const labels = all ? labelsAt(state.cut, data.labels.cut, await unpack(data.labels.labels)) : atCut();
    const lines = ["row,cluster"];
    for (let i = 0; i < labels.length; i++) lines.push(`${all ? i : points.row[i]},${labels[i]}`);
    const url = URL.createObjectURL(new Blob([lines.join("\n"), "\n"], { type: "text/csv" }));
    element("a", { href: url, download: `labels-${data.cuts[state.cut].n_clusters}-clusters.csv` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  }

  // ---- levels

  function drawLevels() {
    const records = data.contraction;
    const levels = records.map((record) => record.level);
    const rows = [records[0].rows_in, ...records.map((record) => record.rows_out)];
    const log = Math.min(...rows) > 0 && Math.max(...rows) > 20 * Math.min(...rows);
    const ticks = log ? { type: "log", dtick: 1, tickformat: "~s" } : { rangemode: "tozero", tickformat: "~s" };
    const yaxis = axis("", { fixedrange: true, ...ticks });
    drawLine("rows-chart", [0, ...levels], rows, colourOf(0), "%{y:,} rows", { yaxis });
    const agreement = records.map((record) => record.agreement);
    const measured = agreement.filter((value) => value !== null);
    const font = { color: style("--soft") };
    const nothing = { ...onPaper, text: "one view: nothing to compare", x: 0.5, y: 0.5, font };
    drawLine("agreement-chart", levels, agreement, colourOf(3), "agreement %{y:.2f}", {
      yaxis: axis("", { fixedrange: true, range: [Math.min(0, ...measured) - 0.03, 1.05] }),
      annotations: measured.length ? [] : [nothing],
    });
  }

  function drawLine(id, levels, values, colour, told, more) {
    const trace = {
      type: "scatter", mode: "lines+markers", x: levels, y: values,
      hovertemplate: `level %{x}<br>${told}<extra></extra>`,
      line: { color: colour, width: 2 }, marker: { size: 7, color: colour },
    };
    const last = levels[levels.length - 1];
    const xaxis = axis("level", { dtick: last > 15 ? undefined : 1, fixedrange: true, range: [-0.3, last + 0.3] });
    const margin = { t: 16, r: 16, b: 44, l: 52 };
    draw(id, [trace], layout(id, { xaxis, margin, hovermode: "closest", dragmode: false, ...more }));
  }

  // ---- together

  function drawAll() {
    if (!points) return; // the theme may change before the points are unpacked
    drawMerges();
    drawChoice();
    drawTree();
    drawScatter();
    drawLevels();
  }

  if (!globalThis.DecompressionStream) {
    find("trouble").textContent = "This browser is too old for the charts and the slider. Use a browser from 2023 or later.";
    find("trouble").hidden = false;
    return;
  }
  await unpackPoints();
  listParts();
  describeCut();
  listClusters();
  find("cutbar").hidden = data.cuts.length < 2;
  find("cut").addEventListener("input", (event) => chooseCut(Number(event.target.value)));
  find("back").addEventListener("click", () => {
    find("cut").value = data.final;
    find("cut").focus({ preventScroll: true }); // the button is disabled from now on
    chooseCut(data.final);
  });
  find("download").addEventListener("click", download);
  await loadCharts();
  drawAll();
  find("tree-chart").on("plotly_icicleclick", (event) => {
    if (event.nextLevel === undefined) return;
    state.node = event.nextLevel === "all" || event.nextLevel === "" ? -1 : Number(event.nextLevel);
    listParts();
  });
  let themeOnScreen;
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
    themeOnScreen = isDark();
    state.printing = true;
    setTheme(false);
    drawAll();
  });
  addEventListener("afterprint", () => { state.printing = false; setTheme(themeOnScreen); drawAll(); });
  root.dataset.ready = "yes";
})();
