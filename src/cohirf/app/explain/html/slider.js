/* The number of clusters: a slider over the whole tree, on the curve that suggests a number. */

function drawCurve() {
  const svg = find("curve");
  const [width, height] = [svg.clientWidth, svg.clientHeight];
  const last = data.cuts.length - 1;
  if (!width || last < 1) return;
  const inset = 8; // half of the slider's thumb
  const x = (place) => inset + ((width - 2 * inset) * place) / last;
  const curve = data.suggestion ? data.suggestion.curve : [];
  const scored = curve.map((value, place) => ({ place, value })).filter((one) => one.value !== null);
  const low = Math.min(0, ...scored.map((one) => one.value));
  const high = Math.max(...scored.map((one) => one.value), low + 0.01);
  const y = (value) => height - 3 - ((height - 12) * (value - low)) / (high - low);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const ends = scored.map((one) => `${x(one.place).toFixed(1)},${y(one.value).toFixed(1)}`).join("L");
  const shapes = [];
  if (scored.length > 1) {
    shapes.push(shape("path", { class: "area", d: `M${x(scored[0].place)},${height}L${ends}L${x(scored.at(-1).place)},${height}Z` }));
    shapes.push(shape("path", { class: "line", d: `M${ends}` }));
  }
  const now = shape("line", { class: "now", x1: x(state.cut), x2: x(state.cut), y1: 2, y2: height });
  shapes.push(now);
  if (data.suggestion) {
    const at = data.suggestion.cut;
    shapes.push(shape("circle", { class: "suggested", cx: x(at), cy: y(curve[at]), r: 5 }));
  }
  const step = Math.max(1, Math.ceil(last / Math.max(1, Math.floor(width / 60)))); // room for three digits
  for (let place = 0; place <= last; place += step) {
    shapes.push(shape("text", { class: "tick", x: x(place), y: height + 24, "text-anchor": "middle" }, String(data.cuts[place].n_clusters)));
  }
  svg.replaceChildren(...shapes);
}

function describeCut() {
  const cut = cutNow();
  const said = [];
  if (data.suggestion && state.cut === data.suggestion.cut) said.push("suggested");
  if (isFinal() && !said.length) said.push("as fitted");
  if (cut.n_noise) said.push(`${plural(cut.n_noise, "row")} of noise`);
  if (cut.silhouette !== null) said.push(`silhouette ${decimal(cut.silhouette)}`);
  if (cut.ari !== null) said.push(`ARI ${decimal(cut.ari)}`);
  const clusters_ = plural(cut.n_clusters, "cluster");
  find("cut-text").replaceChildren(element("b", {}, clusters_), element("span", {}, said.join(" \u00b7 ")));
  find("cut").value = state.cut;
  find("cut").setAttribute("aria-valuetext", `${clusters_}${said[0] === "suggested" ? ", suggested" : ""}`);
  find("less").disabled = state.cut === 0;
  find("more").disabled = state.cut === data.cuts.length - 1;
  const home = data.suggestion ? data.suggestion.cut : data.final;
  find("back").textContent = data.suggestion ? `Suggested: ${data.cuts[home].n_clusters}` : `As fitted: ${data.cuts[home].n_clusters}`;
  find("back").disabled = state.cut === home;
}

const titleOfFit = find("title").textContent;

function titleCut() { // the opening is about the clusters of the fit
  find("title").textContent = isFinal() ? titleOfFit : `${plural(cutNow().n_clusters, "cluster")} in ${count(data.figures.n_rows)} rows: another cut of the tree`;
  find("opening").classList.toggle("past", !isFinal());
}

let drawing = 0; // a dragged slider requests more frames than can be drawn

function chooseCut(place) {
  state.cut = Math.max(0, Math.min(data.cuts.length - 1, place));
  writeAddress();
  showCut();
}

function showCut() {
  state.hovered = state.selected = null;
  state.page = 0;
  follow();
  describeCut();
  titleCut();
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(() => {
    runAll(onCut);
  });
}

find("cut").addEventListener("input", (event) => chooseCut(Number(event.target.value)));
find("less").addEventListener("click", () => chooseCut(state.cut - 1));
find("more").addEventListener("click", () => chooseCut(state.cut + 1));
find("back").addEventListener("click", () => {
  chooseCut(data.suggestion ? data.suggestion.cut : data.final);
  find("cut").focus({ preventScroll: true }); // the button is disabled from now on
});

onCut.push(drawCurve);
