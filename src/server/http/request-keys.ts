import { createHash, randomUUID } from "node:crypto";
import type { Clock, Timer } from "../../base/clock.ts";
import { type ErrorCode, hasCode, messageOf } from "../../base/error.ts";
import type { Logger } from "../../base/logger.ts";
import type { DocumentRow, Store } from "../../stores/store.ts";
import { HttpError } from "../request/http-error.ts";

const kind = "request";
const hourMs = 3_600_000;
const keptMs = 24 * hourMs;
const pageSize = 1000;
/** Time to wait for a concurrent request with the same key. */
const patienceMs = 2000;
const lookMs = 100;

/** Errors with an unknown outcome. */
const unclear = ["STORE_UNAVAILABLE", "CALL_UNANSWERED", "MEMBER_LOST"] satisfies ErrorCode[];

/** The record of a request: its digest and, once it is done, its answer. */
interface Remembered {
  readonly digest: string;
  /** Unique per attempt: the store accepts the same document twice, but only one of two members may be the first. */
  readonly beginning: string;
  readonly answer?: { readonly data: unknown };
}

type KeyClaim = Required<Pick<Remembered, "answer">> | { readonly own: DocumentRow; readonly isRepeat: boolean };

interface Work<Data> {
  readonly isSecret: boolean;
  readonly run: (isRepeat: boolean) => Promise<Data>;
}

export interface KeyedRequest {
  readonly operation: string;
  readonly target: string;
  readonly key: string;
  readonly content: unknown;
  /** A secret answer is never stored: a repeated request is carried out again. */
  readonly isSecret: boolean;
}

export interface RequestKeysParts {
  readonly store: Pick<Store, "findDocument" | "listDocuments" | "saveDocument" | "deleteDocument">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Carries out requests with an idempotency key once. Keys are stored for a day. */
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

  /** Runs the work once per key. `IDEMPOTENCY_KEY_REUSED` if the key was used for another request. */
  async once<Data>(request: KeyedRequest, run: (isRepeat: boolean) => Promise<Data>): Promise<Data> {
    const name = hash(JSON.stringify([request.operation, request.target, request.key]));
    const digest = hash(JSON.stringify(request.content) ?? "");
    const other = this.#underWay.get(name);
    if (other !== undefined) {
      if (other.digest !== digest) throw keyReused();
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

  async #carryOut<Data>(name: string, digest: string, work: Work<Data>): Promise<Data> {
    const { store } = this.#parts;
    const { isSecret, run } = work;
    const claim = await this.#claimKey(name, digest, isSecret);
    if ("answer" in claim) return claim.answer.data as Data;
    const { own, isRepeat } = claim;
    const remembered = JSON.parse(own.body) as Remembered;
    try {
      const data = await run(isRepeat);
      const body = JSON.stringify({ ...remembered, answer: { data } } satisfies Remembered);
      if (!isSecret) await store.saveDocument({ ...own, revision: own.revision + 1, body });
      return data;
    } catch (error) {
      // Keeps the record: the outcome is unknown, so the next request is a repetition.
      if (isRepeat || unclear.some((code) => hasCode(error, code))) throw error;
      // The request had no effect, so the key is released.
      if (await store.deleteDocument(kind, name, own.revision)) throw error;
      // Another member repeated the request concurrently and was faster; its work may be the cause of this refusal.
      return await this.#carryOut(name, digest, work);
    }
  }

  /** Returns the recorded answer, or claims the request by a record. */
  async #claimKey(name: string, digest: string, isSecret: boolean): Promise<KeyClaim> {
    const { store, clock } = this.#parts;
    const waitsUntil = clock.monotonic() + patienceMs;
    for (;;) {
      const there = await store.findDocument(kind, name);
      const remembered = there === undefined ? undefined : (JSON.parse(there.body) as Remembered);
      if (remembered !== undefined && remembered.digest !== digest) throw keyReused();
      if (remembered?.answer !== undefined) return { answer: remembered.answer };
      const isUnderWay = there !== undefined && clock.now() - there.at < patienceMs;
      // A secret answer is not recorded, so there is nothing to wait for.
      if (isUnderWay && !isSecret && clock.monotonic() < waitsUntil) {
        await new Promise<void>((resolve) => clock.after(lookMs, resolve));
        continue;
      }
      const body = JSON.stringify({ digest, beginning: randomUUID() } satisfies Remembered);
      const own: DocumentRow = { kind, name, revision: (there?.revision ?? 0) + 1, at: clock.now(), body };
      if (await store.saveDocument(own)) return { own, isRepeat: there !== undefined };
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
      logger.warn({ error: messageOf(error) }, "old idempotency keys could not be deleted; retrying");
    }
    if (!this.#isStopped) this.start();
  }
}

function keyReused(): HttpError {
  return new HttpError(
    "IDEMPOTENCY_KEY_REUSED",
    "that Idempotency-Key was used for another request: give each request its own",
  );
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
