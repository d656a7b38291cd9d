// Faults and their switches. What is on is asked of the sandbox, since others switch too; one that does not say
// (404 or 405) is believed to have done what this page asked.

import { FAULTS } from "/page/fault-list.js";
import { allowedText, faultRequest, WrongSetting, wrongSetting } from "/page/fault-request.js";
import { whole } from "/page/text.js";

const POLL_MILLISECONDS = 2000;

export class Faults {
  constructor() {
    this.rows = new Map();
    // Strikes of each fault that is on, since it was switched on.
    this.on = new Map();
    this.isListed = true;
    this.changes = 0;
    this.generation = 0;
    this.topic = document.getElementById("fault-topic");
    this.message = document.getElementById("fault-message");
    this.clear = document.getElementById("clear");
    const list = document.getElementById("fault-list");
    for (const { group, faults } of FAULTS) {
      const title = document.createElement("h3");
      title.textContent = group;
      list.append(title, ...faults.map((fault) => this.makeRow(fault)));
    }
    this.clear.addEventListener("click", () => this.switchAllOff());
    this.topic.addEventListener("change", () => this.show());
    setInterval(() => this.poll(), POLL_MILLISECONDS);
    this.poll();
  }

  setTopics(topics) {
    const chosen = this.topic.value;
    const names = ["", ...topics.map((topic) => topic.name)];
    this.topic.replaceChildren(...names.map((name) => new Option(name || "all topics", name)));
    this.topic.value = names.includes(chosen) ? chosen : "";
  }

  makeRow(fault) {
    const row = element("div", "fault");
    const id = `fault-${fault.name}`;
    const toggle = element("input", "switch", { type: "checkbox", id });
    toggle.setAttribute("role", "switch");
    toggle.setAttribute("aria-describedby", `${id}-about`);
    toggle.addEventListener("change", () => this.toggle(fault, toggle));
    const name = element("label", "name", { htmlFor: id, textContent: fault.name });
    const strikes = element("span", "strikes", { id: `${id}-strikes` });
    const about = element("p", "about", { id: `${id}-about`, textContent: fault.about });
    const inputs = fault.settings.map((setting) => [setting, makeInput(id, setting)]);
    const settings = inputs.map(([setting, input]) => {
      const label = element("label", "setting", { htmlFor: input.id });
      label.append(element("span", "", { textContent: setting.label }), input);
      input.setAttribute("aria-describedby", `${id}-wrong`);
      input.addEventListener("input", () => this.sayAt(fault, null));
      input.addEventListener("change", () => { if (toggle.checked) this.toggle(fault, toggle); });
      return label;
    });
    // One setting stands beside the name, more stand below.
    const line = element("div", "line");
    line.append(toggle, name, ...(settings.length === 1 ? settings : []));
    const below = element("div", "below");
    below.append(about, strikes);
    row.append(line, below);
    if (settings.length > 1) {
      const all = element("div", "settings");
      all.append(...settings);
      row.append(all);
    }
    const wrong = element("p", "wrong", { id: `${id}-wrong`, hidden: true });
    wrong.setAttribute("role", "alert");
    row.append(wrong);
    this.rows.set(fault.name, { row, toggle, strikes, inputs, wrong });
    return row;
  }

  request(fault) {
    const { inputs } = this.rows.get(fault.name);
    // A browser has no text for what it cannot read as a number.
    const text = (input) => (input.validity.badInput ? null : input.value);
    return faultRequest(fault, Object.fromEntries(inputs.map(([{ key }, input]) => [key, text(input)])));
  }

  async toggle(fault, toggle) {
    const isOn = toggle.checked;
    await this.change(fault, () => (isOn ? this.request(fault) : { clear: fault.name }), () => {
      if (isOn) this.on.set(fault.name, 0); else this.on.delete(fault.name);
    });
  }

  async switchAllOff() {
    await this.change(null, () => ({ clear: true }), () => this.on.clear());
  }

  // Asks for a change; what is shown afterwards is what the sandbox says.
  async change(fault, makeBody, whenDone) {
    this.changes += 1;
    this.generation += 1;
    this.say("");
    if (fault) this.sayAt(fault, null);
    try {
      const body = makeBody();
      if (this.topic.value && !fault?.isOfTheDoor) body.topic = this.topic.value;
      const answer = await fetch("/faults", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      if (!answer.ok) {
        const { field, error } = await answer.json();
        throw wrongSetting(fault, field, error) ?? new Error(field === "topic" ? `“Strike on” ${error}` : error);
      }
      whenDone();
    } catch (error) {
      if (error instanceof WrongSetting) this.sayAt(fault, error);
      else this.say(error instanceof TypeError ? "The sandbox does not answer." : error.message);
    } finally {
      this.changes -= 1;
    }
    await this.poll();
    this.show();
  }

  async poll() {
    if (!this.isListed || document.hidden) return;
    const { generation } = this;
    try {
      const answer = await fetch("/faults");
      if (answer.status === 404 || answer.status === 405) this.isListed = false;
      if (!answer.ok) return;
      const { faults } = await answer.json();
      // An answer to a question from before a change says nothing about the change.
      if (this.changes > 0 || generation !== this.generation) return;
      this.on = new Map();
      for (const fault of faults) {
        const chosen = this.topic.value;
        if (chosen && fault.topic && fault.topic !== chosen) continue;
        // A fault that is on for several topics is listed for each.
        this.on.set(fault.name, (this.on.get(fault.name) ?? 0) + fault.strikes);
        this.showSettings(fault);
      }
      this.show();
    } catch {
      // The event stream says when the connection is lost.
    }
  }

  // The parameters with which it is on, but for those that the user is editing, or has to correct.
  showSettings(fault) {
    for (const [{ key, value }, input] of this.rows.get(fault.name)?.inputs ?? []) {
      if (input.ariaInvalid) continue;
      const shown = fault[key] ?? (input.type === "number" ? "" : value);
      if (document.activeElement !== input && input.value !== String(shown)) input.value = shown;
    }
  }

  show() {
    for (const [name, { row, toggle, strikes }] of this.rows) {
      const isOn = this.on.has(name);
      row.dataset.on = isOn;
      if (this.changes === 0) toggle.checked = isOn;
      const count = this.on.get(name) ?? 0;
      const text = count === 0 ? "" : `struck ${whole.format(count)} ×`;
      if (strikes.textContent !== text) strikes.textContent = text;
    }
    const badge = document.getElementById("faults-on");
    badge.hidden = this.on.size === 0;
    badge.textContent = `${this.on.size} on`;
    this.clear.disabled = this.on.size === 0;
  }

  // Marks the field that is wrong, and says under the fault's fields why; null takes both away.
  sayAt(fault, error) {
    const { inputs, wrong } = this.rows.get(fault.name);
    for (const [{ key }, input] of inputs) input.ariaInvalid = key === error?.key ? "true" : null;
    wrong.hidden = error === null;
    wrong.textContent = error?.message ?? "";
  }

  say(text) {
    this.message.hidden = text === "";
    this.message.textContent = text;
  }
}

function makeInput(id, setting) {
  if (setting.choices) {
    const select = element("select", "", { id: `${id}-${setting.key}` });
    select.append(...setting.choices.map((choice) => new Option(choice, choice)));
    select.value = setting.value;
    return select;
  }
  return element("input", "", {
    id: `${id}-${setting.key}`, type: "number", min: setting.least, max: setting.most, step: setting.step ?? 1,
    value: setting.value, placeholder: setting.hint ?? "", title: allowedText(setting),
  });
}

function element(tag, className, properties = {}) {
  return Object.assign(document.createElement(tag), { className }, properties);
}
