import assert from "node:assert/strict";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { paths, type RouteName } from "../../src/api/paths.ts";
import { type DataOf, routes } from "../../src/api/routes.ts";
import type { Logger } from "../../src/base/logger.ts";
import { loadConfig } from "../../src/server/config/load-config.ts";
import type { ServerConfig } from "../../src/server/config/server-config.ts";
import { Server, type ServerParts } from "../../src/server/server.ts";
import type { Store } from "../../src/stores/store.ts";
import { sqlite } from "../../src/sqlite.ts";
import { sampleApp } from "./sample-app.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

export interface Sent {
  readonly params?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: unknown;
  readonly token?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly envelope: { code: unknown; data?: unknown; message?: string; details?: { path: string; problem: string }[] };
}

export type RigOptions = Partial<Omit<ServerConfig, "data" | "storage">> &
  Pick<ServerParts, "adminToken"> & {
    /** Default: a file in the rig's folder. */
    readonly store?: Store;
    /** In addition to those of the sample. */
    readonly moreWorkflows?: ServerParts["workflows"];
  };

/** One server after the other on the same data, as processes that are stopped and started again. */
export class ServerRig {
  readonly folder: string;
  /** Errors and warnings of the server. */
  readonly problems: string[] = [];
  /** Operations that were answered with what the contract says. */
  readonly done = new Set<RouteName>();
  #server: Server | undefined;

  private constructor(t: TestContext) {
    // The hooks run in this order: the server is down before its folder goes.
    t.after(() => this.stop());
    this.folder = temporaryFolder(t);
  }

  static async start(t: TestContext, options: RigOptions = {}): Promise<ServerRig> {
    const rig = new ServerRig(t);
    await rig.begin(options);
    return rig;
  }

  get server(): Server {
    if (this.#server === undefined) throw new Error("no server runs");
    return this.#server;
  }

  async begin({ adminToken, store, moreWorkflows = [], ...settings }: RigOptions = {}): Promise<void> {
    const config = {
      ...loadConfig({ folder: this.folder }),
      port: 0,
      drainSeconds: 2,
      logLevel: "error" as const,
      ...settings,
    };
    const { jobs, workflows } = sampleApp();
    this.#server = await Server.start(config, {
      store: store ?? sqlite(join(this.folder, "heddle.db")),
      adminToken,
      logger: this.#logger(),
      jobs,
      workflows: [...workflows, ...moreWorkflows],
    });
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  async restart(options: RigOptions = {}): Promise<void> {
    await this.stop();
    await this.begin(options);
  }

  /** Any request, answered in the envelope. */
  async send(name: RouteName, sent: Sent = {}): Promise<Answered> {
    const [method, path] = paths[name].split(" ") as [string, string];
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent(sent.params?.[key] ?? ""));
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(sent.query ?? {})) query.set(key, String(value));
    return await this.fetch(`${filled}${query.size === 0 ? "" : `?${query.toString()}`}`, {
      method,
      headers: {
        ...(sent.body !== undefined && { "content-type": "application/json" }),
        ...(sent.token !== undefined && { authorization: `Bearer ${sent.token}` }),
        ...(sent.key !== undefined && { "idempotency-key": sent.key }),
        ...sent.headers,
      },
      ...(sent.body !== undefined && { body: JSON.stringify(sent.body) }),
    });
  }

  async fetch(path: string, init: RequestInit = {}): Promise<Answered> {
    const answer = await fetch(`${this.server.url}${path}`, init);
    const text = await answer.text();
    const isJson = answer.headers.get("content-type")?.startsWith("application/json") === true;
    const envelope = (isJson && text !== "" ? JSON.parse(text) : {}) as Answered["envelope"];
    return { status: answer.status, headers: answer.headers, text, envelope };
  }

  /** Done, and what was answered is exactly what the contract says. */
  async ok<N extends RouteName>(name: N, sent: Sent = {}): Promise<DataOf<N>> {
    const { status, envelope } = await this.send(name, sent);
    const route = routes[name];
    const expected = "status" in route ? route.status : 200;
    assert.equal(status, expected, `${name}: ${JSON.stringify(envelope)}`);
    // A member that was stopped a moment ago is asked and does not answer.
    const mayLack = "isOfCluster" in route ? ["unanswered"] : [];
    const fields = Object.keys(envelope).filter((field) => !mayLack.includes(field));
    assert.deepEqual(fields.toSorted(), ["code", "data"]);
    assert.equal(envelope.code, 0);
    assert.deepEqual(route.data.parse(envelope.data), envelope.data, `${name} answers more than its contract`);
    this.done.add(name);
    return envelope.data as DataOf<N>;
  }

  async refused(
    name: RouteName,
    sent: Sent,
    expected: { status: number; code: string },
  ): Promise<Answered["envelope"]> {
    const { status, envelope } = await this.send(name, sent);
    assert.deepEqual({ status, code: envelope.code }, expected, `${name}: ${JSON.stringify(envelope)}`);
    assert.equal(typeof envelope.message, "string");
    return envelope;
  }

  /** Once it has ended. */
  async end(instanceId: string, sent: Sent = {}): Promise<DataOf<"getResult">> {
    const result = await this.ok("getResult", { ...sent, params: { id: instanceId }, query: { waitMs: 10_000 } });
    assert.ok(result.hasEnded, `instance ${instanceId} has not ended`);
    return result;
  }

  #logger(): Logger {
    const keep = (fields: Record<string, unknown>, message: string): void => {
      this.problems.push(`${message} ${JSON.stringify(fields)}`);
    };
    return { debug: () => undefined, info: () => undefined, warn: keep, error: keep };
  }
}
