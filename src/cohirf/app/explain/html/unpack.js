/* Packed arrays: base64 of compressed planes of bytes. */

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate")));
}

const ARRAYS = { Int8Array, Int16Array, Int32Array, Uint8Array, Uint16Array, Uint32Array, Float32Array };

async function unpack(packed) {
  const planes = new Uint8Array(await (await inflate(packed.data)).arrayBuffer());
  const Numbers = ARRAYS[`${packed.type}Array`];
  const width = Numbers.BYTES_PER_ELEMENT;
  const n = planes.length / width;
  const bytes = new Uint8Array(planes.length);
  for (let plane = 0; plane < width; plane++) {
    for (let i = 0; i < n; i++) bytes[i * width + plane] = planes[plane * n + i];
  }
  return new Numbers(bytes.buffer);
}

if (!globalThis.DecompressionStream) {
  const trouble = document.getElementById("trouble");
  trouble.textContent = "This browser is too old for this page. Use a browser from 2023 or later.";
  trouble.hidden = false;
  return;
}
const data = await (await inflate(document.getElementById("report-data").textContent)).json();
