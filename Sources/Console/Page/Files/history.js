// The last hour: slots of equal length, as many as the console keeps.

export class History {
  constructor() {
    this.slotSeconds = 5;
    this.slots = 720;
    this.last = 0;
    this.series = {};
  }

  // Takes the slots of a document in: all of them, or the latest.
  take({ slotSeconds, slots, last, series }) {
    this.slotSeconds = slotSeconds;
    this.slots = slots;
    const missed = last - this.last;
    const names = Object.keys(series);
    const given = series[names[0]]?.length ?? 0;
    // The console was started anew, or more was missed than it told: there is a gap, or a new beginning.
    const isNew = missed < 0 || this.last === 0;
    for (const name of names) {
      let column = isNew ? [] : this.series[name] ?? [];
      const gap = isNew ? 0 : Math.min(slots, Math.max(0, missed - given));
      const fresh = isNew ? series[name] : missed === 0 ? [] : series[name].slice(-Math.min(missed, given));
      column = column.concat(Array(gap).fill(null), fresh);
      this.series[name] = column.slice(-slots);
    }
    this.last = last;
    return missed !== 0;
  }

  // The slots that charts show: those that there are, but five minutes at least.
  get shown() {
    const known = Math.max(0, ...Object.values(this.series).map((column) => column.length));
    return Math.min(this.slots, Math.max(300 / this.slotSeconds, known));
  }

  column(name) {
    return this.series[name] ?? [];
  }
}
