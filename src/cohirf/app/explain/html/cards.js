/* A card for each cluster of the cut; a search and pages for many. */

const PER_PAGE = 12;

function matches(cluster, words) {
  const features = cluster.traits.map((trait) => {
    const column = data.columns[trait.column];
    return `${column.name} ${trait.level === null ? "" : trait.level}`;
  });
  const known = cluster.class ? cluster.class.name : "";
  const text = [numberOf(cluster.number), nameOf(cluster), cluster.given, cluster.called, known, ...features].join(" ").toLowerCase();
  return words.every((word) => text.includes(word));
}

function chosenClusters() {
  const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  const isChosen = (cluster) => (state.selected === null || state.selected.has(cluster.number)) && matches(cluster, words);
  const chosen = clusters.filter(isChosen);
  if (state.sort === "name") chosen.sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
  if (state.sort === "number") chosen.sort((a, b) => a.number - b.number);
  return chosen;
}

function showCards() {
  const chosen = chosenClusters();
  const nPages = Math.max(1, Math.ceil(chosen.length / PER_PAGE));
  state.page = Math.min(state.page, nPages - 1);
  const start = state.page * PER_PAGE;
  find("cards").replaceChildren(...chosen.slice(start, start + PER_PAGE).map(card));
  find("tools").hidden = clusters.length < 2;
  find("cards-note").hidden = find("save-clusters").hidden = clusters.length === 0;
  find("pager").hidden = nPages === 1;
  find("previous").disabled = state.page === 0;
  find("next").disabled = state.page === nPages - 1;
  find("page-text").textContent = `${start + 1}\u2013${Math.min(start + PER_PAGE, chosen.length)} of ${count(chosen.length)}`;
  find("found").replaceChildren(...describeFound(chosen));
}

function describeFound(chosen) {
  const cut = cutNow();
  if (cut.n_clusters === 0) return ["There are no clusters: every row is noise, or in a cluster that is smaller than the smallest size that was allowed."];
  const said = [];
  if (state.selected) {
    const clear = element("button", { type: "button", class: "chip" }, `Selected: ${shorten(selectedName(), 60)} \u00d7`);
    clear.setAttribute("aria-label", "Clear the selection");
    clear.addEventListener("click", () => select(null));
    said.push(clear);
  }
  if (state.query) said.push(`${plural(chosen.length, "cluster")} found. `);
  if (!state.query && !state.selected && cut.n_clusters > clusters.length) {
    said.push(`The ${count(clusters.length)} largest of ${plural(cut.n_clusters, "cluster")}. `);
  }
  if (state.selected?.has(-1)) said.push("Noise: rows in no cluster. They have no card.");
  return said;
}

function selectedName() {
  const labels = [...state.selected];
  return labels.length === 1 ? nameOfLabel(labels[0]) : plural(labels.length, "cluster");
}

function card(cluster) {
  const name = nameField(cluster);
  const size = element(
    "p", { class: "size" }, element("b", {}, count(cluster.size)), ` ${cluster.size === 1 ? "row" : "rows"} \u00b7 `,
    percent(cluster.size / data.figures.n_rows),
  );
  if (cluster.class) {
    size.append(` \u00b7 ${percent(cluster.class.share)} of class `, element("bdi", {}, cluster.class.name));
  }
  const isPictured = cluster.image !== null;
  const body = isPictured ? null : cluster.traits.length
    ? element("ul", { class: "traits" }, ...cluster.traits.slice(0, 4).map((trait) => drawDistribution(trait, cluster)))
    : element("p", { class: "note" }, whyNoTraits(cluster));
  const head = element("header", {}, badge(cluster.colour, numberOf(cluster.number)), name);
  const made = element("li", { class: `card ${colourClass(cluster.colour)}` }, head, size, typical(cluster), body);
  made.addEventListener("pointerenter", () => hover(new Set([cluster.number])));
  made.addEventListener("pointerleave", () => hover(null));
  return made;
}

function nameField(cluster) {
  const field = element(
    "h3", { contenteditable: "true", spellcheck: "false", role: "textbox", "aria-label": `Name of cluster ${numberOf(cluster.number)}`, title: "Click to rename" },
    nameOf(cluster),
  );
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "Escape") {
      event.preventDefault();
      if (event.key === "Escape") field.textContent = nameOf(cluster);
      field.blur();
    }
  });
  field.addEventListener("paste", (event) => { // as plain text
    event.preventDefault();
    getSelection().getRangeAt(0).deleteContents();
    getSelection().getRangeAt(0).insertNode(document.createTextNode(event.clipboardData.getData("text/plain")));
    getSelection().collapseToEnd();
  });
  field.addEventListener("blur", () => {
    rename(cluster, field.textContent);
    field.textContent = nameOf(cluster);
  });
  return field;
}

function typical(cluster) {
  const values = cluster.values.slice(0, 6).map(([place, value]) => {
    const column = data.columns[place];
    return element("div", {}, element("dt", { title: column.name }, column.name), element("dd", {}, valueText(value, column, 4)));
  });
  const about = element("p", {}, "Most typical: ", element("bdi", {}, cluster.called));
  if (!cluster.image) return element("div", { class: "typical" }, about, values.length ? element("dl", {}, ...values) : null);
  const picture = (source, alt, caption) => element("figure", {}, element("img", { src: source, alt }), caption);
  return element("div", { class: "typical pictured" },
    picture(cluster.image, `Most typical row of cluster ${numberOf(cluster.number)}`, about),
    picture(cluster.average, `Average row of cluster ${numberOf(cluster.number)}`, element("p", {}, "Average of its rows")));
}

function whyNoTraits(cluster) {
  if (cluster.size === data.figures.n_rows) return "All rows: there are no others to compare them with.";
  return cluster.n_sampled ? "Nothing sets it apart from other rows." : "None of its rows is in the sample.";
}

let typing = 0;
find("search").addEventListener("input", (event) => {
  state.query = event.target.value;
  state.page = 0;
  clearTimeout(typing);
  typing = setTimeout(() => { showCards(); showHeatmap(); }, 60);
});
find("sort").addEventListener("change", (event) => { state.sort = event.target.value; state.page = 0; showCards(); });
const turn = (step) => { state.page += step; showCards(); find("clusters").scrollIntoView(); };
find("previous").addEventListener("click", () => turn(-1));
find("next").addEventListener("click", () => turn(1));

onCut.push(showCards);
