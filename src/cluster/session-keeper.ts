import { Backoff } from "../base/backoff.ts";
import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { BusParts } from "./bus.ts";

/** Pauses between attempts to connect, which never end. */
const pauses = { firstMs: 200, lastMs: 5000 };

/** A session that is lost sooner counts as one more failure, so that a server which throws everybody out is not stormed. */
const lastingMs = 5000;

/** A connection to the server of a bus. */
export interface BusSession {
  /** Resolves with the reason when the connection is lost, or was closed. */
  readonly lost: Promise<unknown>;
  /** Never rejects. */
  close(): Promise<void>;
}

/** Keeps one session open: opens it again whenever it is lost, for ever, with backoff and jitter, until it is closed. */
export class SessionKeeper<Session extends BusSession> {
  readonly #parts: BusParts;
  readonly #bus: { readonly kind: string; readonly place: string };
  readonly #open: () => Promise<Session>;
  readonly #onChanged: () => void;
  #session: Session | undefined;
  #isClosed = false;
  readonly #backoff: Backoff;
  /** True after a failure, until a session lasts. */
  #isAway = false;
  #pause: { timer: Timer; end: () => void } | undefined;

  constructor(options: {
    parts: BusParts;
    /** The bus and where its server is, for the log. */
    bus: { kind: string; place: string };
    open: () => Promise<Session>;
    /** Called after a session was opened, and after it was lost. */
    onChanged: () => void;
  }) {
    this.#parts = options.parts;
    this.#backoff = new Backoff(options.parts.random, pauses);
    this.#bus = options.bus;
    this.#open = options.open;
    this.#onChanged = options.onChanged;
    void this.#keepOpen();
  }

  /** Undefined while there is none. */
  get session(): Session | undefined {
    return this.#session;
  }

  /** Does not wait for an attempt to connect that is under way: what it opens is closed at once. */
  async close(): Promise<void> {
    const session = this.#session;
    this.#isClosed = true;
    this.#session = undefined;
    this.#pause?.end();
    await session?.close();
  }

  async #keepOpen(): Promise<void> {
    while (!this.#isClosed) {
      const session = await this.#tryToOpen();
      if (session !== undefined) await this.#stay(session);
      else if (!this.#isClosed) await this.#waitForNextTry();
    }
  }

  async #tryToOpen(): Promise<Session | undefined> {
    try {
      return await this.#open();
    } catch (error) {
      const { logger } = this.#parts;
      const line = { ...this.#bus, error: messageOf(error) };
      // One warning for each outage.
      const message =
        "the bus cannot be reached: until it can, members find each other's messages by polling the store";
      if (this.#isAway) logger.debug(line, message);
      else logger.warn(line, message);
      this.#isAway = true;
      return undefined;
    }
  }

  async #stay(session: Session): Promise<void> {
    if (this.#isClosed) return await session.close();
    const { clock, logger } = this.#parts;
    const since = clock.monotonic();
    if (this.#isAway) logger.info(this.#bus, "the bus is connected");
    this.#isAway = false;
    this.#session = session;
    this.#onChanged();
    const reason = await session.lost;
    if (this.#isClosed) return;
    this.#session = undefined;
    logger.warn(
      { ...this.#bus, error: messageOf(reason) },
      "the bus was lost: until it is back, members find each other's messages by polling the store",
    );
    this.#onChanged();
    await session.close();
    if (clock.monotonic() - since >= lastingMs) this.#backoff.reset();
    this.#isAway = true;
    await this.#waitForNextTry();
  }

  async #waitForNextTry(): Promise<void> {
    const { clock } = this.#parts;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pause = {
      timer: clock.after(this.#backoff.next(), resolve),
      end: () => {
        this.#pause?.timer.cancel();
        resolve();
      },
    };
    await promise;
    this.#pause = undefined;
  }
}

/** Waits for the work, but no longer than the limit. Rejects if the work does so in time. */
export async function atMost(clock: Clock, limitMs: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(limitMs, resolve);
  try {
    await Promise.race([work, promise]);
  } finally {
    timer.cancel();
  }
}
