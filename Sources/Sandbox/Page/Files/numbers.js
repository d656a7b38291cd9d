// The counts beside the wall: totals as they come, rates over the last two seconds.

import { linePaths } from "/page/line.js";
import { fill, put, rateText, totalText, whole } from "/page/text.js";

const WINDOW_MILLISECONDS = 2000;
const PERIOD_MILLISECONDS = 500;
const SPARK_POINTS = 240;
const SUMMARY_MILLISECONDS = 15_000;

const STATUS_NAMES = {
  1: "processing error", 2: "missing token", 3: "missing topic", 4: "missing payload", 5: "token size",
  6: "topic size", 7: "payload size", 8: "invalid token", 10: "shutdown", 128: "protocol error", 255: "unknown",
};
const SUMS = [
  "accepted", "delivered", "stored", "coalesced", "expired", "feedback", "evicted", "held", "invalidJSON", "discarded",
];
const CHANNEL_COUNTS = ["registered", "subscribers", "accepted", "delivered", "stored", "missed"];
const STATES = ["online", "offline", "uninstalled", "removed"];

// "8" of the binary interface before "400 BadDeviceToken" of the provider API.
const byStatus = (left, right) => parseInt(left, 10) - parseInt(right, 10) || (left < right ? -1 : 1);

export class Numbers {
  constructor() {
    this.samples = [];
    // One rate per period, as far back as this page has seen.
    this.spark = [];
    // In the order of the configuration.
    this.topics = [];
    this.chosen = "";
    this.receivedAt = 0;
    this.isLive = false;
    setInterval(() => this.tick(), PERIOD_MILLISECONDS);
    setInterval(() => this.summarize(), SUMMARY_MILLISECONDS);
  }

  // A topic's name, or "" for all.
  choose(name) {
    this.chosen = name;
    this.spark = [];
    this.show();
  }

  take({ at, stats }) {
    const last = this.samples.at(-1);
    const accepted = (sample) => Object.values(sample.stats.topics).reduce((sum, topic) => sum + topic.accepted, 0);
    // The sandbox was started anew.
    if (last && (at < last.at || accepted({ stats }) < accepted(last))) this.samples = [];
    this.samples.push({ at, stats });
    this.receivedAt = performance.now();
    this.show();
  }

  // Counts that do not change are not sent: between two of them time passes all the same.
  tick() {
    const last = this.samples.at(-1);
    if (!last) return;
    if (this.isLive && performance.now() - this.receivedAt > PERIOD_MILLISECONDS * 1.4) {
      this.samples.push({ at: last.at + PERIOD_MILLISECONDS, stats: last.stats });
    }
    this.spark.push(this.rate((stats) => this.sums(stats).accepted));
    if (this.spark.length > SPARK_POINTS) this.spark.shift();
    this.show();
    this.drawSpark();
  }

  // Per second.
  rate(read) {
    const last = this.samples.at(-1);
    while (this.samples.length > 2 && last.at - this.samples[1].at >= WINDOW_MILLISECONDS) this.samples.shift();
    const [first] = this.samples;
    const seconds = (last.at - first.at) / 1000;
    return seconds > 0 ? Math.max(0, (read(last.stats) - read(first.stats)) / seconds) : 0;
  }

  topicsOf(stats) {
    return Object.entries(stats.topics).filter(([name]) => !this.chosen || name === this.chosen);
  }

  sums(stats) {
    const sums = Object.fromEntries(SUMS.map((name) => [name, 0]));
    for (const [, topic] of this.topicsOf(stats)) {
      for (const name of SUMS) sums[name] += topic[name] ?? 0;
    }
    return sums;
  }

  rejected(stats) {
    const sums = {};
    const parts = this.topicsOf(stats).map(([, topic]) => topic.rejected);
    // Requests of the provider API that name no topic.
    if (!this.chosen) parts.push(stats.api.rejected);
    for (const part of parts) {
      for (const [status, count] of Object.entries(part)) sums[status] = (sums[status] ?? 0) + count;
    }
    return sums;
  }

  // GOAWAYs and resets of the provider API, whose connections are no topic's.
  ends({ api }) {
    const named = (word, counts) => Object.entries(counts).map(([reason, count]) => [`${word} ${reason}`, count]);
    return Object.fromEntries([...named("GOAWAY", api.goAways), ...named("reset", api.resets)].sort());
  }

  show() {
    const last = this.samples.at(-1);
    if (!last) return;
    const { stats } = last;
    const sums = this.sums(stats);
    put("rate", rateText(this.rate((stats) => this.sums(stats).accepted)));
    put("total", whole.format(sums.accepted));
    for (const name of SUMS.slice(1)) put(name, totalText(sums[name]), whole.format(sums[name]));
    for (const state of STATES) {
      const count = this.topicsOf(stats).reduce((sum, [, topic]) => sum + (topic.devices?.[state] ?? 0), 0);
      put(`devices-${state}`, totalText(count), whole.format(count));
    }
    for (const name of CHANNEL_COUNTS) {
      const count = this.topicsOf(stats).reduce((sum, [, topic]) => sum + (topic.channels?.[name] ?? 0), 0);
      put(`channels-${name}`, totalText(count), whole.format(count));
      // Most topics have none: no room is taken before there is one.
      if (name === "registered") document.getElementById("channels").hidden = count === 0;
    }
    put("open", whole.format(stats.connections.open));
    put("connections", totalText(stats.connections.total));
    put("refused", totalText(stats.connections.refused));
    const ends = this.ends(stats);
    fill("ends", Object.keys(ends).map((name) => [
      name,
      rateText(this.rate((stats) => this.ends(stats)[name] ?? 0)),
      totalText(ends[name]),
    ]));
    document.getElementById("ends").hidden = Object.keys(ends).length === 0;
    fill("topics", this.topics.filter((name) => stats.topics[name]).map((name) => [
      name,
      rateText(this.rate((stats) => stats.topics[name]?.accepted ?? 0)),
      totalText(stats.topics[name].accepted),
    ]));
    const rejected = this.rejected(stats);
    fill("statuses", Object.keys(rejected).sort(byStatus).map((status) => [
      STATUS_NAMES[status] ? `${status} ${STATUS_NAMES[status]}` : status,
      rateText(this.rate((stats) => this.rejected(stats)[status] ?? 0)),
      totalText(rejected[status]),
    ]));
  }

  drawSpark() {
    const top = Math.max(1, ...this.spark);
    const { stroke, area } = linePaths(this.spark, { count: SPARK_POINTS, width: 240, height: 48, top });
    document.getElementById("spark-line").setAttribute("d", stroke);
    document.getElementById("spark-area").setAttribute("d", area);
  }

  // For screen readers: seldom, and in a sentence.
  summarize() {
    const last = this.samples.at(-1);
    if (!last || !this.isLive) return;
    const rejected = Object.values(this.rejected(last.stats)).reduce((sum, count) => sum + count, 0);
    const rate = rateText(this.rate((stats) => this.sums(stats).accepted));
    const text = `${rate} accepted per second, ${whole.format(rejected)} rejected so far, `
      + `${whole.format(last.stats.connections.open)} connections open.`;
    put("summary", text);
  }
}
