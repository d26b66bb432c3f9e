import type { Clock, Timer } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Alert } from "./alert.ts";
import { refusalIn, requestOf } from "./alert-request.ts";
import type { AlertRule } from "./alert-rule.ts";

const waitingMax = 1000;
const triesMax = 5;
const firstWaitMs = 1000;
const answerMs = 10_000;
/** Time limit for posting queued alerts on shutdown. */
const stopMs = 3000;

/** The queue of alerts for one webhook, posted one after the other; a slow webhook delays no other. */
export class AlertOutbox {
  readonly #rule: AlertRule;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waiting: Alert[] = [];
  readonly #stopping = new AbortController();
  #posting: Promise<void> | undefined;
  #dropped = 0;
  #pause: { timer: Timer; end(): void } | undefined;
  #isStopping = false;

  constructor(parts: { rule: AlertRule; clock: Clock; logger: Logger }) {
    this.#rule = parts.rule;
    this.#clock = parts.clock;
    this.#logger = parts.logger;
  }

  put(alert: Alert): void {
    if (this.#waiting.length >= waitingMax) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(alert);
    this.#posting ??= this.#postAll().finally(() => (this.#posting = undefined));
  }

  /** Posts queued alerts once more, for a few seconds. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#pause?.end();
    const timer = this.#clock.after(stopMs, () => this.#stopping.abort());
    await this.#posting;
    timer.cancel();
  }

  async #postAll(): Promise<void> {
    for (let alert = this.#waiting.shift(); alert !== undefined; alert = this.#waiting.shift()) {
      await this.#post(alert);
      if (this.#stopping.signal.aborted) this.#dropped += this.#waiting.splice(0).length;
      if (this.#dropped === 0) continue;
      this.#logger.error(
        { ...this.#about, dropped: this.#dropped },
        "alerts could not be posted before the stop and are dropped",
      );
      this.#dropped = 0;
    }
  }

  /** Posts with retries. Never rejects. */
  async #post(alert: Alert): Promise<void> {
    for (let tried = 1; ; tried++) {
      const problem = await this.#try(alert);
      if (problem === undefined) return;
      const { kind, instanceId, workflow } = alert;
      const fields = { ...this.#about, kind, instanceId, workflow, tried, problem: problem.what };
      if (problem.isFinal || tried === triesMax || this.#isStopping) {
        this.#logger.error(fields, "an alert could not be posted and is dropped");
        return;
      }
      this.#logger.warn(fields, "an alert could not be posted; retrying");
      await this.#wait(firstWaitMs * 2 ** (tried - 1));
    }
  }

  async #try(alert: Alert): Promise<{ what: string; isFinal: boolean } | undefined> {
    const { url, headers, body } = requestOf(alert, this.#rule, this.#clock.now());
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(answerMs)]);
    try {
      const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "error" });
      const answer = await response.text();
      const what = response.ok ? refusalIn(answer) : `it answered ${response.status}`;
      return what === undefined ? undefined : { what, isFinal: isFinal(response.status) };
    } catch (error) {
      const { cause } = error as Error;
      return { what: cause === undefined ? messageOf(error) : messageOf(cause), isFinal: false };
    }
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.#pause?.timer.cancel();
        this.#pause = undefined;
        resolve();
      };
      this.#pause = { timer: this.#clock.after(ms, end), end };
    });
  }

  /** Names only the host: the rest of a webhook's URL is often a secret. */
  get #about(): { webhook: string } {
    return { webhook: new URL(this.#rule.url).host };
  }
}

/** A status that a retry cannot change. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}
