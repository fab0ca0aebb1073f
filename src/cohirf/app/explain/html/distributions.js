/* The distribution of a column in a cluster, against all other rows. */

const SHOWN_LEVELS = 3;

function drawDistribution(trait, cluster) {
  const column = data.columns[trait.column];
  const rest = column.counts.map((total, i) => Math.max(0, total - trait.counts[i]));
  const shares = (counts, total) => counts.map((n) => Math.min(1, n / Math.max(1, total)));
  const own = shares(trait.counts, Math.max(cluster.size, sum(trait.counts)));
  const others = shares(rest, Math.max(data.figures.n_rows - cluster.size, sum(rest)));
  const body = column.levels ? levelBars(column, own, others) : histogram(column, trait, own, others);
  return element("li", { class: `trait ${colourClass(cluster.colour)}` }, traitTitle(column, trait), body);
}

const sum = (values) => values.reduce((a, b) => a + b, 0);

function traitTitle(column, trait) {
  const name = element("span", { class: "feature", title: column.name }, element("bdi", {}, column.name));
  if (column.levels) return element("p", { class: "told" }, name);
  const [own, others] = [trait.inside, trait.outside].map((value) => valueText(value, column));
  const means = element("span", { class: "means" }, element("b", {}, own), ` others ${others}`);
  return element("p", { class: "told" }, name, means);
}

function histogram(column, trait, own, others) {
  const [width, height] = [240, 34];
  const highest = Math.max(...own, ...others, 1e-9);
  const step = width / own.length;
  const y = (share) => (height * (1 - share / highest)).toFixed(1);
  const steps = (shares) => shares.map((share, i) => `L${(i * step).toFixed(1)},${y(share)}H${((i + 1) * step).toFixed(1)}`).join("");
  const area = (shares) => `M0,${height}${steps(shares)}V${height}Z`;
  const svg = shape(
    "svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: "histogram", "aria-hidden": "true" },
    shape("path", { class: "others", d: area(others) }), shape("path", { class: "own", d: area(own) }),
  );
  const ends = column.ends.map((end) => element("span", {}, valueText(end, column)));
  return element("div", { class: "drawn" }, svg, element("p", { class: "ends" }, ...ends));
}

function levelBars(column, own, others) {
  const nShown = own.length === 2 ? 1 : SHOWN_LEVELS; // of two levels, one tells both
  const strongest = (level) => (own.length === 2 ? own[level] : Math.max(own[level], others[level]));
  const order = [...own.keys()].sort((a, b) => strongest(b) - strongest(a)).slice(0, nShown);
  order.sort((a, b) => own[b] - own[a]);
  return element("ul", { class: "levels" }, ...order.map((level) => {
    const bar = element("i", {});
    bar.style.width = `${100 * own[level]}%`;
    const mark = element("u", {});
    mark.style.left = `${100 * others[level]}%`;
    const name = element("span", { class: "level", title: column.levels[level] }, element("bdi", {}, column.levels[level]));
    const told = element("span", { class: "means" }, element("b", {}, percent(own[level])), ` others ${percent(others[level])}`);
    return element("li", {}, name, told, element("span", { class: "bar", "aria-hidden": "true" }, bar, mark));
  }));
}
