// The style sheet's colours as numbers for pixels, in the theme that is on.

export const KINDS = ["delivered", "stored", "feedback", "refused"];
export const STATES = ["online", "offline", "uninstalled", "removed"];

function rgb(style, name) {
  const hex = style.getPropertyValue(`--${name}`).trim();
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

export function readColours() {
  const style = getComputedStyle(document.documentElement);
  const kinds = KINDS.map((kind) => rgb(style, kind));
  const states = STATES.map((state) => rgb(style, state));
  return {
    kinds,
    // Without alpha, in the byte order of ImageData.
    kindWords: kinds.map(([r, g, b]) => (b << 16) | (g << 8) | r),
    ground: groundPalette(states),
    field: style.getPropertyValue("--field").trim(),
    text: style.getPropertyValue("--text").trim(),
    line: style.getPropertyValue("--line").trim(),
  };
}

// The colour of each byte of GET /field: offline + 6 × uninstalled + 36 × removed, shares in fifths; 255 is nothing.
function groundPalette(states) {
  const palette = new Uint32Array(256);
  for (let byte = 0; byte < 216; byte += 1) {
    const shares = [0, byte % 6, Math.floor(byte / 6) % 6, Math.floor(byte / 36)];
    shares[0] = Math.max(0, 5 - shares[1] - shares[2] - shares[3]);
    const total = shares.reduce((sum, share) => sum + share, 0);
    const mixed = [0, 1, 2].map((part) =>
      Math.round(states.reduce((sum, colour, state) => sum + colour[part] * shares[state], 0) / total));
    palette[byte] = ((255 << 24) | (mixed[2] << 16) | (mixed[1] << 8) | mixed[0]) >>> 0;
  }
  return palette;
}
