// Puts the parts together.

import { listen } from "/page/events.js";
import { Faults } from "/page/faults.js";
import { Field } from "/page/field.js";
import { Numbers } from "/page/numbers.js";

const whole = new Intl.NumberFormat("en");
const byId = (id) => document.getElementById(id);
const field = new Field();
const numbers = new Numbers();
const faults = new Faults();

theme();
chooseTopic();
listen({
  hello({ environment, topics }) {
    const devices = topics.reduce((sum, topic) => sum + topic.devices, 0);
    const many = topics.length === 1 ? "1 topic" : `${whole.format(topics.length)} topics`;
    byId("where").textContent = `${environment} · ${many} · ${whole.format(topics[0]?.devices ?? 0)} devices each`;
    byId("empty-text").textContent =
      `${whole.format(devices)} app instances are waiting. Connect a provider and watch them light up.`;
    const select = byId("topic");
    const chosen = select.value;
    const names = ["", ...topics.map((topic) => topic.name)];
    select.replaceChildren(...names.map((name) => new Option(name || "all topics", name)));
    select.value = names.includes(chosen) ? chosen : "";
    field.setTopics(topics);
    numbers.topics = topics.map((topic) => topic.name);
    faults.setTopics(topics);
  },
  stats(document) {
    numbers.take(document);
    const { topics, api } = document.stats;
    const isEmpty = Object.keys(api.rejected).length === 0 && Object.values(topics).every((topic) =>
      topic.accepted === 0 && topic.discarded === 0 && Object.keys(topic.rejected).length === 0);
    byId("empty").hidden = !isEmpty;
  },
  flashes(document) {
    field.flash(document);
  },
  state(state) {
    numbers.isLive = state === "live";
    byId("lost").hidden = state === "live";
    window.document.body.classList.toggle("stale", state !== "live");
    const pill = byId("connection");
    if (pill.dataset.state === state) return;
    pill.dataset.state = state;
    pill.textContent = state === "live" ? "live" : "connection lost";
  },
});

function chooseTopic() {
  byId("topic").addEventListener("change", (event) => {
    field.choose(event.target.value);
    numbers.choose(event.target.value);
  });
}

// As the system has it, until somebody chooses here.
function theme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: light)");
  const stored = () => {
    try { return localStorage.getItem("belfry-theme"); } catch { return null; }
  };
  let chosen = stored();
  const apply = () => {
    const name = chosen ?? (system.matches ? "light" : "dark");
    document.documentElement.dataset.theme = name;
    const other = name === "light" ? "dark" : "light";
    button.textContent = other === "light" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${other} theme`);
    field.themeChanged();
  };
  system.addEventListener("change", apply);
  button.addEventListener("click", () => {
    chosen = document.documentElement.dataset.theme === "light" ? "dark" : "light";
    try { localStorage.setItem("belfry-theme", chosen); } catch { /* It holds for this visit. */ }
    apply();
  });
  apply();
}
