// The part of the field that is seen. Coordinates of the field are cells, one for each device; `scale` is CSS pixels a
// cell.

const MOST_SCALE = 64;
const MARGIN = 12;

// Places the topics' blocks side by side, in as many columns as make them largest in this frame.
export function arrange(topics, frameWidth, frameHeight) {
  const first = topics[0];
  if (!first) return { blocks: [], width: 1, height: 1 };
  const width = first.columns;
  const height = Math.ceil(first.devices / first.columns);
  if (topics.length === 1) {
    return { blocks: [{ topic: first, x: 0, y: 0, columns: width, rows: height }], width, height };
  }
  const gapX = Math.max(1, Math.round(width * 0.05));
  const gapY = Math.max(1, Math.round(height * 0.14));
  let best = { scale: 0, across: 1 };
  for (let across = 1; across <= topics.length; across += 1) {
    const down = Math.ceil(topics.length / across);
    const scale = Math.min(frameWidth / (across * (width + gapX)), frameHeight / (down * (height + gapY)));
    if (scale > best.scale) best = { scale, across };
  }
  const blocks = topics.map((topic, index) => ({
    topic,
    x: (index % best.across) * (width + gapX),
    y: gapY + Math.floor(index / best.across) * (height + gapY),
    columns: width,
    rows: height,
  }));
  const down = Math.ceil(topics.length / best.across);
  return { blocks, width: best.across * (width + gapX) - gapX, height: down * (height + gapY) };
}

export class View {
  constructor() {
    // The field's coordinates of the frame's upper left corner.
    this.x = 0;
    this.y = 0;
    this.scale = 1;
    this.width = 1;
    this.height = 1;
    this.field = { width: 1, height: 1, blocks: [] };
    this.isFitted = true;
  }

  // The scale at which the whole field is seen.
  get fitScale() {
    const across = Math.max(1, this.width - 2 * MARGIN) / this.field.width;
    const down = Math.max(1, this.height - 2 * MARGIN) / this.field.height;
    return Math.min(across, down, MOST_SCALE);
  }

  get zoom() { return this.scale / this.fitScale; }

  setFrame(width, height) {
    const centre = this.centre;
    this.width = width;
    this.height = height;
    if (this.isFitted) this.fit(); else this.lookAt(centre.x, centre.y);
  }

  setField(field) {
    this.field = field;
    this.fit();
  }

  get centre() {
    return { x: this.x + this.width / 2 / this.scale, y: this.y + this.height / 2 / this.scale };
  }

  fit() {
    this.isFitted = true;
    this.scale = this.fitScale;
    this.x = (this.field.width - this.width / this.scale) / 2;
    this.y = (this.field.height - this.height / this.scale) / 2;
  }

  lookAt(x, y) {
    this.x = x - this.width / 2 / this.scale;
    this.y = y - this.height / 2 / this.scale;
    this.clamp();
  }

  // Zooms so that what is under a point of the frame stays there.
  zoomAt(factor, px = this.width / 2, py = this.height / 2) {
    const scale = Math.min(MOST_SCALE, this.scale * factor);
    if (scale <= this.fitScale) { this.fit(); return; }
    this.isFitted = false;
    const [x, y] = [this.x + px / this.scale, this.y + py / this.scale];
    this.scale = scale;
    this.x = x - px / scale;
    this.y = y - py / scale;
    this.clamp();
  }

  // Zooms around the middle, or around the device nearest to it when the middle is between two topics.
  zoomCentre(factor) {
    this.zoomAt(factor);
    if (this.isFitted) return;
    const { x, y } = this.centre;
    const within = (value, first, count) => Math.min(Math.max(value, first + 0.5), first + count - 0.5);
    const nearest = this.field.blocks
      .map((block) => ({ x: within(x, block.x, block.columns), y: within(y, block.y, block.rows) }))
      .sort((left, right) => Math.hypot(left.x - x, left.y - y) - Math.hypot(right.x - x, right.y - y))[0];
    if (nearest) this.lookAt(nearest.x, nearest.y);
  }

  // In CSS pixels.
  panBy(dx, dy) {
    if (this.isFitted) return;
    this.x += dx / this.scale;
    this.y += dy / this.scale;
    this.clamp();
  }

  // The field stays in sight: its edge can come to the middle of the frame, no farther.
  clamp() {
    const [w, h] = [this.width / this.scale / 2, this.height / this.scale / 2];
    this.x = Math.min(Math.max(this.x, -w), this.field.width - w);
    this.y = Math.min(Math.max(this.y, -h), this.field.height - h);
  }

  // The device under a point of the frame, or null.
  deviceAt(blocks, px, py) {
    const column = Math.floor(this.x + px / this.scale);
    const row = Math.floor(this.y + py / this.scale);
    for (const block of blocks) {
      const [x, y] = [column - block.x, row - block.y];
      if (x < 0 || y < 0 || x >= block.columns || y >= block.rows) continue;
      const device = y * block.columns + x;
      return device < block.topic.devices ? { block, device, x, y } : null;
    }
    return null;
  }
}
