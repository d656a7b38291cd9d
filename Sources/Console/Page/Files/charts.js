// Charts of the last hour: a figure with lines over time and a cursor that mouse and arrow keys move.

import { linePaths, roundTop } from "/page/line.js";
import { axisText } from "/page/units.js";

const WIDTH = 600;
const HEIGHT = 120;
const SVG = "http://www.w3.org/2000/svg";

function make(name, className, parent) {
  const element = document.createElement(name);
  element.className = className;
  parent.append(element);
  return element;
}

export class Chart {
  // `series`: { name, label, kind, area } in the order of drawing; `unit` follows a value; `least` is the lowest top.
  constructor(id, { title, series, unit = "", least = 1 }) {
    this.series = series;
    this.unit = unit;
    this.least = least;
    this.title = title;
    this.cursor = null;
    const figure = document.getElementById(id);
    const caption = make("figcaption", "", figure);
    make("b", "", caption).textContent = title;
    this.readout = make("span", "readout", caption);
    this.plot = make("div", "plot", figure);
    this.plot.tabIndex = 0;
    this.plot.setAttribute("role", "group");
    this.plot.setAttribute("aria-label", `${title}, the last hour; arrow keys read values`);
    this.plot.id = `${id}-plot`;
    const drawing = document.createElementNS(SVG, "svg");
    drawing.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    drawing.setAttribute("preserveAspectRatio", "none");
    drawing.setAttribute("aria-hidden", "true");
    this.plot.append(drawing);
    this.paths = series.map(({ kind, area }) => {
      const path = (className) => {
        const element = document.createElementNS(SVG, "path");
        element.setAttribute("class", `${className} ${kind}-line`);
        drawing.append(element);
        return element;
      };
      return { area: area ? path("line-area") : null, stroke: path("line-stroke") };
    });
    this.top = make("span", "top-label", this.plot);
    this.start = make("span", "start-label", this.plot);
    make("span", "end-label", this.plot).textContent = "now";
    this.mark = make("span", "mark", this.plot);
    this.mark.hidden = true;
    this.plot.addEventListener("pointermove", (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => this.move(null));
    this.plot.addEventListener("blur", () => this.move(null));
    this.plot.addEventListener("keydown", (event) => this.key(event));
  }

  draw(history) {
    this.history = history;
    const columns = this.series.map(({ name }) => history.column(name));
    const top = roundTop(columns.flat(), this.least);
    const size = { count: history.shown, width: WIDTH, height: HEIGHT, top };
    columns.forEach((column, index) => {
      const { stroke, area } = linePaths(column, size);
      this.paths[index].stroke.setAttribute("d", stroke);
      this.paths[index].area?.setAttribute("d", area);
    });
    this.start.textContent = `${Math.round((history.shown * history.slotSeconds) / 60)} min ago`;
    this.top.textContent = `${axisText(top)}${this.unit}`;
    this.show();
  }

  point(event) {
    const box = this.plot.getBoundingClientRect();
    this.move(Math.round((1 - (event.clientX - box.left) / box.width) * (this.history?.shown ?? 1)));
  }

  key(event) {
    const steps = { ArrowLeft: 1, ArrowRight: -1, PageUp: 60, PageDown: -60 };
    const slots = this.history?.shown ?? 1;
    if (event.key === "Home") this.move(slots - 1);
    else if (event.key === "End") this.move(0);
    else if (steps[event.key]) this.move((this.cursor ?? -Math.sign(steps[event.key])) + steps[event.key]);
    else return;
    event.preventDefault();
  }

  // `slot` counts from the newest, 0; null takes the cursor away.
  move(slot) {
    this.cursor = slot === null ? null : Math.min(Math.max(slot, 0), (this.history?.shown ?? 1) - 1);
    this.show();
  }

  show() {
    if (!this.history) return;
    const slot = this.cursor ?? 0;
    const values = this.series.map(({ name, label, kind }) => {
      const value = this.history.column(name).at(-1 - slot) ?? null;
      return { kind, text: `${value === null ? "–" : axisText(value) + this.unit} ${label}`.trim() };
    });
    const seconds = slot * this.history.slotSeconds;
    const when = this.cursor === null ? "" : seconds < 60 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
    const parts = values.map(({ kind, text }) => {
      const part = document.createElement("span");
      const dot = make("i", `dot ${kind}`, part);
      dot.after(text);
      return part;
    });
    this.readout.replaceChildren(...parts, when);
    this.mark.hidden = this.cursor === null;
    this.mark.style.left = `${100 * (1 - slot / (this.history.shown - 1))}%`;
  }
}
