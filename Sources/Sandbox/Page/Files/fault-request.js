// Turns the texts of a fault's fields into the request that switches it on, or names the field that is wrong. Knows no
// page.

import { whole } from "/page/text.js";

// A field that cannot be sent, by its key, in the words of its label.
export class WrongSetting extends Error {
  constructor({ key, label }, problem) {
    super(`“${label}” ${problem}`);
    this.key = key;
  }
}

// `texts`: by key what stands in each field, or null where it is nothing that a number could be.
export function faultRequest(fault, texts) {
  const body = { name: fault.name };
  const isReplaced = ({ key }) => fault.settings.some((other) => other.instead === key && texts[other.key] !== "");
  for (const setting of fault.settings) {
    const text = texts[setting.key];
    // Only what is empty from the start may be empty.
    if (isReplaced(setting) || text === setting.silent || (text === "" && setting.value === "")) continue;
    body[setting.key] = setting.choices ? text : numberIn(setting, text);
  }
  return body;
}

// The fault of a field in the sandbox's own words; null: it speaks of no field of this fault.
export function wrongSetting(fault, field, error) {
  const setting = fault?.settings.find(({ key }) => key === field);
  return setting ? new WrongSetting(setting, error) : null;
}

export function allowedText({ least, most, step }) {
  return `${step ? "a number" : "a whole number"} from ${whole.format(least)} to ${whole.format(most)} is allowed`;
}

function numberIn(setting, text) {
  const number = text === null || text.trim() === "" ? NaN : Number(text);
  const isAllowed = number >= setting.least && number <= setting.most && (setting.step || Number.isInteger(number));
  if (isAllowed) return number;
  const found = text === "" ? "is empty" : text === null ? "is no number" : `is ${text}`;
  throw new WrongSetting(setting, `${found}; ${allowedText(setting)}`);
}
