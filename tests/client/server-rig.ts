/** A real server for the tests of the client, which can be stopped and started again where it was. */
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { defineJob, defineWorkflow, TaskBuilder, WorkflowBuilder } from "../../src/index.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { loadConfig } from "../../src/server/config/load-config.ts";
import { Server } from "../../src/server/server.ts";
import { sqlite } from "../../src/sqlite.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const say = defineJob("say", async (params: { word: string; ms?: number }, ctx) => {
  ctx.log.info({ word: params.word }, "said");
  if (params.ms !== undefined) await sleep(params.ms, undefined, { signal: ctx.signal });
  return params.word;
});

const stumble = defineJob("stumble", () => {
  throw new Error("over a stone");
});

const talk = new WorkflowBuilder()
  .withName("talk")
  .withTask(new TaskBuilder("hello").withJobFunction(say, { word: "hello" }))
  .withTask(new TaskBuilder("bye").withJobFunction(say, { word: "bye", ms: 50 }).withDependency("hello"))
  .build();

const fall = new WorkflowBuilder()
  .withName("fall")
  .withTask(new TaskBuilder("stumble").withJobFunction(stumble, undefined))
  .build();

/** Says a word for each event, until it is told to stop. */
const listener = defineWorkflow("listener", async (ctx) => {
  const heard: string[] = [];
  for (;;) {
    const word = await ctx.waitForEvent<string>("word");
    if (word === "stop") return heard;
    heard.push(await ctx.run(say, { word }));
  }
});

export class ServerRig {
  readonly #folder: string;
  #server: Server | undefined;
  #port = 0;

  private constructor(t: TestContext) {
    // The hooks run in this order: the server is down before its folder goes.
    t.after(() => this.stop());
    this.#folder = temporaryFolder(t);
  }

  static async start(t: TestContext): Promise<ServerRig> {
    const rig = new ServerRig(t);
    await rig.start();
    return rig;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const config = loadConfig({ flags: { port: String(this.#port) }, folder: this.#folder });
    this.#server = await Server.start(config, {
      store: sqlite(join(this.#folder, "heddle.db")),
      jobs: [say, stumble],
      workflows: [talk, fall, listener],
      logger: silentLogger,
    });
    this.#port = Number(new URL(this.#server.url).port);
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }
}
