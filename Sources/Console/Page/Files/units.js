// Quantities as people read them.

import { whole } from "/page/text.js";

export function durationText(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${whole.format(seconds)} s`;
  if (seconds < 7200) return `${whole.format(seconds / 60)} min`;
  if (seconds < 172_800) return `${whole.format(seconds / 3600)} h`;
  return `${whole.format(seconds / 86_400)} d`;
}

// Of times that may be short.
export const timeText = (seconds) => (seconds < 1 ? `${whole.format(seconds * 1000)} ms` : durationText(seconds));

export function bytesText(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  const mebibytes = bytes / 1_048_576;
  return mebibytes < 1024 ? `${whole.format(mebibytes)} MiB` : `${(mebibytes / 1024).toFixed(1)} GiB`;
}

export const counted = (count, noun) => `${whole.format(count)} ${noun}${count === 1 ? "" : "s"}`;

// A number for a chart's axis: 1,500 or 0.5.
export const axisText = (value) => (value > 0 && value < 10 ? String(Number(value.toFixed(2))) : whole.format(value));
