// Puts the parts together.

import { listen } from "/page/events.js";
import { Faults } from "/page/faults.js";
import { Field } from "/page/field.js";
import { Numbers } from "/page/numbers.js";
import { whole } from "/page/text.js";
import { theme } from "/page/theme.js";

const byId = (id) => document.getElementById(id);
const field = new Field();
const numbers = new Numbers();
const faults = new Faults();

theme(() => field.themeChanged());
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
