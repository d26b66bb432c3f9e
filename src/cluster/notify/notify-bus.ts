import type { Timer } from "../../base/clock.ts";
import { EngineError, messageOf } from "../../base/error.ts";
import { busMailboxOf } from "../../stores/mailbox.ts";
import type { Mail, Notifier, NotifierOptions } from "../../stores/notifier.ts";
import type { Bus, BusConnection, BusListener, BusParts } from "../bus.ts";
import { atMost, type BusSession, SessionKeeper } from "../session-keeper.ts";

/** Messages that are posted or taken with one round trip, and characters after which a batch is full. */
const batchSize = 200;
const batchLengthMax = 4 * 1024 * 1024;

/** Time that a session has to post the last messages before it is closed. */
const goodbyeMs = 500;

/** Characters that wait to be posted, above which nothing more is taken. */
const waitingLengthMax = 16 * 1024 * 1024;

/** Interval at which an idle session looks into its mailbox: that also finds out that a silent connection is lost. */
const probeMs = 10_000;

export type OpenNotifier = (options: NotifierOptions) => Promise<Notifier>;

/** Members over the database itself: messages are rows of mailboxes, and a notification wakes the member that they are for. */
export class NotifyBus implements Bus {
  readonly kind = "notify";
  readonly #openNotifier: OpenNotifier;
  #parts: BusParts | undefined;

  constructor(openNotifier: OpenNotifier) {
    this.#openNotifier = openNotifier;
  }

  async open(parts: BusParts): Promise<void> {
    this.#parts = parts;
  }

  connect(address: string, listener: BusListener, onChanged: () => void = () => undefined): BusConnection {
    const parts = this.#parts;
    if (parts === undefined) throw new EngineError("ENGINE_STATE", "the bus was not opened");
    const openNotifier = this.#openNotifier;
    const keeper = new SessionKeeper({
      parts,
      bus: { kind: this.kind, place: "the store" },
      open: () => NotifySession.open(openNotifier, { address, listener, parts }),
      onChanged,
    });
    return {
      get isConnected() {
        return keeper.session !== undefined;
      },
      send: (to, text) => keeper.session?.send(to, text) ?? false,
      close: () => keeper.close(),
    };
  }
}

interface SessionOptions {
  readonly address: string;
  readonly listener: BusListener;
  readonly parts: BusParts;
}

/** One session of the database, which is used for one call at a time: to take what has arrived, or to post what waits. */
class NotifySession implements BusSession {
  readonly lost: Promise<unknown>;
  readonly #lose: (reason: unknown) => void;
  readonly #listener: BusListener;
  readonly #parts: BusParts;
  readonly #notifier: Notifier;
  readonly #waiting: Mail[] = [];
  #waitingLength = 0;
  /** True from the start: what was posted while nobody listened has woken nobody. */
  #isNotified = true;
  #isBusy = false;
  #isClosed = false;
  #worked: Promise<void> = Promise.resolve();
  #probe: Timer | undefined;

  private constructor(notifier: Notifier, { listener, parts }: SessionOptions) {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#notifier = notifier;
    this.#listener = listener;
    this.#parts = parts;
    this.#lose = resolve;
    this.lost = Promise.race([promise, notifier.lost]);
  }

  static async open(openNotifier: OpenNotifier, options: SessionOptions): Promise<NotifySession> {
    const mailbox = busMailboxOf(options.address);
    const opened: { onNotified?: () => void } = {};
    const notifier = await openNotifier({ mailbox, onNotified: () => opened.onNotified?.() });
    const session = new NotifySession(notifier, options);
    opened.onNotified = () => session.#onNotified();
    session.#work();
    return session;
  }

  /** Messages that are sent together are posted together. */
  send(to: string, text: string): boolean {
    if (this.#isClosed || this.#waitingLength > waitingLengthMax) return false;
    this.#waiting.push({ mailbox: busMailboxOf(to), body: text, at: this.#parts.clock.now() });
    this.#waitingLength += text.length;
    this.#work();
    return true;
  }

  /** Posts what waits, if that takes no time. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#probe?.cancel();
    await atMost(this.#parts.clock, goodbyeMs, this.#worked);
    await this.#notifier.close();
  }

  #onNotified(): void {
    this.#isNotified = true;
    this.#work();
  }

  #work(): void {
    if (this.#isBusy || this.#isClosed) return;
    this.#isBusy = true;
    this.#probe?.cancel();
    this.#worked = this.#workUntilIdle().catch((error: unknown) => this.#lose(error));
  }

  /** Leaves the session busy after an error, because it is of no more use. */
  async #workUntilIdle(): Promise<void> {
    while (this.#waiting.length > 0 || (this.#isNotified && !this.#isClosed)) {
      if (this.#waiting.length > 0) await this.#post();
      if (this.#isNotified && !this.#isClosed) await this.#take();
    }
    this.#isBusy = false;
    if (!this.#isClosed) this.#probe = this.#parts.clock.after(probeMs, () => this.#onNotified());
  }

  /** A message that cannot be posted is lost: its caller repeats the call. */
  async #post(): Promise<void> {
    let [count, length] = [0, 0];
    for (const { body } of this.#waiting) {
      if (count === batchSize || length > batchLengthMax) break;
      count++;
      length += body.length;
    }
    this.#waitingLength -= length;
    await this.#notifier.post(this.#waiting.splice(0, count));
  }

  async #take(): Promise<void> {
    this.#isNotified = false;
    const taken = await this.#notifier.take(batchSize);
    if (taken.length === batchSize) this.#isNotified = true;
    for (const text of taken) this.#deliver(text);
  }

  #deliver(text: string): void {
    if (this.#isClosed) return;
    try {
      this.#listener(text);
    } catch (error) {
      this.#parts.logger.error({ error: messageOf(error) }, "a listener on the bus threw");
    }
  }
}
