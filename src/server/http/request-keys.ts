import { createHash } from "node:crypto";
import type { Clock, Timer } from "../../base/clock.ts";
import { messageOf } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import type { DocumentRow, Store } from "../../stores/store.ts";
import { HttpError } from "./http-error.ts";

const kind = "request";
const hourMs = 3_600_000;
const keptMs = 24 * hourMs;
const pageSize = 1000;

/** What is known of a request: what was asked, and once it is done, the answer. */
interface Remembered {
  readonly digest: string;
  readonly answer?: { readonly data: unknown };
}

export interface KeyedRequest {
  readonly operation: string;
  readonly target: string;
  readonly key: string;
  readonly content: unknown;
  /** Such an answer is never written down: the same request again is carried out again, by whom it concerns. */
  readonly isSecret: boolean;
}

export interface RequestKeysParts {
  readonly store: Pick<Store, "findDocument" | "listDocuments" | "saveDocument" | "deleteDocument">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Requests that carry a key are carried out once. Keys are kept for a day, in the store. */
export class RequestKeys {
  readonly #parts: RequestKeysParts;
  readonly #underWay = new Map<string, { digest: string; answer: Promise<unknown> }>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(parts: RequestKeysParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = this.#parts.clock.after(hourMs, () => void this.#forgetOld());
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /** `CONFLICT` if the key was used for something else. */
  async once<Data>(request: KeyedRequest, run: (isRepeat: boolean) => Promise<Data>): Promise<Data> {
    const name = hash(JSON.stringify([request.operation, request.target, request.key]));
    const digest = hash(JSON.stringify(request.content) ?? "");
    const other = this.#underWay.get(name);
    if (other !== undefined) {
      if (other.digest !== digest) throw conflict();
      if (!request.isSecret) return (await other.answer) as Data;
    }
    const answer = this.#carryOut(name, digest, { isSecret: request.isSecret, run });
    this.#underWay.set(name, { digest, answer });
    try {
      return await answer;
    } finally {
      this.#underWay.delete(name);
    }
  }

  async #carryOut<Data>(
    name: string,
    digest: string,
    { isSecret, run }: { isSecret: boolean; run: (isRepeat: boolean) => Promise<Data> },
  ): Promise<Data> {
    const { store, clock } = this.#parts;
    const body = JSON.stringify({ digest } satisfies Remembered);
    const begun: DocumentRow = { kind, name, revision: 1, at: clock.now(), body };
    const there = await store.findDocument(kind, name);
    const isRepeat = there !== undefined || !(await store.saveDocument(begun));
    if (isRepeat) {
      const known = there ?? (await store.findDocument(kind, name));
      const remembered = known === undefined ? undefined : (JSON.parse(known.body) as Remembered);
      if (remembered !== undefined && remembered.digest !== digest) throw conflict();
      if (remembered?.answer !== undefined) return remembered.answer.data as Data;
    }
    try {
      const data = await run(isRepeat);
      const answered: Remembered = { digest, answer: { data } };
      if (!isSecret) await store.saveDocument({ ...begun, revision: 2, body: JSON.stringify(answered) });
      return data;
    } catch (error) {
      // Nothing came of it, so the key is free again.
      if (!isRepeat) await store.deleteDocument(kind, name, 1);
      throw error;
    }
  }

  async #forgetOld(): Promise<void> {
    const { store, clock, logger } = this.#parts;
    const before = clock.now() - keptMs;
    try {
      for (let after: string | undefined; ;) {
        const page = await store.listDocuments(kind, { limit: pageSize, ...(after !== undefined && { after }) });
        for (const { name, at, revision } of page) if (at < before) await store.deleteDocument(kind, name, revision);
        after = page.at(-1)?.name;
        if (page.length < pageSize) break;
      }
    } catch (error) {
      logger.warn({ error: messageOf(error) }, "old request keys could not be deleted yet");
    }
    if (!this.#isStopped) this.start();
  }
}

function conflict(): HttpError {
  return new HttpError("CONFLICT", "that Idempotency-Key was used for another request: give each request its own");
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
