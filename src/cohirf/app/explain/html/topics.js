/* A page of topics: search, and circles of the map that lead to their texts. */

const topics = [...document.querySelectorAll(".topic")];
const cards = topics.filter((topic) => topic.matches(".card"));
const circles = new Map([...document.querySelectorAll("[data-topic]")].map((link) => [link.dataset.topic, link]));
const input = document.getElementById("find");
const found = document.getElementById("found");
const openAtFirst = new Map(topics.map((topic) => [topic, topic.open]));
const textOf = new Map(topics.map((topic) => [topic, ownText(topic).toLowerCase()]));

function ownText(topic) {
  if (topic.matches(".card")) return topic.textContent;
  return [...topic.children].slice(0, 2).map((part) => part.textContent).join(" ");
}

function show(topic) {
  for (let above = topic.parentElement.closest("details"); above; above = above.parentElement.closest("details")) {
    above.open = true;
  }
  topic.scrollIntoView({ block: "center" });
  topic.focus({ preventScroll: true });
}

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = new Set(topics.filter((topic) => words.every((word) => textOf.get(topic).includes(word))));
  for (const topic of topics) {
    const inside = [...topic.querySelectorAll(".topic")];
    const above = topic.parentElement.closest(".topic.match");
    topic.classList.toggle("match", matches.has(topic) && words.length > 0 && !topic.matches(".card"));
    topic.hidden = !matches.has(topic) && !above && !inside.some((one) => matches.has(one));
    if (!topic.matches(".card")) {
      topic.open = words.length ? inside.some((one) => matches.has(one)) : openAtFirst.get(topic);
    }
    circles.get(topic.id)?.classList.toggle("faded", topic.hidden);
  }
  const nShown = cards.filter((card) => !card.hidden).length;
  found.textContent = words.length ? `${nShown} of ${cards.length} topics` : "";
}

input.addEventListener("input", search);
document.querySelector(".topic-map").addEventListener("click", (event) => {
  const link = event.target.closest("[data-topic]");
  if (!link) return;
  event.preventDefault();
  const topic = document.getElementById(link.dataset.topic);
  if (topic.hidden) {
    input.value = "";
    search();
  }
  show(topic);
});
