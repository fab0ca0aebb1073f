/* The sizes of the clusters as one line of colours. */

function showStrip() {
  const cut = cutNow();
  const piece = (label, size, name) => {
    const made = element("span", { class: label === null ? "rest" : colourClass(colourAt(label)) });
    made.style.flexGrow = size;
    if (label === null) return made;
    made.dataset.label = label;
    made.addEventListener("pointermove", (event) => {
      hover(new Set([label]));
      showTip(event, element("b", {}, name()), `${plural(size, "row")} (${percent(size / data.figures.n_rows)})`);
    });
    made.addEventListener("pointerleave", () => { hover(null); hideTip(); });
    made.addEventListener("click", () => select(new Set([label])));
    return made;
  };
  const described = clusters.reduce((sum, cluster) => sum + cluster.size, 0);
  const rest = data.figures.n_rows - cut.n_noise - described;
  const pieces = clusters.map((cluster) => piece(cluster.number, cluster.size, () => nameOf(cluster)));
  if (rest) pieces.push(piece(null, rest));
  if (cut.n_noise) pieces.push(piece(-1, cut.n_noise, () => "noise: in no cluster"));
  find("strip").classList.toggle("fine", pieces.length > 60);
  find("strip").replaceChildren(...pieces);
}

function markStrip() {
  for (const piece of find("strip").children) {
    const label = Number(piece.dataset.label ?? NaN);
    piece.classList.toggle("faded", isFaded(label));
  }
}

onCut.push(showStrip);
onName.push(showStrip);
