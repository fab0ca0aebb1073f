/* Elements of the page. Text from the data is added as text nodes only, so that it cannot become markup. */

const find = (id) => document.getElementById(id);
const root = document.documentElement;
const SVG = "http://www.w3.org/2000/svg";

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}
const element = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const shape = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const nColours = data.palette.light.length - 1; // the last colour is that of noise
const colourClass = (colour) => (colour < 0 ? "c-noise" : `c-${colour % nColours}`);
const badge = (colour, number) => element("span", { class: `badge ${colourClass(colour)}` }, number < 0 ? "\u2013" : String(number));

function inkOn(colour) { // black or white, whichever is easier to read on a colour
  const [red, green, blue] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255);
  return 0.299 * red + 0.587 * green + 0.114 * blue > 0.55 ? "#000" : "#fff";
}

// ---- one tip for all charts

function showTip(event, ...lines) {
  const tip = find("tip");
  tip.replaceChildren(...lines.map((line) => (typeof line === "string" ? element("span", {}, line) : line)));
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  const left = event.clientX + 14 + width > innerWidth ? event.clientX - 14 - width : event.clientX + 14;
  const top = event.clientY + 18 + height > innerHeight ? event.clientY - 12 - height : event.clientY + 18;
  tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
}
const hideTip = () => { find("tip").hidden = true; };
