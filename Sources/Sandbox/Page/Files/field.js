// The wall: ground, flashes, labels and what is under the pointer, drawn only while something changes.

import { readColours, STATES } from "/page/colours.js";
import { Flashes } from "/page/flashes.js";
import { Ground } from "/page/ground.js";
import { navigate, zoomIn, zoomOut } from "/page/navigation.js";
import { LastNotification } from "/page/notification.js";
import { arrange, View } from "/page/view.js";

const FRAME_MILLISECONDS = 30;
const CALM_FRAME_MILLISECONDS = 500;
// From this scale on, cells are drawn apart and can be pointed at.
const APART = 6;
const format = new Intl.NumberFormat("en");

export class Field {
  constructor() {
    this.element = document.getElementById("field");
    this.canvas = document.getElementById("canvas");
    this.context = this.canvas.getContext("2d");
    this.labels = document.getElementById("labels");
    this.readout = document.getElementById("device");
    this.view = new View();
    this.flashes = new Flashes();
    this.ground = new Ground(() => this.redraw());
    this.colours = readColours();
    this.notification = new LastNotification();
    this.topics = [];
    this.chosen = "";
    this.blocks = [];
    this.blocksByTopic = [];
    this.point = null;
    this.lastDraw = -Infinity;
    this.isWanted = false;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");

    navigate(this.element, this.view, {
      onMove: () => this.moved(),
      onPoint: (point) => this.pointAt(point),
      onClick: (point) => this.openAt(point),
    });
    const button = (id, change) => document.getElementById(id).addEventListener("click", () => {
      change();
      this.moved();
    });
    button("zoom-in", () => zoomIn(this.view));
    button("zoom-out", () => zoomOut(this.view));
    button("zoom-fit", () => this.view.fit());
    new ResizeObserver(() => this.resized()).observe(this.element);
    setInterval(() => this.fetchGround(), 1000);
  }

  // The topics of the hello.
  setTopics(topics) {
    const isSame = JSON.stringify(topics) === JSON.stringify(this.topics);
    this.topics = topics;
    if (isSame) return;
    this.ground = new Ground(() => this.redraw());
    this.layOut();
  }

  // A topic's name, or "" for all.
  choose(name) {
    this.chosen = name;
    this.layOut();
  }

  themeChanged() {
    this.colours = readColours();
    this.redraw();
  }

  flash(document) {
    this.flashes.add(document, performance.now());
    this.redraw();
  }

  layOut() {
    const shown = this.topics.filter((topic) => !this.chosen || topic.name === this.chosen);
    const { blocks, width, height } = arrange(shown, this.view.width, this.view.height);
    this.blocks = blocks;
    this.blocksByTopic = this.topics.map((topic) => blocks.find((block) => block.topic === topic));
    this.view.setField({ width, height, blocks });
    this.labels.replaceChildren(...blocks.map((block) => {
      const label = document.createElement("span");
      label.textContent = block.topic.name;
      return label;
    }));
    this.moved();
  }

  resized() {
    const { clientWidth, clientHeight } = this.element;
    this.canvas.width = Math.round(clientWidth * devicePixelRatio);
    this.canvas.height = Math.round(clientHeight * devicePixelRatio);
    const wasFitted = this.view.isFitted;
    this.view.setFrame(clientWidth, clientHeight);
    if (wasFitted) this.layOut(); else this.moved();
  }

  moved() {
    const { view } = this;
    this.element.dataset.zoom = view.zoom.toFixed(3);
    this.element.dataset.scale = view.scale.toFixed(4);
    this.element.dataset.x = view.x.toFixed(2);
    this.element.dataset.y = view.y.toFixed(2);
    document.getElementById("zoom").textContent = view.isFitted ? "fit" : `× ${view.zoom.toPrecision(3)}`;
    this.placeLabels();
    this.redraw(true);
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.fetchGround(), 90);
    this.showDevice();
  }

  placeLabels() {
    [...this.labels.children].forEach((label, index) => {
      const block = this.blocks[index];
      const width = block.columns * this.view.scale;
      label.hidden = this.blocks.length < 2 || width < 60;
      label.style.left = `${(block.x - this.view.x) * this.view.scale}px`;
      label.style.top = `${(block.y - this.view.y) * this.view.scale}px`;
      label.style.maxWidth = `${width}px`;
    });
  }

  async fetchGround() {
    if (document.hidden) return;
    await this.ground.refresh(this.view, this.blocks);
    this.showDevice();
  }

  pointAt(point) {
    this.point = point;
    this.showDevice();
    if (this.view.scale >= APART) this.redraw(true);
  }

  openAt(point) {
    const found = this.view.scale >= APART && this.view.deviceAt(this.blocks, point.x, point.y);
    if (found) this.notification.open(found.block.topic.name, found.device);
  }

  showDevice() {
    const found = this.point && this.view.deviceAt(this.blocks, this.point.x, this.point.y);
    let text = "";
    if (found && this.view.scale >= APART) {
      const state = STATES[this.ground.stateOf(found)] ?? "…";
      text = `${found.block.topic.name} · device ${format.format(found.device)} · ${state}`;
    } else if (found) {
      text = `${found.block.topic.name} · around device ${format.format(found.device)} · zoom in to see single ones`;
    }
    if (this.readout.textContent !== text) this.readout.textContent = text;
  }

  redraw(isAtOnce = false) {
    if (isAtOnce) this.lastDraw = -Infinity;
    if (this.isWanted) return;
    this.isWanted = true;
    requestAnimationFrame((now) => this.frame(now));
  }

  frame() {
    this.isWanted = false;
    const now = performance.now();
    const pause = this.calm.matches ? CALM_FRAME_MILLISECONDS : FRAME_MILLISECONDS;
    if (now - this.lastDraw < pause - 4) {
      this.redraw();
      return;
    }
    this.lastDraw = now;
    const { context, view, colours } = this;
    const ratio = devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.imageSmoothingEnabled = false;
    context.clearRect(0, 0, view.width, view.height);
    this.ground.draw(context, view, this.blocks, colours.ground);
    const isBusy = this.flashes.draw(context, view, this.blocksByTopic, colours, now, this.calm.matches);
    if (view.scale >= APART) this.drawGaps();
    this.drawPoint();
    if (isBusy) this.redraw();
  }

  drawGaps() {
    const { context, view } = this;
    const gap = Math.max(1, Math.min(5, view.scale * 0.1));
    context.fillStyle = this.colours.field;
    for (let column = Math.ceil(view.x); column <= view.x + view.width / view.scale; column += 1) {
      context.fillRect((column - view.x) * view.scale - gap / 2, 0, gap, view.height);
    }
    for (let row = Math.ceil(view.y); row <= view.y + view.height / view.scale; row += 1) {
      context.fillRect(0, (row - view.y) * view.scale - gap / 2, view.width, gap);
    }
  }

  drawPoint() {
    const { context, view } = this;
    if (!this.point || view.scale < APART) return;
    const found = view.deviceAt(this.blocks, this.point.x, this.point.y);
    if (!found) return;
    context.strokeStyle = this.colours.text;
    context.lineWidth = 1.5;
    const x = (found.block.x + found.x - view.x) * view.scale;
    const y = (found.block.y + found.y - view.y) * view.scale;
    context.strokeRect(x, y, view.scale, view.scale);
  }
}
