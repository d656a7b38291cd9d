// Hands on the field: wheel, drag, pinch and keys move the view.

const STEP = 1.5;
// A pointer that went no farther meant to click.
const CLICK_PIXELS = 4;

// `onMove` is called after the view changed, `onPoint` with a point of the frame, or null when nothing is pointed at,
// `onClick` with a point that was clicked, or the middle for the enter key.
export function navigate(element, view, { onMove, onPoint, onClick }) {
  const pointers = new Map();
  // The place at which the pointer went down, as long as it may be a click.
  let pressed = null;
  const place = (event) => {
    const frame = element.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  };
  const move = (change) => {
    change();
    onMove();
  };

  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
    const { x, y } = place(event);
    move(() => view.zoomAt(Math.exp(-Math.max(-240, Math.min(240, pixels)) / 240), x, y));
    onPoint({ x, y });
  }, { passive: false });

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    pressed = pointers.size === 0 ? place(event) : null;
    pointers.set(event.pointerId, place(event));
    element.classList.add("dragging");
  });
  element.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = pointers.get(event.pointerId);
    onPoint(now);
    if (!before) return;
    if (pressed && Math.hypot(now.x - pressed.x, now.y - pressed.y) > CLICK_PIXELS) pressed = null;
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    pointers.set(event.pointerId, now);
    if (!other) {
      move(() => view.panBy(before.x - now.x, before.y - now.y));
      return;
    }
    const distance = (point) => Math.hypot(point.x - other.x, point.y - other.y);
    if (distance(before) < 1) return;
    const factor = distance(now) / distance(before);
    move(() => view.zoomAt(factor, (now.x + other.x) / 2, (now.y + other.y) / 2));
  });
  const release = (event) => {
    pointers.delete(event.pointerId);
    if (pointers.size === 0) element.classList.remove("dragging");
  };
  element.addEventListener("pointerup", (event) => {
    if (pressed && pointers.has(event.pointerId)) onClick(pressed);
    release(event);
  });
  element.addEventListener("pointercancel", release);
  element.addEventListener("pointerleave", () => { if (pointers.size === 0) onPoint(null); });
  element.addEventListener("dblclick", (event) => {
    const { x, y } = place(event);
    move(() => view.zoomAt(2 * STEP, x, y));
  });

  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = { x: view.width / 2, y: view.height / 2 };
    if (event.key === "Enter") onClick(middle);
    const [across, down] = event.shiftKey ? [view.scale, view.scale] : [view.width / 8, view.height / 8];
    const change = {
      ArrowLeft: () => view.panBy(-across, 0),
      ArrowRight: () => view.panBy(across, 0),
      ArrowUp: () => view.panBy(0, -down),
      ArrowDown: () => view.panBy(0, down),
      "+": () => zoomIn(view),
      "=": () => zoomIn(view),
      "-": () => zoomOut(view),
      "0": () => view.fit(),
    }[event.key];
    if (!change) return;
    event.preventDefault();
    move(change);
    onPoint(middle);
  });
}

export const zoomIn = (view) => view.zoomCentre(STEP);
export const zoomOut = (view) => view.zoomCentre(1 / STEP);
