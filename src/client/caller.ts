import type { Envelope } from "../api/envelope.ts";
import type { RouteName } from "../api/paths.ts";
import { addressOf, type AnyCall, isCreate } from "./call.ts";
import { HeddleClientError } from "./client-error.ts";
import { pause } from "./pause.ts";

export interface CallerOptions {
  readonly url: string;
  readonly token: string | undefined;
  readonly namespace: string | undefined;
  readonly fetch: typeof fetch;
  /** Maximum number of retries of a call. */
  readonly retriesMax: number;
}

const firstWaitMs = 200;
const lastWaitMs = 10_000;

/** Sends calls, and retries with backoff those that are safe to repeat. */
export class Caller {
  readonly #options: CallerOptions;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  async call(name: RouteName, call: AnyCall): Promise<unknown> {
    const { method, url } = addressOf(this.#options.url, name, call);
    const key = isCreate(name) ? (call.idempotencyKey ?? crypto.randomUUID()) : undefined;
    // Only idempotent requests are retried after an unknown outcome.
    const isSafe = method === "GET" || key !== undefined;
    const request = this.#request(method, call, key);
    for (let tries = 0; ; tries++) {
      const answer = await this.#send(url, request);
      if (!(answer instanceof HeddleClientError)) return answer.data;
      const isLast = tries >= this.#options.retriesMax || call.signal?.aborted === true;
      if (isLast || !mayRepeat(answer, isSafe)) throw answer;
      await pause(answer.retryAfterMs ?? waitBefore(tries), call.signal);
    }
  }

  #request(method: string, call: AnyCall, key: string | undefined): RequestInit {
    const { token, namespace } = this.#options;
    const hasBody = call.body !== undefined && method !== "GET";
    return {
      method,
      headers: {
        accept: "application/json",
        ...(hasBody && { "content-type": "application/json" }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(namespace !== undefined && { "x-heddle-namespace": namespace }),
        ...(key !== undefined && { "idempotency-key": key }),
      },
      ...(hasBody && { body: JSON.stringify(call.body) }),
      ...(call.signal !== undefined && { signal: call.signal }),
    };
  }

  async #send(url: string, request: RequestInit): Promise<{ data: unknown } | Refused> {
    let response: Response;
    let text: string;
    try {
      response = await this.#options.fetch(url, request);
      text = await response.text();
    } catch (error) {
      request.signal?.throwIfAborted();
      return new Refused(unreachable(this.#options.url, error), { code: "UNREACHABLE", cause: error });
    }
    const envelope = envelopeOf(text);
    if (envelope === undefined) {
      const what = `${this.#options.url} answered ${response.status} with something that is not Heddle's: is this the right address?`;
      return new Refused(what, { code: "ANSWER_INVALID", status: response.status });
    }
    if (envelope.code === 0) return { data: envelope.data };
    const refused = new Refused(envelope.message, { ...envelope, status: response.status });
    const seconds = Number(response.headers.get("retry-after") ?? "");
    if (seconds > 0) refused.retryAfterMs = Math.min(seconds * 1000, lastWaitMs);
    return refused;
  }
}

class Refused extends HeddleClientError {
  retryAfterMs: number | undefined;
}

/** A request that was never accepted may always be retried; one that may have been carried out only if it is idempotent. */
function mayRepeat(refused: Refused, isSafe: boolean): boolean {
  const { status, code } = refused;
  if (status === 429) return true;
  if (status === 503) return isSafe || code !== "CALL_UNANSWERED";
  if (code === "UNREACHABLE") return isSafe || wasNotSent(refused.cause);
  return isSafe && (status === 502 || status === 504) && code === "ANSWER_INVALID";
}

function wasNotSent(error: unknown): boolean {
  const code = causeOf(error)?.code;
  return code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN";
}

function unreachable(url: string, error: unknown): string {
  const cause = causeOf(error);
  return `no server answers at ${url} (${cause?.code ?? cause?.message ?? String(error)}): is it running?`;
}

/** Finds the cause of a failed `fetch`: in the error's `cause`, and for a name with several addresses in the list inside that. */
function causeOf(error: unknown): { code?: string; message?: string } | undefined {
  let found = error;
  while (found instanceof Error && found.cause instanceof Error) found = found.cause;
  if (found instanceof AggregateError && found.errors[0] instanceof Error) found = found.errors[0];
  return found instanceof Error ? found : undefined;
}

/** Exponential backoff with jitter, so that many clients do not retry together. */
function waitBefore(tries: number): number {
  return Math.min(firstWaitMs * 2 ** tries, lastWaitMs) * (0.5 + Math.random() / 2);
}

function envelopeOf(text: string): Envelope<unknown> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The body is not JSON: perhaps the page of a proxy.
    return undefined;
  }
  if (typeof value !== "object" || value === null || !("code" in value)) return undefined;
  if (value.code === 0 && "data" in value) return value as Envelope<unknown>;
  const isRefusal = typeof value.code === "string" && "message" in value && typeof value.message === "string";
  return isRefusal ? (value as Envelope<unknown>) : undefined;
}
