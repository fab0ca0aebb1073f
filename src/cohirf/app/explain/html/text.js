/* Numbers, shares and dates as people read them. */

const MINUS = "\u2212";
const count = (n) => n.toLocaleString("en-US");
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
const decimal = (x) => x.toFixed(2).replace("-", MINUS);

function percent(share) { // as the program writes it
  if (share > 0 && share <= 0.005) return "less than 1%";
  if (share > 0.995 && share < 1) return "more than 99%";
  return `${Math.floor(100 * share + 0.5)}%`;
}

function significant(x, digits = 3) { // years such as 2024 have no comma
  const size = Math.abs(x);
  if (size >= 1e15 || (size > 0 && size < 1e-6)) return x.toExponential(digits - 1).replaceAll("-", MINUS);
  if (size >= 1e7) return count(Number(x.toPrecision(digits))).replace("-", MINUS);
  if (size >= 10000) return count(Math.round(x)).replace("-", MINUS);
  const rounded = Number.isInteger(x) || size >= 10 ** digits ? Math.round(x) : Number(x.toPrecision(digits));
  return String(rounded).replace("-", MINUS);
}

const day = (days) => new Date(Math.round(days * 86400e3)).toISOString().slice(0, 10);

function valueText(value, column, digits) { // with the unit of its column, such as €40 or 12%
  if (value === null) return "\u2013";
  if (typeof value === "string") return value;
  if (column.kind === "date") return day(value);
  const [number, unit] = [significant(value, digits), column.unit];
  if (!unit) return number;
  if (["%", "\u2030", "\u00b0"].includes(unit)) return `${number}${unit}`;
  return /^\p{Sc}$/u.test(unit) ? `${value < 0 ? MINUS : ""}${unit}${number.replace(MINUS, "")}` : `${number} ${unit}`;
}

const breakable = (text) => text.replaceAll(/([_./-])/g, "$1\u200b"); // a line may end after these
const shorten = (text, length) => (text.length > length ? `${text.slice(0, Math.max(1, length - 1)).trimEnd()}\u2026` : text);
