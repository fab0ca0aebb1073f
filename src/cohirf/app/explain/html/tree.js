/* The tree beside the map: how the clusters of the cut merge, two at a time, up to all rows. */

const LABELLED = 15; // pixels that a line needs for a name
const SPACIOUS = 36; // and for a name in two lines
let tree; // nodes of the tree above the cut, leaves first

function clustersBelow(merges) { // the label of each node of the tree at the cut; undefined above the clusters
  const labels = merges.labels[state.cut] ?? merges.labels[data.final];
  if (!labels) return null;
  const label = [...labels];
  merges.parent.forEach((parent, node) => { // parts come before the whole
    if (parent < 0) return;
    if (!(parent in label)) label[parent] = label[node];
    else if (label[parent] !== label[node]) label[parent] = undefined;
  });
  return label;
}

function growTree() {
  const { merges } = data;
  const label = merges && clustersBelow(merges);
  if (!label) return null;
  const isTop = (node) => label[node] !== undefined && (merges.parent[node] < 0 || label[merges.parent[node]] === undefined);
  const leaves = [...merges.parent.keys()].filter((node) => isTop(node) && label[node] >= 0);
  const firstLeaf = [...merges.parent.keys()].map((node) => (node < merges.n_leaves ? node : Infinity));
  merges.parent.forEach((parent, node) => { if (parent >= 0) firstLeaf[parent] = Math.min(firstLeaf[parent], firstLeaf[node]); });
  leaves.sort((a, b) => firstLeaf[a] - firstLeaf[b]);
  const nodes = new Map(leaves.map((node, line) => [node, { node, y: line, height: 0, label: label[node], labels: new Set([label[node]]), parts: [] }]));
  merges.parent.forEach((_, node) => { // merges above the cut, from low to high
    if (label[node] !== undefined) return;
    nodes.set(node, { node, height: merges.height[node], labels: new Set(), parts: [] });
  });
  for (const one of nodes.values()) {
    const above = nodes.get(merges.parent[one.node]);
    if (above) above.parts.push(one);
  }
  for (const one of nodes.values()) { // parts come before the whole
    if (!one.parts.length) continue;
    one.y = one.parts.reduce((sum, part) => sum + part.y, 0) / one.parts.length;
    one.labels = new Set(one.parts.flatMap((part) => [...part.labels]));
  }
  return { leaves: leaves.map((node) => nodes.get(node)), nodes: [...nodes.values()] };
}

function drawTree() {
  const svg = find("tree");
  tree = growTree();
  if (data.cuts.length < 2) tree = null; // one cluster alone is not a tree
  svg.closest("figure").hidden = tree === null;
  if (!tree) return;
  const width = svg.parentElement.clientWidth;
  const n = tree.leaves.length;
  const aim = Math.max(innerWidth < 900 ? 300 : placed.height, n <= 40 ? n * LABELLED : 0);
  const line = Math.max(2.5, Math.min(84, aim / n));
  const height = Math.ceil(n * line);
  const isLabelled = line >= LABELLED - 1;
  const right = width - (isLabelled ? Math.min(0.62 * width, line >= SPACIOUS ? 280 : 340) : 16);
  const highest = Math.sqrt(Math.max(...tree.nodes.map((one) => one.height), 1e-9));
  const x = (one) => (one.parts.length ? right - (right - 14) * (Math.sqrt(one.height) / highest) : right);
  const y = (one) => (one.y + 0.5) * line;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const lines = tree.nodes.filter((one) => one.parts.length).map((one) => {
    const ends = one.parts.map(y);
    const towards = (part) => `M${x(one)},${y(part)}H${x(part)}`;
    const inner = one.parts.filter((part) => part.parts.length).map(towards).join("");
    const bar = `M${x(one)},${Math.min(...ends)}V${Math.max(...ends)}`;
    const toLeaves = one.parts.filter((part) => !part.parts.length).map((part) =>
      shape("path", { d: towards(part), class: `line leaf ${colourClass(colourAt(part.label))}` }));
    const hit = shape("path", { d: `${bar}${one.parts.map(towards).join("")}`, class: "hit" });
    return branch(one, hit, shape("path", { d: `${bar}${inner}`, class: "line" }), ...toLeaves);
  });
  const top = tree.nodes[tree.nodes.length - 1];
  if (top.parts.length) lines.push(shape("path", { d: `M${Math.max(0, x(top) - 14)},${y(top)}H${x(top)}`, class: "line" }));
  const room = Math.floor((width - right - 78) / 6.6);
  const leaves = tree.leaves.map((one) => {
    const cluster = clusterOf.get(one.label);
    const size = cluster ? cluster.size : data.merges.size[one.node];
    const radius = isLabelled ? 8 : Math.min(6, line / 2);
    const hit = shape("rect", { x: right - 12, y: y(one) - line / 2, width: width - right + 12, height: line, class: "hit" });
    const disc = shape("circle", { cx: right, cy: y(one), r: radius, class: `disc ${colourClass(colourAt(one.label))}` });
    if (!isLabelled) return branch(one, hit, disc);
    const number = shape("text", { x: right, y: y(one), class: `number ${colourClass(colourAt(one.label))}`, "data-label": one.label }, String(numberOf(one.label)));
    const words = line >= SPACIOUS ? inTwoLines(nameOfLabel(one.label), room) : [shorten(nameOfLabel(one.label), room)];
    const name = shape("text", { x: right + 15, y: y(one), class: "name" }, ...words.map((text, i) =>
      shape("tspan", { x: right + 15, dy: i ? 16 : -8 * (words.length - 1) }, text)));
    const share = shape("text", { x: width - 4, y: y(one), class: "share" }, percent(size / data.figures.n_rows));
    return branch(one, hit, disc, number, name, share);
  });
  svg.replaceChildren(...lines, ...leaves);
  find("tree-note").textContent = `How the clusters merge, two at a time, up to all rows: those that join far to the left differ most.`;
  for (const number of svg.querySelectorAll(".number")) number.style.fill = inkOn(colourOf(colourAt(Number(number.dataset.label))));
  markTree();
}

function inTwoLines(text, room) {
  if (text.length <= room) return [text];
  const end = text.lastIndexOf(" ", room);
  const cut = end > 0 ? end : room;
  return [text.slice(0, cut), shorten(text.slice(cut).trim(), room)];
}

function branch(one, ...shapes) {
  const group = shape("g", { class: "branch", id: `node-${one.node}` }, ...shapes);
  group.addEventListener("pointermove", (event) => { hover(one.labels); tellBranch(event, one); });
  group.addEventListener("pointerleave", () => { hover(null); hideTip(); });
  group.addEventListener("click", () => select(one.labels));
  return group;
}

const sizeOf = (one) => data.merges.size[one.node];
const branchName = (one) => (one.parts.length ? `${plural(one.labels.size, "cluster")} together` : nameOfLabel(one.label));
function tellBranch(event, one) {
  const size = `${plural(sizeOf(one), "row")} (${percent(sizeOf(one) / data.figures.n_rows)})`;
  showTip(event, element("b", {}, branchName(one)), size);
}

function markTree() {
  if (!tree) return;
  for (const one of tree.nodes) {
    const isOn = active() !== null && [...one.labels].every((label) => active().has(label));
    const group = find(`node-${one.node}`);
    group.classList.toggle("on", isOn);
    group.classList.toggle("faded", active() !== null && !isOn);
  }
}

// ---- by keyboard: up and down between the ends, left towards the root, right into the larger part

let focused = null;
find("tree").addEventListener("keydown", (event) => {
  if (!tree) return;
  const at = focused ?? tree.leaves[0];
  const line = tree.leaves.indexOf(at);
  const moves = {
    ArrowDown: () => tree.leaves[Math.min(tree.leaves.length - 1, (line < 0 ? Math.ceil(at.y) - 1 : line) + 1)],
    ArrowUp: () => tree.leaves[Math.max(0, (line < 0 ? Math.ceil(at.y) : line) - 1)],
    ArrowLeft: () => tree.nodes.find((one) => one.parts.includes(at)) ?? at,
    ArrowRight: () => at.parts[0] ?? at,
    Enter: () => { select(at.labels); return at; },
    " ": () => { select(at.labels); return at; },
    Escape: () => { select(null); return at; },
  };
  if (!moves[event.key]) return;
  event.preventDefault();
  focused = focused === null && event.key.startsWith("Arrow") ? at : moves[event.key]();
  if (event.key.startsWith("Arrow")) hover(focused.labels);
  find("tree-told").textContent = `${branchName(focused)}, ${plural(sizeOf(focused), "row")}`;
});
find("tree").addEventListener("blur", () => { focused = null; hover(null); });

onCut.push(drawTree);
onName.push(drawTree);
