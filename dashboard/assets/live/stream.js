// How messages come: one stream of events; polling where the server has no stream to spare; nothing while hidden.

const POLL_MS = 1000, RETRY_STREAM_MS = 60000, RETRY_MS = 2000;

export class Stream {
  // handlers: bootstrap(message), message(message), link(ok): whether the server answers.
  constructor(handlers, minutes) {
    this.handlers = handlers;
    this.minutes = minutes;
    this.source = null;
    this.timer = 0;
    this.tick = null;
    this.run = 0;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.stop() : this.start()));
    addEventListener("pagehide", () => this.stop());
    addEventListener("pageshow", (event) => event.persisted && this.start());
  }

  // From the server's bootstrap on.
  async start() {
    this.stop();
    const run = ++this.run;
    if ((await this.bootstrap(run)) && run === this.run && !document.hidden) this.open(run);
  }

  stop() {
    this.run++;
    this.source?.close();
    this.source = null;
    clearTimeout(this.timer);
  }

  later(run, milliseconds, what) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => run === this.run && what(), milliseconds);
  }

  async fetch(query) {
    const answer = await fetch("/api/v1/live?" + query, { cache: "no-store" });
    if (!answer.ok) throw new Error("HTTP " + answer.status);
    return answer.json();
  }

  async bootstrap(run) {
    try {
      const message = await this.fetch("minutes=" + this.minutes);
      if (run !== this.run) return false;
      this.handlers.link(true);
      this.handlers.bootstrap(message);
      this.tick = message.tick;
      if (message.tick !== null) return true;
    } catch {
      if (run === this.run) this.handlers.link(false);
    }
    this.later(run, RETRY_MS, () => this.start());
    return false;
  }

  receive(message) {
    this.tick = message.tick;
    this.handlers.message(message);
  }

  open(run) {
    const source = (this.source = new EventSource("/api/v1/stream?after=" + this.tick));
    source.addEventListener("open", () => this.handlers.link(true));
    source.addEventListener("tick", (event) => run === this.run && this.receive(JSON.parse(event.data)));
    source.addEventListener("reset", () => run === this.run && this.start());
    source.addEventListener("error", () => {
      if (run !== this.run) return;
      if (source.readyState === EventSource.CLOSED) this.poll(run, performance.now());
      else this.handlers.link(false);
    });
  }

  poll(run, since) {
    this.later(run, POLL_MS, async () => {
      try {
        const answer = await this.fetch("after=" + this.tick);
        if (run !== this.run) return;
        this.handlers.link(true);
        if (answer.reset) return this.start();
        answer.messages.forEach((message) => this.receive(message));
      } catch {
        if (run !== this.run) return;
        this.handlers.link(false);
      }
      if (performance.now() - since > RETRY_STREAM_MS) this.open(run);
      else this.poll(run, since);
    });
  }
}
