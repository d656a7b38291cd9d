// The latest events, fading: a ring of (topic, device, kind, time), drawn over the ground.

const CAPACITY = 1 << 17;
const MASK = CAPACITY - 1;
// Milliseconds for which a flash is seen, longer for the rare kinds: delivered, stored, feedback, refused.
const LIFE = [900, 1300, 1800, 2600];
const LONGEST = Math.max(...LIFE);
// Below so many, each one also gets a ring around it: a single one on a field of millions is to be seen.
const FEW = 160;
// Up to this scale: a large cell is seen without.
const RINGED_SCALE = 16;

export class Flashes {
  constructor() {
    this.devices = new Uint32Array(CAPACITY);
    this.topics = new Uint16Array(CAPACITY);
    this.kinds = new Uint8Array(CAPACITY);
    this.births = new Float64Array(CAPACITY);
    this.head = 0;
    this.tail = 0;
    this.canvas = document.createElement("canvas");
    this.pixels = new Uint32Array(0);
  }

  get count() { return this.head - this.tail; }

  // Takes an event of the stream: by topic, for each kind the devices, four characters of base64 each. They are spread
  // over the tenth of a second in which they happened.
  add(document, now) {
    for (const [topic, kinds] of Object.entries(document)) {
      kinds.forEach((text, kind) => {
        const bytes = atob(text);
        const count = bytes.length / 3;
        for (let index = 0; index < count; index += 1) {
          const at = index * 3;
          const slot = this.head & MASK;
          this.devices[slot] =
            (bytes.charCodeAt(at) << 16) | (bytes.charCodeAt(at + 1) << 8) | bytes.charCodeAt(at + 2);
          this.topics[slot] = Number(topic);
          this.kinds[slot] = kind;
          this.births[slot] = now + (index / count) * 100;
          this.head += 1;
        }
      });
    }
    if (this.count > CAPACITY) this.tail = this.head - CAPACITY;
  }

  // Draws them; false when there is nothing to draw any more.
  draw(context, view, blocksByTopic, colours, now, isCalm) {
    while (this.tail < this.head && now - this.births[this.tail & MASK] > LONGEST) this.tail += 1;
    if (this.count === 0) return false;
    const asCells = view.scale >= 3;
    // The image's pixels are cells when these can be seen, else pixels of the screen.
    const originX = asCells ? Math.floor(view.x) : view.x;
    const originY = asCells ? Math.floor(view.y) : view.y;
    const unit = asCells ? 1 : view.scale;
    const width = asCells ? Math.ceil(view.width / view.scale) + 2 : Math.ceil(view.width);
    const height = asCells ? Math.ceil(view.height / view.scale) + 2 : Math.ceil(view.height);
    this.clear(width, height);
    const rings = [];
    const isFew = this.count <= FEW && !isCalm;
    for (let at = this.tail; at < this.head; at += 1) {
      const slot = at & MASK;
      const kind = this.kinds[slot];
      const age = now - this.births[slot];
      if (age < 0 || age > LIFE[kind]) continue;
      const block = blocksByTopic[this.topics[slot]];
      if (!block) continue;
      const device = this.devices[slot];
      const column = block.x + (device % block.columns);
      const row = block.y + Math.floor(device / block.columns);
      const x = Math.floor((column + (asCells ? 0 : 0.5) - originX) * unit);
      const y = Math.floor((row + (asCells ? 0 : 0.5) - originY) * unit);
      if (x < 0 || y < 0 || x >= width || y >= height) continue;
      const rest = isCalm ? 0.8 : 1 - age / LIFE[kind];
      const alpha = Math.round(255 * (isCalm ? rest : rest * (0.35 + 0.65 * rest)));
      const word = colours.kindWords[kind];
      this.stamp(x, y, width, height, alpha, word);
      if (!asCells) this.halo(x, y, width, height, alpha, word);
      if (isFew && view.scale < RINGED_SCALE) rings.push([column, row, kind, age / LIFE[kind]]);
    }
    this.canvas.getContext("2d").putImageData(this.image, 0, 0);
    const size = asCells ? view.scale : 1;
    const left = asCells ? (originX - view.x) * view.scale : 0;
    const top = asCells ? (originY - view.y) * view.scale : 0;
    context.drawImage(this.canvas, left, top, width * size, height * size);
    for (const ring of rings) drawRing(context, view, colours, ring);
    return true;
  }

  clear(width, height) {
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = new ImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    } else {
      this.pixels.fill(0);
    }
  }

  // The brightest one on a pixel wins.
  stamp(x, y, width, height, alpha, word) {
    if (x < 0 || y < 0 || x >= width || y >= height) return;
    const index = y * width + x;
    if (this.pixels[index] >>> 24 < alpha) this.pixels[index] = ((alpha << 24) | word) >>> 0;
  }

  halo(x, y, width, height, alpha, word) {
    const side = (alpha * 0.42) | 0;
    this.stamp(x - 1, y, width, height, side, word);
    this.stamp(x + 1, y, width, height, side, word);
    this.stamp(x, y - 1, width, height, side, word);
    this.stamp(x, y + 1, width, height, side, word);
  }
}

function drawRing(context, view, colours, [column, row, kind, progress]) {
  const [r, g, b] = colours.kinds[kind];
  const x = (column + 0.5 - view.x) * view.scale;
  const y = (row + 0.5 - view.y) * view.scale;
  const radius = Math.max(view.scale * 0.7, 3) + 9 * progress;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.strokeStyle = `rgba(${r}, ${g}, ${b}, ${(1 - progress) * 0.8})`;
  context.lineWidth = 1.5;
  context.stroke();
}
