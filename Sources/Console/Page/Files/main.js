// Puts the parts together.

import { Chart } from "/page/charts.js";
import { listen } from "/page/events.js";
import { History } from "/page/history.js";
import { linePaths, roundTop } from "/page/line.js";
import { Tables } from "/page/tables.js";
import { put, rateText, totalText, whole } from "/page/text.js";
import { theme } from "/page/theme.js";
import { counted, durationText } from "/page/units.js";

const SPARK_SLOTS = 120;
const SUMMARY_MILLISECONDS = 15_000;
const RATES = ["sent", "records", "notifications", "accepted", "spared", "failed"];
const VERDICTS = {
  unknown: "not known", enough: "enough", more: "more workers", fewer: "fewer would do",
  partitions: "more partitions", stuck: "stuck",
};
// Parts that only workers tell: grey while none answers.
const OF_WORKERS = ["topics-table", "waiting", "lag", "oldest"];
const byId = (id) => document.getElementById(id);
const history = new History();
const tables = new Tables();
const charts = [
  new Chart("chart-outcomes", {
    title: "Notifications / s",
    series: [
      { name: "accepted", label: "accepted", kind: "delivered", area: true },
      { name: "spared", label: "spared", kind: "feedback" },
      { name: "failed", label: "failed", kind: "refused" },
    ],
    least: 10,
  }),
  new Chart("chart-waiting", {
    title: "Records",
    series: [
      { name: "lag", label: "lag", kind: "feedback" },
      { name: "waiting", label: "waiting", kind: "stored", area: true },
    ],
    least: 10,
  }),
  new Chart("chart-oldest", {
    title: "Oldest notification without an outcome",
    series: [{ name: "oldest", label: "", kind: "stored", area: true }],
    unit: " s",
  }),
  new Chart("chart-cores", {
    title: "Processor cores of the workers",
    series: [
      { name: "workers", label: "workers", kind: "feedback" },
      { name: "cores", label: "cores", kind: "delivered", area: true },
    ],
  }),
  new Chart("chart-handed-over", {
    title: "Published to gateway, apps that keep up",
    series: [
      { name: "handedOver99", label: "p99", kind: "stored" },
      { name: "handedOverMedian", label: "p50", kind: "delivered", area: true },
    ],
    unit: " ms",
    least: 10,
  }),
  new Chart("chart-settled", {
    title: "Gateway to outcome, apps that keep up",
    series: [
      { name: "settled99", label: "p99", kind: "stored" },
      { name: "settledMedian", label: "p50", kind: "delivered", area: true },
    ],
    unit: " ms",
    least: 10,
  }),
];
let fleet = null;

theme();
setInterval(summarize, SUMMARY_MILLISECONDS);
listen({
  history(document) {
    history.last = 0;
    history.take(document);
    draw();
  },
  fleet(document) {
    fleet = document;
    if (history.take(document.history)) draw();
    attention(document.attention);
    numbers(document);
    tables.show(document);
  },
  state(state) {
    byId("lost").hidden = state === "live";
    document.body.classList.toggle("stale", state !== "live");
    const pill = byId("connection");
    if (pill.dataset.state === state) return;
    pill.dataset.state = state;
    pill.textContent = state === "live" ? "live" : "connection lost";
  },
});

function draw() {
  for (const chart of charts) chart.draw(history);
  const values = history.column("sent").slice(-SPARK_SLOTS);
  const { stroke, area } = linePaths(values, { count: SPARK_SLOTS, width: 240, height: 48, top: roundTop(values) });
  byId("spark-line").setAttribute("d", stroke);
  byId("spark-area").setAttribute("d", area);
}

function numbers(document) {
  const { processes, rates, waitingRecords, lagRecords, oldestUnconfirmedSeconds, advice } = document;
  const silence = document.workersSilentSeconds ?? null;
  for (const id of OF_WORKERS) byId(id).classList.toggle("past", silence !== null);
  put("as-of", silence === null ? "" : `no worker answers; waiting, lag and apps as of ${durationText(silence)} ago`);
  for (const name of RATES) put(name, rateText(rates[name]));
  put("waiting", totalText(waitingRecords), whole.format(waitingRecords));
  put("lag", totalText(lagRecords), whole.format(lagRecords));
  put("oldest", durationText(oldestUnconfirmedSeconds));
  put("verdict", VERDICTS[advice.verdict]);
  byId("verdict").dataset.verdict = advice.verdict;
  put("advice", advice.text);
  const roles = ["worker", "registrar", "harvester"].map((role) => [
    role, processes.filter((process) => process.role === role && process.state === "answers").length,
  ]);
  put("where", roles.filter(([, count]) => count > 0).map(([role, count]) => counted(count, role)).join(" · "));
}

// The first lines of the page: all that is wrong, each with the way to the part that tells more, and to the runbook.
function attention(matters) {
  const bad = matters.filter(({ level }) => level === "bad").length;
  const title = matters.length === 0 ? "All is well" : `${counted(matters.length, "matter")} to look at`;
  put("attention-title", title);
  byId("attention").dataset.level = bad > 0 ? "bad" : matters.length > 0 ? "warn" : "none";
  document.title = matters.length === 0 ? "Belfry console" : `(${matters.length}) Belfry console`;
  const list = byId("matters");
  while (list.children.length > matters.length) list.lastElementChild.remove();
  matters.forEach(({ level, text, part, alert }, index) => {
    let item = list.children[index];
    if (!item) {
      item = document.createElement("li");
      const entry = document.createElement("a");
      entry.className = "entry";
      // Beside the page, which goes on being watched.
      entry.target = "_blank";
      item.append(document.createElement("a"), entry);
      list.append(item);
    }
    const [link, entry] = item.children;
    item.dataset.level = level;
    link.setAttribute("href", `#${part}`);
    if (link.textContent !== text) link.textContent = text;
    entry.setAttribute("href", alert ? `/runbook/${alert}` : "/runbook");
    const name = alert ?? "runbook";
    if (entry.textContent !== name) entry.textContent = name;
  });
}

// For screen readers: seldom, and in a sentence.
function summarize() {
  if (!fleet || byId("connection").dataset.state !== "live") return;
  const matters = fleet.attention.length === 0 ? "All is well" : counted(fleet.attention.length, "matter");
  const waiting = `${whole.format(fleet.waitingRecords)} records wait`;
  put("summary", `${matters}; ${rateText(fleet.rates.sent)} sent per second, ${waiting}.`);
}
