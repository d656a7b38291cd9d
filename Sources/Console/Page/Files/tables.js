// The parts of a fleet's document as rows of tables.

import { fill, put, rateText, totalText, whole } from "/page/text.js";
import { bytesText, durationText, timeText } from "/page/units.js";

const SHORT_ROWS = { topics: 12, partitions: 12, certificates: 8, harvests: 8 };
const DASH = "–";
const isSet = (value) => value !== null && value !== undefined;
const number = (value) => (isSet(value) ? totalText(value) : DASH);
const state = (text, level) => ({ text, className: `state ${level}`, title: text });
const named = ({ topic, environment }) => ({ text: topic, title: `${topic} (${environment})` });

export class Tables {
  constructor() {
    this.expanded = new Set();
    for (const name of Object.keys(SHORT_ROWS)) {
      document.getElementById(`${name}-more`).addEventListener("click", () => {
        if (!this.expanded.delete(name)) this.expanded.add(name);
        if (this.fleet) this.show(this.fleet);
      });
    }
  }

  show(fleet) {
    this.fleet = fleet;
    fill("processes-table", fleet.processes.map(processRow));
    this.long("topics", fleet.topics, topicRow, fleet.omittedTopics);
    this.long("partitions", fleet.partitions.toSorted(byTrouble), partitionRow);
    this.long("certificates", fleet.certificates, certificateRow);
    this.long("harvests", fleet.harvests, harvestRow);
    fill("keys-table", fleet.keys.map(keyRow));
    fill("outcomes-table", fleet.outcomes.map(outcomeRow));
    fill("delivery-table", fleet.delivery.flatMap(deliveryRows));
    put("topics-count", whole.format(fleet.topics.length + fleet.omittedTopics));
    put("partitions-count", whole.format(fleet.partitions.length));
    gateways(fleet.gateways);
  }

  // A table of which the first rows are shown until the user wants all.
  long(name, entries, row, omitted = 0) {
    const most = SHORT_ROWS[name];
    const isWhole = this.expanded.has(name);
    fill(`${name}-table`, (isWhole ? entries : entries.slice(0, most)).map(row));
    const button = document.getElementById(`${name}-more`);
    button.hidden = entries.length <= most;
    const all = omitted > 0 ? `the first ${whole.format(entries.length)}` : `all ${whole.format(entries.length)}`;
    const text = isWhole ? `Show ${most}` : `Show ${all}`;
    if (button.textContent !== text) button.textContent = text;
    button.setAttribute("aria-expanded", String(isWhole));
  }
}

function processRow(process) {
  const silence = isSet(process.silenceSeconds) ? `${durationText(process.silenceSeconds)} ago` : "never";
  const states = {
    new: state("not asked yet", "none"),
    away: state(`away: ${process.trouble ?? "no answer"}`, "bad"),
    gone: state("gone", "none"),
    answers: process.isReady ? state("ready", "good") : state(process.obstacles.join("; ") || "not ready", "warn"),
  };
  const isHere = process.state === "answers";
  return [
    { text: [process.role, process.address].filter(Boolean).join(" "), title: process.programVersion ?? "" },
    states[process.state],
    isHere ? rateText(process.perSecond) : DASH,
    isHere ? whole.format(process.partitions) : DASH,
    isHere ? process.cores.toFixed(2) : DASH,
    isHere ? bytesText(process.residentBytes) : DASH,
    isHere ? durationText(process.uptimeSeconds) : DASH,
    silence,
  ];
}

// Lanes of a lever: none are named where it holds in all.
const inLanes = (lanes) => (lanes.length > 0 ? ` in ${lanes.join(", ")}` : "");

// The topic's own state, and the levers that an operator set. Lanes are named once it lags in another than the normal.
function topicState(topic) {
  const { stoppedBecause, why, isPaused, pace, discardsBefore, lagRecords, laggingLanes } = topic;
  const isNamed = laggingLanes.some((lane) => lane !== "normal");
  const lags = isNamed ? `lags in ${laggingLanes.join(", ")}` : "lags";
  const paused = `paused${inLanes(topic.pausedLanes)}`;
  const paced = inLanes(topic.pacedLanes);
  const discards = `discards${inLanes(topic.discardingLanes)}`;
  const [text, title, level] = stoppedBecause ? [stoppedBecause, `does not work: ${why}`, "bad"]
    : isPaused ? [paused, isNamed ? `${paused}; ${lags}` : paused, "warn"]
      : lagRecords > 0 ? [lags, lags, "warn"] : ["works", "works", "good"];
  const levers = [
    stoppedBecause && isPaused && [paused, paused],
    isSet(pace) && [
      `≤ ${whole.format(pace)} / s${paced}`, `at most ${whole.format(pace)} notifications per second${paced}`,
    ],
    isSet(discardsBefore) && [discards, `${discards} what was published before ${discardsBefore}`],
  ].filter(Boolean);
  return {
    text: [text, ...levers.map(([short]) => short)].join(" · "),
    className: `state ${level}`,
    title: [title, ...levers.map(([, long]) => long)].join("; "),
  };
}

function topicRow(topic) {
  return [
    named(topic),
    topicState(topic),
    rateText(topic.acceptedPerSecond),
    number(topic.lagRecords),
    durationText(topic.cursorAgeSeconds),
    durationText(topic.oldestUnconfirmedSeconds),
    number(topic.inFlight),
    number(topic.waiting),
    number(topic.openConnections),
  ];
}

const isUnheld = (partition) => partition.holders.length === 0;
const trouble = (partition) => (partition.isStanding ? 2 : isUnheld(partition) ? 1 : 0);

// Partitions in trouble first, then those that lag most.
function byTrouble(left, right) {
  return trouble(right) - trouble(left) || (right.lagRecords ?? 0) - (left.lagRecords ?? 0);
}

function partitionRow(partition) {
  const holder = partition.isStanding ? state("stands: its commit is missing or not understood", "bad")
    : isUnheld(partition) ? state(`nobody for ${durationText(partition.unheldSeconds)}`, "bad")
      : { text: partition.holders.join(", "), className: "holder", title: partition.holders.join(", ") };
  return [
    `${partition.kafkaTopic}[${partition.number}]`,
    holder,
    number(partition.lagRecords),
    number(partition.waitingRecords),
    number(partition.behindTopics),
  ];
}

function certificateRow(certificate) {
  const { daysLeft } = certificate;
  const level = daysLeft <= 7 ? "bad" : daysLeft <= 30 ? "warn" : "";
  const text = daysLeft < 0 ? "ended" : whole.format(daysLeft);
  return [named(certificate), { text, className: `n ${level}` }];
}

function keyRow({ team, key, tokenAgeSeconds }) {
  const text = { text: durationText(tokenAgeSeconds), className: tokenAgeSeconds > 3600 ? "n bad" : "n" };
  return [{ text: key, title: `key ${key} of team ${team}` }, text];
}

function harvestRow(harvest) {
  const level = harvest.ageSeconds >= 86_400 ? "bad" : harvest.ageSeconds >= 10_800 ? "warn" : "";
  const holder = harvest.holder ? `${harvest.step}, by ${harvest.holder}` : "nobody has its lease";
  return [named(harvest), { text: `${durationText(harvest.ageSeconds)} ago`, className: `n ${level}`, title: holder }];
}

const DOTS = { accepted: "delivered", spared: "feedback", failed: "refused" };

function outcomeRow({ name, meaning, perSecond, lastHour }) {
  return [
    { text: name.replace("_", " "), className: `outcome ${DOTS[meaning]}-mark`, title: meaning },
    rateText(perSecond),
    number(lastHour),
  ];
}

const TRANSPORTS = { binary: "binary", http2: "HTTP/2" };

function deliveryRows({ transport, topicClass, handedOver, settled }) {
  const of = `${TRANSPORTS[transport] ?? transport}${topicClass === "live" ? "" : `, ${topicClass}`}`;
  const row = (name, title, times) => [
    { text: `${name}, ${of}`, title },
    times ? timeText(times.median) : DASH,
    times ? timeText(times.percentile99) : DASH,
  ];
  return [
    row("to the gateway", "from their publishing to the hand-over to a gateway connection", handedOver),
    row("to the outcome", "from the hand-over to their outcomes", settled),
  ];
}

// One block for each environment; blocks that are there are kept.
function gateways(environments) {
  const list = document.getElementById("gateway-list");
  while (list.children.length > environments.length) list.lastElementChild.remove();
  environments.forEach(({ environment, transport, addresses, connections }, index) => {
    let block = list.children[index];
    if (!block) {
      block = document.createElement("div");
      block.className = "gateway";
      block.append(document.createElement("p"), document.createElement("p"), document.createElement("ul"));
      list.append(block);
    }
    const [title, places, states] = block.children;
    set(title, `${environment} · ${transport}`);
    places.className = "quiet small";
    set(places, addresses.join(", "));
    const shown = ["open", "connecting", "waiting", "draining"].filter((name) => name in connections);
    const others = Object.keys(connections).filter((name) => !shown.includes(name)).sort();
    const texts = [...shown, ...others].map((name) => [name, whole.format(connections[name])]);
    const key = JSON.stringify(texts);
    if (states.dataset.key === key) return;
    states.dataset.key = key;
    states.replaceChildren(...texts.map(([name, count]) => {
      const item = document.createElement("li");
      const figure = document.createElement("b");
      figure.textContent = count;
      item.append(figure, ` ${name}`);
      return item;
    }));
  });
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
