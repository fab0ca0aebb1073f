/* The map: rows as points on a canvas, coloured by cluster, with the exemplars on top. */

const MARGIN = 14; // pixels around the points, so that discs are not cut off
const MAX_NUMBERED = 40; // exemplars with a number
const DISC = 10; // pixels: radius of their discs
const NEAR = 14; // pixels: how near the pointer must be to a point

const maps = await Promise.all(data.points.maps.map(async (one) => ({ ...one, x: await unpack(one.x), y: await unpack(one.y) })));
let mapShown = 0;
let placed; // pixel coordinates of rows, then of exemplars

function placePoints() {
  const one = maps[mapShown];
  const canvas = find("map");
  const width = canvas.clientWidth;
  const shape = one.same_unit ? one.height / one.width : 0.75;
  const height = Math.round(width * Math.max(0.62, Math.min(innerWidth < 600 ? 1 : 0.8, shape)));
  canvas.style.height = `${height}px`;
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const room = [width - 2 * MARGIN, height - 2 * MARGIN];
  let scale = [room[0] / one.width, room[1] / one.height];
  if (one.same_unit) scale = [Math.min(...scale), Math.min(...scale)];
  const offset = [(width - one.width * scale[0]) / 2, (height + one.height * scale[1]) / 2];
  placed = {
    width, height, ratio,
    x: Float32Array.from(one.x, (x) => offset[0] + x * scale[0]),
    y: Float32Array.from(one.y, (y) => offset[1] - y * scale[1]),
    lines: one.lines && {
      x: one.lines.x.map(([x, name]) => [offset[0] + x * scale[0], name]),
      y: one.lines.y.map(([y, name]) => [offset[1] - y * scale[1], name]),
    },
  };
}

function drawLines(context) { // of longitude and latitude, named at the edges
  context.strokeStyle = style("--line");
  context.fillStyle = style("--soft");
  context.lineWidth = 1;
  context.font = `10px ${style("--sans")}`;
  context.beginPath();
  for (const [x] of placed.lines.x) { context.moveTo(x, 0); context.lineTo(x, placed.height); }
  for (const [y] of placed.lines.y) { context.moveTo(0, y); context.lineTo(placed.width, y); }
  context.stroke();
  context.textBaseline = "bottom";
  context.textAlign = "left";
  for (const [x, name] of placed.lines.x) context.fillText(name, x + 3, placed.height - 2);
  for (const [y, name] of placed.lines.y) if (y < placed.height - 16) context.fillText(name, 3, y - 2);
}

function drawMap() {
  if (!placed) return;
  const context = find("map").getContext("2d");
  context.setTransform(placed.ratio, 0, 0, placed.ratio, 0, 0);
  context.clearRect(0, 0, placed.width, placed.height);
  if (placed.lines) drawLines(context);
  const n = points.row.length;
  const radius = Math.max(1.6, Math.min(4.5, (0.13 * placed.width) / Math.sqrt(n)));
  const rank = (label) => 2 * !isFaded(label) + (label >= 0); // points with a lower rank are below the others
  const order = [...pointLabels.keys()].sort((a, b) => rank(pointLabels[a]) - rank(pointLabels[b]));
  const fade = style("--fade");
  const others = otherColours();
  const paint = new Map();
  for (const i of order) {
    const label = pointLabels[i];
    const colour = isFaded(label) ? null : others ? others[points.part[state.other][i]] : colourAt(label);
    if (!paint.has(colour)) paint.set(colour, colour === null ? fade : colourOf(colour));
    context.globalAlpha = colour === null ? 0.5 : colour < 0 ? 0.6 : 0.8;
    context.fillStyle = paint.get(colour);
    context.beginPath();
    context.arc(placed.x[i], placed.y[i], radius, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
  if (others) return; // exemplars are those of the fit
  const discs = placeDiscs();
  find("map").dataset.discs = [...discs.values()].map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
  for (const cluster of [...clusters].reverse()) if (!isFaded(cluster.number)) drawExemplar(context, cluster, discs.get(cluster.number));
}

function placeDiscs() { // beside each other, as near to their rows as that allows
  const discs = clusters.map((cluster) => {
    const place = points.row.length + exemplarPlace.get(cluster.exemplar);
    return [placed.x[place], placed.y[place]];
  });
  const apart = 2 * DISC + 1;
  for (let round = 0; round < 60 && clusters.length <= MAX_NUMBERED; round++) {
    let moved = false;
    for (let i = 0; i < discs.length; i++) {
      for (let j = 0; j < i; j++) {
        const [dx, dy] = [discs[i][0] - discs[j][0] || 0.01, discs[i][1] - discs[j][1] || 0.01];
        const distance = Math.hypot(dx, dy);
        if (distance >= apart) continue;
        const push = (apart - distance) / (2 * distance);
        discs[i] = [discs[i][0] + push * dx, discs[i][1] + push * dy];
        discs[j] = [discs[j][0] - push * dx, discs[j][1] - push * dy];
        moved = true;
      }
    }
    for (const [i, [x, y]] of discs.entries()) {
      discs[i] = [Math.max(DISC + 1, Math.min(placed.width - DISC - 1, x)), Math.max(DISC + 1, Math.min(placed.height - DISC - 1, y))];
    }
    if (!moved) break;
  }
  return new Map(clusters.map((cluster, i) => [cluster.number, discs[i]]));
}

function drawExemplar(context, cluster, [x, y]) {
  const colour = colourOf(cluster.colour);
  const isNumbered = clusters.length <= MAX_NUMBERED;
  context.beginPath();
  context.arc(x, y, isNumbered ? DISC : 5, 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.fill();
  context.lineWidth = 2;
  context.strokeStyle = style("--paper");
  context.stroke();
  if (!isNumbered) return;
  context.fillStyle = inkOn(colour);
  context.font = `600 11px ${style("--sans")}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(String(numberOf(cluster.number)), x, y + 0.5);
}

function nearestPoint(event) {
  const box = find("map").getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  let [best, least] = [-1, NEAR ** 2];
  for (let i = 0; i < points.row.length; i++) {
    const distance = (placed.x[i] - x) ** 2 + (placed.y[i] - y) ** 2;
    if (distance < least) [best, least] = [i, distance];
  }
  const discs = placeDiscs();
  for (const cluster of otherColours() ? [] : clusters) { // the disc of an exemplar is above the points
    const [discX, discY] = discs.get(cluster.number);
    const distance = (discX - x) ** 2 + (discY - y) ** 2;
    if (distance < DISC ** 2) return { label: cluster.number, called: `most typical: ${cluster.called}`, class: "" };
  }
  if (best < 0) return null;
  const called = data.points.called ? data.points.called[best] : `row ${count(points.row[best])}`;
  return { label: pointLabels[best], called, class: points.class ? data.points.class.names[points.class[best]] : "" };
}

function describeMap() {
  const one = maps[mapShown];
  const nRows = data.figures.n_rows;
  const drawn = points.row.length < nRows ? `${count(points.row.length)} of ${count(nRows)} rows, drawn at random.` : "All rows.";
  const how = {
    "Principal components": "Rows that are alike are near each other: two directions in which the data varies most. Clusters that overlap here can be apart in other directions.",
    UMAP: "Rows that are alike are near each other. Distances between clusters, and their sizes, mean little.",
    Places: "Longitude across, latitude up.",
    Features: `Across: ${one.axes[0]}. Up: ${one.axes[1]}.`,
  }[one.name];
  const others = otherColours();
  const other = otherMerge();
  const coloured = other && !others ? `There are too many clusters to show those of the ${other.merge} merge.` : others
    ? `Coloured by the clusters of the ${other.merge} merge: ${percent(other.moved[state.cut])} of these rows change their cluster.`
    : "A disc with a rim is the most typical row of its cluster.";
  find("map-note").textContent = `${drawn} ${how} ${coloured}`;
  find("map").setAttribute("aria-label", `Map of rows, coloured by ${others ? `clusters of the ${other.merge} merge` : "cluster"}`);
}

find("map").addEventListener("pointermove", (event) => {
  const found = nearestPoint(event);
  hover(found && new Set([found.label]));
  if (!found) { hideTip(); return; }
  const name = element("b", {}, found.label < 0 ? "noise" : `${otherColours() ? "as fitted: " : ""}${nameOfLabel(found.label)}`);
  showTip(event, name, ...[found.called, found.class].filter(Boolean));
});
find("map").addEventListener("pointerleave", () => { hover(null); hideTip(); });
find("map").addEventListener("click", (event) => {
  const found = nearestPoint(event);
  select(found && new Set([found.label]));
});

function offer(id, names, choose) { // buttons, of which one is pressed
  find(id).replaceChildren(...names.map((name, i) => {
    const button = element("button", { type: "button", "aria-pressed": String(i === 0) }, name);
    button.addEventListener("click", () => {
      for (const other of find(id).children) other.setAttribute("aria-pressed", String(other === button));
      choose(i);
      placePoints();
      drawMap();
      describeMap();
    });
    return button;
  }));
  find(id).hidden = false;
}
if (maps.length > 1) offer("map-kinds", maps.map((one) => one.name), (i) => { mapShown = i; });
if (data.merge) {
  const names = [`As fitted: ${data.merge.merge}`, ...data.merge.others.map((other) => `Other: ${other.merge}`)];
  offer("merge-kinds", names, (i) => { state.other = i === 0 ? null : i - 1; });
}

onCut.push(drawMap, describeMap);
