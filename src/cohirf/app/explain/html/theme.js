/* Light and dark: as the system is set, until the reader presses the button. */

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => root.dataset.theme === "dark";
const colourOf = (colour) => data.palette[isDark() ? "dark" : "light"][colour < 0 ? nColours : colour % nColours];
const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();

function setTheme(dark) {
  root.dataset.theme = dark ? "dark" : "light";
  find("theme").setAttribute("aria-pressed", String(dark));
}
setTheme(prefersDark.matches);
