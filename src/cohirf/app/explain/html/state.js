/* What the reader has chosen: a cut, clusters of it, a search and names; and what follows from it.
 * A cut is made from a finer one by the label of each of its clusters; points have the labels of the finest cut. */

const state = { cut: data.final, hovered: null, selected: null, query: "", page: 0, sort: "size", names: new Map(), other: null };

const points = { row: await unpack(data.points.row), label: await unpack(data.points.label) };
points.class = data.points.class && (await unpack(data.points.class.number));
points.leaf = data.merges && (await unpack(data.merges.leaf));
points.part = data.merge && (await Promise.all(data.merge.others.map((other) => unpack(other.part))));
const parts = await Promise.all(data.cuts.map((cut) => cut.parts && unpack(cut.parts)));
const colours = await Promise.all(data.cuts.map((cut) => unpack(cut.colour)));
const exemplarPlace = new Map([...(await unpack(data.points.exemplar))].map((row, place) => [row, place]));

const cutNow = () => data.cuts[state.cut];
const isFinal = () => state.cut === data.final;
// The clusters of the fit have numbers that last, which may have gaps; those of other cuts are counted.
const numberAt = (cut, label) => (cut === data.final && label >= 0 ? data.numbers[label] : label);
const numberOf = (label) => numberAt(state.cut, label);
// Another merge that is shown, and its colours, by part of it; null as long as the merge of the fit is shown.
const otherMerge = () => (state.other === null ? null : data.merge.others[state.other]);
const otherColours = () => (otherMerge() ? otherMerge().colours[state.cut] : null);
const colourAt = (label) => (label < 0 ? -1 : colours[state.cut][label]);

function labelsAt(cut, base, labels) { // labels of rows at a cut, given those at a finer one
  const steps = [];
  for (let at = cut; at !== base; at = data.cuts[at].finer) steps.unshift(parts[at]);
  if (!steps.length) return labels;
  const then = (table, step) => table.map((label) => (label < 0 ? -1 : step[label]));
  const table = steps.slice(1).reduce(then, Int32Array.from(steps[0]));
  return Int32Array.from(labels, (label) => (label < 0 ? -1 : table[label]));
}

// ---- the clusters of the cut

let clusters; // described clusters of the cut, the largest first
let clusterOf; // from a label to its cluster
let pointLabels; // of each point, its label at the cut

function follow() {
  const cut = cutNow();
  clusters = cut.clusters.map((place, i) => ({
    ...data.clusters[place], place, number: cut.labels[i], given: cut.names[i], colour: colours[state.cut][cut.labels[i]],
  }));
  clusterOf = new Map(clusters.map((cluster) => [cluster.number, cluster]));
  pointLabels = labelsAt(state.cut, data.cuts.length - 1, points.label);
}

const nameOf = (cluster) => state.names.get(cluster.place) ?? cluster.given;
function nameOfLabel(label) {
  if (label < 0) return "noise: in no cluster";
  return clusterOf.has(label) ? nameOf(clusterOf.get(label)) : `cluster ${numberOf(label)}`;
}

// ---- clusters that are pointed at or selected

const sameSet = (one, other) => one === other || (one && other && one.size === other.size && [...one].every((x) => other.has(x)));
const active = () => state.hovered ?? state.selected;
const isFaded = (label) => active() !== null && !active().has(label);

function hover(labels) {
  if (sameSet(state.hovered, labels)) return;
  state.hovered = labels;
  requestAnimationFrame(() => { drawMap(); markTree(); markStrip(); });
}

function select(labels) {
  state.selected = sameSet(state.selected, labels) ? null : labels;
  state.hovered = null;
  state.page = 0;
  drawMap();
  markTree();
  markStrip();
  showCards();
  showHeatmap();
}

// ---- what is drawn anew when the reader chooses another cut, or gives a cluster another name

const onCut = [];
const onName = [];
const runAll = (steps) => { for (const step of steps) step(); };
