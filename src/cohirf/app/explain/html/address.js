/* The address keeps the number of clusters and the names that the reader gave, so that a link shows the same. */

function writeAddress() {
  const kept = new URLSearchParams();
  if (!isFinal()) kept.set("clusters", cutNow().n_clusters);
  for (const [place, name] of state.names) kept.set(`name-${place}`, name);
  const address = `${location.pathname}${location.search}${kept.size ? `#${kept}` : ""}`;
  history.replaceState(null, "", address);
}

function readAddress() {
  const kept = new URLSearchParams(location.hash.slice(1));
  const wanted = Number(kept.get("clusters"));
  const cut = data.cuts.findIndex((one) => one.n_clusters === wanted);
  state.cut = kept.has("clusters") && cut >= 0 ? cut : data.final;
  state.names = new Map();
  for (const [key, name] of kept) {
    const place = Number(key.startsWith("name-") ? key.slice(5) : NaN);
    if (data.clusters[place] && name) state.names.set(place, name.slice(0, MAX_NAME));
  }
}

const MAX_NAME = 200; // characters

function rename(cluster, name) {
  const clean = name.replaceAll(/\s+/g, " ").trim().slice(0, MAX_NAME);
  if (clean === "" || clean === cluster.given) state.names.delete(cluster.place);
  else state.names.set(cluster.place, clean);
  writeAddress();
  runAll(onName);
}

addEventListener("hashchange", () => {
  if (location.hash.includes("=") || location.hash === "") { readAddress(); showCut(); }
});
for (const link of document.querySelectorAll("nav a, .skip")) { // an anchor would replace what the address keeps
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const target = document.querySelector(link.getAttribute("href"));
    target.scrollIntoView();
    target.focus({ preventScroll: true });
  });
}
