import type { RouteName } from "../api/paths.ts";
import type { DataOf } from "../api/routes.ts";
import type { AnyCall, Call, CallArgument, CallOptions } from "./call.ts";
import { Caller } from "./caller.ts";
import { HeddleClientError } from "./client-error.ts";
import { isNamespace } from "../base/namespace.ts";
import { withoutEndSlashes } from "../base/url-text.ts";
import { uuid } from "../base/uuid.ts";
import { checkOptionNames, invalidOption } from "./option-names.ts";
import { pause } from "./pause.ts";
import { Watch, type WatchOptions, type WatchedChange, type WatchTarget } from "./watch.ts";

/** Options of a client. */
export interface HeddleClientOptions {
  /** Default `http://127.0.0.1:7411`. */
  readonly url?: string;
  readonly token?: string;
  /** The namespace to act in. Default: the one that the token is bound to, or `default`. */
  readonly namespace?: string;
  readonly fetch?: typeof fetch;
  /** Maximum number of retries of a call without an answer, or refused by a rate limit. Default 5. */
  readonly retriesMax?: number;
}

/** The operations that return a page of a list. */
type PagedName = {
  [N in RouteName]: DataOf<N> extends { items: readonly unknown[]; next: string | null } ? N : never;
}[RouteName];

type ItemOf<N extends PagedName> = DataOf<N> extends { items: readonly (infer Item)[] } ? Item : never;

/** How an instance ended, with its output or the reason. */
export type InstanceResult = DataOf<"getResult">;
/** One line that a task wrote with `ctx.log`. */
export type LogLine = DataOf<"getLogs">["items"][number];

/** Which lines of an instance's tasks are read. */
export interface LogsOptions {
  /** Follows new lines until the instance has ended. */
  readonly follow?: boolean;
  /** Returns only lines of this task. */
  readonly task?: string;
  /** Returns only lines after this number. */
  readonly after?: number;
  readonly signal?: AbortSignal;
}

/** Long polling: the server answers after this time, and the client asks again. */
const waitMs = 30_000;
const followMs = 500;
const pageSize = 200;

const callNames = { params: true, query: true, body: true, idempotencyKey: true, signal: true } as const;

/**
 * A typed client of a server's HTTP interface.
 *
 * ```ts
 * import { HeddleClient } from "heddle/client";
 *
 * const client = new HeddleClient({ url: "http://127.0.0.1:7411" });
 * const instanceId = await client.start("nightly", { day: "2026-03-01" });
 * for await (const change of client.watch({ instanceId })) console.log(change.status);
 * console.log(await client.result(instanceId));
 * ```
 */
export class HeddleClient {
  readonly url: string;
  readonly #token: string | undefined;
  readonly #namespace: string | undefined;
  readonly #caller: Caller;

  constructor(options: HeddleClientOptions = {}) {
    checkOptionNames("HeddleClient", options, {
      url: true,
      token: true,
      namespace: true,
      fetch: true,
      retriesMax: true,
    });
    const { url = "http://127.0.0.1:7411", token, namespace, retriesMax = 5 } = options;
    if (namespace !== undefined && !isNamespace(namespace))
      throw invalidOption("a namespace is named with 1 to 63 lower-case letters, digits and hyphens");
    this.url = baseOf(url);
    if (token !== undefined && !/^[!-~]+$/.test(token))
      throw invalidOption("a token has no blanks, and nothing beyond ASCII");
    this.#token = token;
    this.#namespace = namespace;
    this.#caller = new Caller({ url: this.url, token, namespace, fetch: options.fetch ?? fetch, retriesMax });
  }

  /** Calls an operation of the interface by its name. Throws `HeddleClientError`. */
  async call<N extends RouteName>(name: N, ...[call]: CallArgument<N>): Promise<DataOf<N>> {
    checkOptionNames(`call "${name}"`, (call ?? {}) as AnyCall, callNames);
    return (await this.#caller.call(name, call ?? {})) as DataOf<N>;
  }

  /** Iterates over all items of a list, page by page. */
  async *items<N extends PagedName>(name: N, ...[call]: CallArgument<N>): AsyncGenerator<ItemOf<N>, void> {
    const first = (call ?? {}) as AnyCall;
    checkOptionNames(`call "${name}"`, first, callNames);
    let cursor: string | null = null;
    do {
      const query: Record<string, unknown> = { ...(first.query as object | undefined) };
      if (cursor !== null) query["cursor"] = cursor;
      const page = (await this.#caller.call(name, { ...first, query })) as { items: ItemOf<N>[]; next: string | null };
      yield* page.items;
      cursor = page.next;
    } while (cursor !== null);
  }

  /** Starts an instance and returns its id. Idempotent: the same id or idempotency key with the same input returns the same instance. */
  async start(
    workflow: string,
    input?: unknown,
    options: CallOptions & {
      readonly instanceId?: string;
      readonly maxConcurrentTasks?: number;
      readonly app?: string;
    } = {},
  ): Promise<string> {
    checkOptionNames("start", options, {
      instanceId: true,
      maxConcurrentTasks: true,
      app: true,
      idempotencyKey: true,
      signal: true,
    });
    const { instanceId, maxConcurrentTasks, app, ...call } = options;
    // Without a key, the client chooses the instance id, which makes retries idempotent.
    const isNamed = instanceId !== undefined || call.idempotencyKey === undefined;
    const query = {
      ...(isNamed && { instanceId: instanceId ?? uuid(Date.now()) }),
      ...(maxConcurrentTasks !== undefined && { maxConcurrentTasks }),
      ...(app !== undefined && { app }),
    };
    const started = await this.call("triggerWorkflow", { params: { id: workflow }, query, body: input, ...call });
    return started.instanceId;
  }

  /** Waits for the end of an instance, however long that takes, and returns its status and output. */
  async end(instanceId: string, options: { signal?: AbortSignal } = {}): Promise<InstanceResult> {
    checkOptionNames("end", options, { signal: true });
    for (;;) {
      const result = await this.call("getResult", { params: { id: instanceId }, query: { waitMs }, ...options });
      if (result.hasEnded) return result;
      // The server may answer early, such as when it stops.
      await pause(50, options.signal);
    }
  }

  /** Waits for the end of an instance and returns its output. Throws `WORKFLOW_FAILED` or `WORKFLOW_TERMINATED`. */
  async result(instanceId: string, options: { signal?: AbortSignal } = {}): Promise<unknown> {
    checkOptionNames("result", options, { signal: true });
    const { status, reason, output } = await this.end(instanceId, options);
    if (status === "Success") return output;
    const code = status === "Failed" ? "WORKFLOW_FAILED" : "WORKFLOW_TERMINATED";
    throw new HeddleClientError(`instance "${instanceId}" ended in ${status}: ${reason ?? "no reason given"}`, {
      code,
    });
  }

  /** Completes, with this output, the task whose job got the token from `ctx.completeLater()`. */
  async completeTask(
    token: string,
    output?: unknown,
    options: { signal?: AbortSignal } = {},
  ): Promise<DataOf<"completeTask">> {
    checkOptionNames("completeTask", options, { signal: true });
    return await this.call("completeTask", { params: { token }, body: { output }, ...options });
  }

  /** Fails the task whose job got the token from `ctx.completeLater()`; its retry policy applies. */
  async failTask(
    token: string,
    failure: { readonly message: string; readonly type?: string; readonly retryable?: boolean },
    options: { signal?: AbortSignal } = {},
  ): Promise<DataOf<"failTask">> {
    checkOptionNames("failTask", options, { signal: true });
    return await this.call("failTask", { params: { token }, body: failure, ...options });
  }

  /** Iterates over the changes of an instance, a workflow or all, from now on or from a cursor, each once, across restarts of the server. */
  watch(target: WatchTarget, options: WatchOptions = {}): AsyncGenerator<WatchedChange, void> {
    checkOptionNames("watch", options, { cursor: true, signal: true, onSkipped: true, onProgress: true });
    if (target !== "all") checkTarget(target);
    const ask = (signal: AbortSignal): Promise<unknown> => this.call("countOwnTasks", { signal });
    return new Watch({ url: this.url, token: this.#token, namespace: this.#namespace, target, options, ask }).changes();
  }

  /** Iterates over the task logs of an instance. */
  async *logs(instanceId: string, options: LogsOptions = {}): AsyncGenerator<LogLine, void> {
    checkOptionNames("logs", options, { follow: true, task: true, after: true, signal: true });
    const { follow = false, task, signal } = options;
    let after = options.after;
    for (;;) {
      const isLast = !follow || (await this.#hasEnded(instanceId, signal));
      for (;;) {
        const query = { limit: pageSize, ...(after !== undefined && { after }), ...(task !== undefined && { task }) };
        const call = { params: { id: instanceId }, query, ...(signal && { signal }) } as Call<"getLogs">;
        const { items, next } = await this.call("getLogs", call);
        yield* items;
        after = next === null ? (items.at(-1)?.number ?? after) : Number(next);
        if (next === null) break;
      }
      if (isLast) return;
      await pause(followMs, signal);
    }
  }

  async #hasEnded(instanceId: string, signal: AbortSignal | undefined): Promise<boolean> {
    const result = await this.call("getResult", { params: { id: instanceId }, ...(signal && { signal }) });
    return result.hasEnded;
  }
}

function baseOf(url: string): string {
  const isAddress = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (isAddress) return withoutEndSlashes(url);
  throw invalidOption(`the server's address must begin with http:// or https://, got ${JSON.stringify(url)}`);
}

/** Refuses a misspelt target, which would never match. */
function checkTarget(target: Exclude<WatchTarget, "all">): void {
  checkOptionNames("watch", target, { instanceId: true, workflow: true });
  if (Object.keys(target).length === 1) return;
  throw invalidOption('watch takes "all", { instanceId } or { workflow }');
}
