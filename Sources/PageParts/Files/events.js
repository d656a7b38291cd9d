// The stream of events, and whether it is there. A browser connects again by itself after a broken connection, but not
// after an answer that is no stream, nor does it notice a peer that fell silent: both are seen to here.

const SILENCE_MILLISECONDS = 12_000;
const RETRY_MILLISECONDS = 2000;

// `handlers`: a function for each event, which gets its document, and `state`, which gets "live" or "lost".
export function listen(handlers) {
  let source = null;
  let heardAt = 0;
  let retry = 0;

  const open = () => {
    source?.close();
    source = new EventSource("/events");
    heardAt = performance.now();
    for (const name of Object.keys(handlers).filter((name) => name !== "state")) {
      source.addEventListener(name, (event) => {
        heardAt = performance.now();
        handlers.state("live");
        handlers[name](JSON.parse(event.data));
      });
    }
    source.addEventListener("error", () => {
      handlers.state("lost");
      if (source.readyState === EventSource.CLOSED) again();
    });
  };
  const again = () => {
    clearTimeout(retry);
    retry = setTimeout(open, RETRY_MILLISECONDS);
  };

  setInterval(() => {
    if (!source || performance.now() - heardAt < SILENCE_MILLISECONDS) return;
    handlers.state("lost");
    open();
  }, 1000);
  // A hidden page costs its server nothing.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source?.close();
      source = null;
      clearTimeout(retry);
    } else if (!source) {
      open();
    }
  });
  if (!document.hidden) open();
}
