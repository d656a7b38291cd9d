// A line over time as paths of SVG.

// The paths of a line and of the area below it. `values` are the newest of `count`, the newest at the right; null is a
// gap. `top` is the value at the upper edge.
export function linePaths(values, { count, width, height, top }) {
  const left = count - values.length;
  const x = (index) => (((left + index) / Math.max(1, count - 1)) * width).toFixed(1);
  const y = (value) => (height - 2 - (value / top) * (height - 5)).toFixed(1);
  let stroke = "";
  let area = "";
  let start = -1;
  for (let index = 0; index <= values.length; index += 1) {
    const value = values[index] ?? null;
    if (value !== null) {
      if (start < 0) {
        start = index;
        area += `M${x(index)},${height}`;
      }
      stroke += `${index === start ? "M" : "L"}${x(index)},${y(value)}`;
      area += `L${x(index)},${y(value)}`;
    } else if (start >= 0) {
      // A point alone is seen, too.
      if (index - start === 1) stroke += "h0.1";
      area += `L${x(index - 1)},${height}Z`;
      start = -1;
    }
  }
  return { stroke, area };
}

// The smallest round number above all values: 1, 2 or 5 and zeros.
export function roundTop(values, least = 1) {
  const most = values.reduce((top, value) => (value !== null && value > top ? value : top), least);
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= most) ?? most;
}
