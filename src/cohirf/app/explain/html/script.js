/* The script that repeats the fit; at another cut, it ends with that cut. */

function scriptText() {
  const { script } = data.run;
  return isFinal() ? script : `${script}\nlabels = model.hierarchy_.cut(n_clusters=${cutNow().n_clusters})`;
}
const showScript = () => { find("script").textContent = scriptText(); };
find("save-script").addEventListener("click", () => saveFile("clusters.py", `${scriptText()}\nprint(labels)\n`, "text/x-python"));

onCut.push(showScript);
