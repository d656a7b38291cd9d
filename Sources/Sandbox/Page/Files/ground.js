// The ground of the field: the standing state of the devices, fetched for what is seen and as coarse as it is seen.

const DETAIL_MILLISECONDS = 2000;
const OVERVIEW_MILLISECONDS = 8000;
const OVERVIEW_SQUARES = 320;
const MOST_SQUARES = 1 << 21;
const MOST_CELL = 128;

// Squares of a power of two devices, at least about one pixel each.
function cellFor(scale) {
  let cell = 1;
  while (cell < MOST_CELL && cell * scale * devicePixelRatio < 0.75) cell *= 2;
  return cell;
}

class Image {
  constructor(part, bytes) {
    Object.assign(this, part);
    this.bytes = bytes;
    this.canvas = document.createElement("canvas");
    this.canvas.width = part.width;
    this.canvas.height = part.height;
    this.palette = null;
  }

  draw(context, view, block, palette) {
    if (this.palette !== palette) {
      const pixels = new Uint32Array(this.bytes.length);
      for (let index = 0; index < pixels.length; index += 1) pixels[index] = palette[this.bytes[index]];
      const data = new ImageData(new Uint8ClampedArray(pixels.buffer), this.width, this.height);
      this.canvas.getContext("2d").putImageData(data, 0, 0);
      this.palette = palette;
    }
    const left = (block.x + this.x - view.x) * view.scale;
    const top = (block.y + this.y - view.y) * view.scale;
    const size = this.cell * view.scale;
    context.drawImage(this.canvas, left, top, this.width * size, this.height * size);
  }

  covers(part) {
    return part.cell === this.cell && part.x >= this.x && part.y >= this.y
      && part.x + part.width * part.cell <= this.x + this.width * this.cell
      && part.y + part.height * part.cell <= this.y + this.height * this.cell;
  }
}

export class Ground {
  // `onChange` is called when there is something new to draw.
  constructor(onChange) {
    this.onChange = onChange;
    this.details = new Map();
    this.overviews = new Map();
    this.isFetching = false;
    this.detailsAt = new Map();
    this.overviewsAt = new Map();
  }

  draw(context, view, blocks, palette) {
    for (const block of blocks) {
      if (!visiblePart(view, block)) continue;
      const detail = this.details.get(block.topic.name);
      const part = visiblePart(view, block);
      if (!detail?.covers(part)) this.overviews.get(block.topic.name)?.draw(context, view, block, palette);
      detail?.draw(context, view, block, palette);
    }
  }

  // The state of a device, where it is known exactly: 0 online, 1 offline, 2 uninstalled, 3 removed.
  stateOf(found) {
    const image = this.details.get(found.block.topic.name);
    if (image?.cell !== 1) return null;
    const [x, y] = [found.x - image.x, found.y - image.y];
    if (x < 0 || y < 0 || x >= image.width || y >= image.height) return null;
    return { 0: 0, 5: 1, 30: 2, 180: 3 }[image.bytes[y * image.width + x]] ?? null;
  }

  // To be called now and then, and when the view changed: fetches what is missing or old, one after the other.
  async refresh(view, blocks) {
    if (this.isFetching) return;
    this.isFetching = true;
    try {
      for (const block of blocks) {
        const name = block.topic.name;
        const now = performance.now();
        if (now - (this.overviewsAt.get(name) ?? -Infinity) > OVERVIEW_MILLISECONDS) {
          let cell = 1;
          while (cell < MOST_CELL && block.columns / cell > OVERVIEW_SQUARES) cell *= 2;
          const whole = {
            x: 0, y: 0, cell, width: Math.ceil(block.columns / cell), height: Math.ceil(block.rows / cell),
          };
          await this.fetch(this.overviews, block, whole);
          this.overviewsAt.set(name, now);
        }
        const part = visiblePart(view, block);
        if (!part) continue;
        const isOld = now - (this.detailsAt.get(name) ?? -Infinity) > DETAIL_MILLISECONDS;
        if (isOld || !this.details.get(name)?.covers(part)) {
          await this.fetch(this.details, block, part);
          this.detailsAt.set(name, now);
        }
      }
    } catch {
      // The event stream says when the connection is lost, and this is asked again.
    } finally {
      this.isFetching = false;
    }
  }

  async fetch(images, block, part) {
    const query = new URLSearchParams({ topic: block.topic.name, ...part });
    const answer = await fetch(`/field?${query}`);
    if (!answer.ok) throw new Error(`field: ${answer.status}`);
    const bytes = new Uint8Array(await answer.arrayBuffer());
    const old = images.get(block.topic.name);
    const isSame = old?.covers(part) && old.width === part.width && old.height === part.height
      && old.bytes.every((byte, index) => byte === bytes[index]);
    if (isSame) return;
    images.set(block.topic.name, new Image(part, bytes));
    this.onChange();
  }
}

// The part of a block that is seen, in whole squares; null when nothing is.
function visiblePart(view, block) {
  let cell = cellFor(view.scale);
  for (;;) {
    const x = Math.max(0, Math.floor((view.x - block.x) / cell)) * cell;
    const y = Math.max(0, Math.floor((view.y - block.y) / cell)) * cell;
    const right = Math.min(block.columns, view.x - block.x + view.width / view.scale);
    const bottom = Math.min(block.rows, view.y - block.y + view.height / view.scale);
    if (right <= x || bottom <= y) return null;
    const width = Math.ceil((right - x) / cell);
    const height = Math.ceil((bottom - y) / cell);
    if (width * height <= MOST_SQUARES || cell >= MOST_CELL) return { x, y, cell, width, height };
    cell *= 2;
  }
}
