// The last notification of a device that the user chose. Publishers wrote it: it is shown as text alone.

import { put, whole } from "/page/text.js";

const REFRESH_MILLISECONDS = 2000;
// Characters that act instead of being seen, but for ends of lines: controls, and marks that turn the direction.
const ACTING = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;
const byId = (id) => document.getElementById(id);
const clean = (text) => String(text).replace(ACTING, "\ufffd");

export class LastNotification {
  constructor() {
    this.element = byId("notification");
    this.device = null;
    byId("notification-close").addEventListener("click", () => {
      this.close();
      byId("field").focus();
    });
    this.element.parentElement.addEventListener("keydown", (event) => { if (event.key === "Escape") this.close(); });
    setInterval(() => this.refresh(), REFRESH_MILLISECONDS);
  }

  // `topic` is a name, `device` a number.
  open(topic, device) {
    this.device = { topic, device };
    put("notification-device", `${topic} · device ${whole.format(device)}`);
    this.show({});
    this.element.hidden = false;
    this.element.scrollTop = 0;
    this.refresh();
  }

  close() {
    this.device = null;
    this.element.hidden = true;
  }

  async refresh() {
    const { device } = this;
    if (!device || document.hidden) return;
    try {
      const answer = await fetch(`/notification?${new URLSearchParams(device)}`);
      if (!answer.ok) throw new Error(`notification: ${answer.status}`);
      const report = await answer.json();
      if (device === this.device) this.show(report);
    } catch {
      // The event stream says when the connection is lost, and this is asked again.
    }
  }

  // Takes an answer of GET /notification; an empty one while it is not there.
  show({ notification, last }) {
    const { title, subtitle, body, badge } = notification ? partsOf(notification.payload) : {};
    put("notification-title", clean(title ?? ""));
    put("notification-subtitle", clean(subtitle ?? ""));
    const nothing = last ? "Nothing was accepted for it yet." : last === false ? "None is remembered." : "…";
    put("notification-body", notification ? clean(body ?? "") : nothing);
    put("notification-payload", notification ? clean(notification.payload) : "");
    const facts = notification ? factsOf(notification, badge, last) : [];
    byId("notification-facts").replaceChildren(...facts.flatMap(([name, value]) => {
      const [term, description] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      description.textContent = clean(value);
      return [term, description];
    }));
  }
}

function factsOf({ accepted, priority, pushType, expiration, collapseID, valid }, badge, isLast) {
  return [
    badge !== undefined && ["badge", badge],
    ["accepted", accepted],
    ["priority", priority],
    ["push type", pushType ?? "not told"],
    expiration && ["expires", expiration],
    collapseID && ["collapse id", collapseID],
    !valid && ["note", "no valid JSON: the device dropped it"],
    !isLast && ["note", "too many came to remember all: there may be a later one"],
  ].filter(Boolean);
}

// The parts of a payload that a person sees, as far as they are there.
function partsOf(payload) {
  let aps;
  try { aps = JSON.parse(payload)?.aps; } catch { return {}; }
  const { alert, badge } = aps ?? {};
  const text = (...values) => values.find((value) => typeof value === "string");
  const shown = typeof badge === "number" ? badge : undefined;
  if (typeof alert === "string") return { body: alert, badge: shown };
  return {
    title: text(alert?.title, alert?.["title-loc-key"]),
    subtitle: text(alert?.subtitle, alert?.["subtitle-loc-key"]),
    body: text(alert?.body, alert?.["loc-key"]),
    badge: shown,
  };
}
