/* Everything at once, and again when the window changes or the page is printed. */

function arrange() {
  find("map").closest(".overview").classList.toggle("alone", !data.merges || data.cuts.length < 2);
  placePoints();
}

function drawAll() {
  arrange();
  drawCurve();
  drawMap();
  drawTree();
}

readAddress();
follow();
find("cutbar").hidden = data.cuts.length < 2;
describeCut();
titleCut();
arrange();
runAll(onCut);
drawLevels();

function changeTheme(dark) {
  setTheme(dark);
  drawMap();
  drawTree();
}
prefersDark.addEventListener("change", (event) => changeTheme(event.matches));
find("theme").addEventListener("click", () => changeTheme(!isDark()));

let resizing = 0;
let widthDrawn = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === widthDrawn) return; // on a phone, the height changes while scrolling
  widthDrawn = innerWidth;
  cancelAnimationFrame(resizing);
  resizing = requestAnimationFrame(drawAll);
});

let themeOnScreen;
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
  themeOnScreen = isDark();
  setTheme(false);
  drawAll();
});
addEventListener("afterprint", () => { setTheme(themeOnScreen); drawAll(); });
root.dataset.ready = "yes";
