import { setTimeout as delay } from "node:timers/promises";
import type { TestContext } from "node:test";
import Fastify, { type FastifyInstance } from "fastify";
import { systemClock } from "../../src/engine/system-clock.ts";
import {
  defineJob,
  type Engine,
  type EngineOptions,
  type MemberEvent,
  type MemberView,
  TaskBuilder,
  type Workflow,
  WorkflowBuilder,
} from "../../src/index.ts";
import { ChangeFeed, type FeedLimits } from "../../src/server/push/change-feed.ts";
import type { PushNamespace, PushParts } from "../../src/server/push/push-parts.ts";
import { WorkerNewsFeed } from "../../src/server/push/worker-news.ts";
import { pushRoutes } from "../../src/server/push/push-routes.ts";
import { sendAnswer, answerOf } from "../../src/server/http/answer-error.ts";
import { addCallerDecorator } from "../../src/server/request/caller.ts";
import { Guard } from "../../src/server/security/guard.ts";
import type { Tokens } from "../../src/server/security/tokens.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { newEngine, stopEngine } from "../engine/rig.ts";

const patienceMs = 20_000;

export const noOp = defineJob("noOp", {}, () => undefined);
export const greet = defineJob("greet", {}, () => "hello");
export const broken = defineJob("broken", {}, () => {
  throw new Error("no luck");
});
/** Long enough for somebody to come or go. */
export const pausing = defineJob("pausing", {}, async () => {
  await delay(8);
});
/** Ends when it is told to. */
export const slow = defineJob("slow", {}, async (_: unknown, { signal }) => {
  await delay(60_000, undefined, { signal }).catch(() => undefined);
});

/** One task after the other. */
export function chainOf(name: string, length: number, job = "noOp"): Workflow {
  const builder = new WorkflowBuilder().withName(name);
  for (let each = 0; each < length; each++) {
    const task = new TaskBuilder(`t${each}`).withJobFunction(job);
    builder.withTask(each === 0 ? task : task.withDependency(`t${each - 1}`));
  }
  return builder.build();
}

export interface PushServer {
  readonly engine: Engine;
  readonly feed: ChangeFeed;
  readonly app: FastifyInstance;
  readonly url: string;
  stop(): Promise<void>;
}

export interface PushOptions {
  readonly limits?: Partial<FeedLimits>;
  readonly engine?: Partial<EngineOptions>;
  readonly logs?: PushParts["logs"];
  readonly socketLimits?: PushParts["socketLimits"];
  readonly connectionLimits?: PushParts["connectionLimits"];
  /** Whom it takes for its cluster. */
  readonly members?: MemberView[];
  /** Whoever wants to hear what happens to members. */
  readonly memberListeners?: Set<(event: MemberEvent) => void>;
  /** The only one that is let in. */
  readonly token?: { value: string };
}

/** An engine, its feed, and nothing of the server but what pushes. Stopped with the test. */
export async function startPush(t: TestContext, options: PushOptions = {}): Promise<PushServer> {
  const engine = newEngine({ jobs: [noOp, greet, broken, slow], ...options.engine });
  const feed = new ChangeFeed({ engine, ...(options.limits && { limits: options.limits }) });
  await engine.start();
  const app = Fastify();
  addCallerDecorator(app);
  app.setErrorHandler((error, _, reply) => sendAnswer(reply, answerOf(error, silentLogger)));
  const { logs = { follow: () => () => undefined } } = options;
  const origins = { isLoopback: true, origins: ["https://console.example"] };
  const seen: PushNamespace["engine"] = {
    members: () => options.members ?? engine.members(),
    onMemberEvent: (listener) => {
      options.memberListeners?.add(listener);
      return () => void options.memberListeners?.delete(listener);
    },
    getWorkflowInstanceStatus: (id) => engine.getWorkflowInstanceStatus(id),
  };
  const { socketLimits, connectionLimits } = options;
  await pushRoutes(app, {
    inNamespace: () => ({ feed, engine: seen, workers: new WorkerNewsFeed(engine.cluster) }),
    logs,
    guard: guardOf(options.token),
    origins,
    ...(socketLimits && { socketLimits }),
    ...(connectionLimits && { connectionLimits }),
  });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    feed.stop();
    await app.close();
    await stopEngine(engine);
  };
  t.after(stop);
  return { engine, feed, app, url, stop };
}

function guardOf(token: { value: string } | undefined): Guard {
  const find = (secret: string): unknown => (secret === token?.value ? { name: "watcher", role: "viewer" } : undefined);
  const tokens = { isEmpty: token === undefined, find } as unknown as Tokens;
  return new Guard({ tokens, clock: systemClock, isLoopback: true, ratePerSecond: 100_000 });
}

export interface PushedChange {
  readonly seq?: number;
  readonly instanceId: string;
  readonly workflowName: string;
  readonly createdAt: number;
  readonly turn: number;
  readonly event?: number;
  readonly events?: readonly string[];
  readonly status?: string;
  readonly reason?: string;
  readonly replayed?: true;
  readonly resync?: true;
  readonly nodes?: readonly {
    name: string;
    status: string;
    attempt: number;
    error?: string;
    wait?: { reason: string };
  }[];
}

export interface ServerMessage {
  readonly type: string;
  readonly id?: string;
  readonly cursor?: string;
  readonly from?: string;
  readonly code?: string;
  readonly message?: string;
  readonly members?: { heard: string[]; unheard: string[] };
  readonly changes?: PushedChange[] | number;
}

/** A client that keeps all it hears. */
export class Watcher {
  readonly messages: ServerMessage[] = [];
  readonly changes: PushedChange[] = [];
  cursor: string | undefined;
  closed: { code: number; reason: string } | undefined;
  readonly #socket: WebSocket;
  readonly #news = new Set<() => void>();

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#hear(JSON.parse(String(data)) as ServerMessage));
    socket.addEventListener("close", ({ code, reason }) => {
      this.closed = { code, reason };
      this.#tell();
    });
  }

  static async open(server: { url: string }, options: { protocols?: string[]; query?: string } = {}): Promise<Watcher> {
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/ws${options.query ?? ""}`, options.protocols);
    const watcher = new Watcher(socket);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("open", () => resolve());
      socket.addEventListener("error", () => reject(new Error("the socket was refused")));
    });
    return watcher;
  }

  say(message: unknown): void {
    this.#socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** Resolves with the answer. */
  async subscribe(what: object, id = "1"): Promise<ServerMessage> {
    this.say({ type: "subscribe", id, ...what });
    await this.until(() => this.messages.some((each) => each.id === id && each.type === "subscribed"));
    return this.messages.find((each) => each.id === id && each.type === "subscribed") ?? { type: "none" };
  }

  /** The next message of that type, or one that has come. */
  async message(type: string): Promise<ServerMessage> {
    await this.until(() => this.messages.some((each) => each.type === type));
    return this.messages.find((each) => each.type === type) ?? { type: "none" };
  }

  async until(isSo: () => boolean): Promise<void> {
    const until = Date.now() + patienceMs;
    while (!isSo()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#news.add(resolve);
      const timer = setTimeout(resolve, until - Date.now());
      await promise;
      clearTimeout(timer);
      this.#news.delete(resolve);
      if (Date.now() >= until)
        throw new Error(`waited in vain; last heard: ${JSON.stringify(this.messages.at(-1))?.slice(0, 500)}`);
    }
  }

  async close(): Promise<void> {
    this.#socket.close();
    await this.until(() => this.closed !== undefined);
  }

  #hear(message: ServerMessage): void {
    this.messages.push(message);
    if (message.cursor !== undefined) this.cursor = message.cursor;
    if (message.type === "changes" && Array.isArray(message.changes)) this.changes.push(...message.changes);
    this.#tell();
  }

  #tell(): void {
    for (const resolve of this.#news) resolve();
  }
}

/** Submits so many and waits for their ends. */
export async function runMany(engine: Engine, workflow: Workflow, count: number, inFlight = 50): Promise<string[]> {
  const ids: string[] = [];
  let begun = 0;
  const one = async (): Promise<void> => {
    while (begun++ < count) {
      const run = await engine.submitWorkflow(workflow);
      ids.push(run.instanceId);
      await run.result();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  return ids;
}

/** What names a change. */
export function nameOf({ instanceId, createdAt, turn }: PushedChange): string {
  return `${instanceId} ${createdAt} ${turn}`;
}

/** Independent tasks, whose instances tell of all of them when they start and when they end. */
export function fanOf(name: string, width: number): Workflow {
  const builder = new WorkflowBuilder().withName(name);
  for (let each = 0; each < width; each++) builder.withTask(new TaskBuilder(`t${each}`).withJobFunction("slow"));
  return builder.build();
}
