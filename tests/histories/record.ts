/** Records the histories of this release: real engines run the code, time passes by hand, chance repeats itself. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  defineJob,
  Engine,
  type EngineOptions,
  type Job,
  TaskBuilder,
  WorkflowBuilder,
  type WorkflowHandle,
} from "../../src/index.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { memoryStore, SeededRandom, TestClock } from "../../src/testing.ts";
import { beforePatch, workflows } from "./0.1.0/workflows.ts";
import { folder, type HistoryFile } from "./history-file.ts";

const release = "0.1.0";

class Scene {
  readonly clock = new TestClock();
  readonly engine: Engine;
  #fails = 2;

  constructor(options: Partial<EngineOptions> = {}) {
    const jobs: Job[] = [
      defineJob("note", (value: unknown) => value),
      defineJob("copy", (value: unknown) => value),
      defineJob("refuse", (what: string) => {
        throw new Error(`no ${what}`);
      }),
      defineJob("flaky", (what: string) => {
        if (this.#fails-- > 0) throw new Error("not yet");
        return what;
      }),
    ];
    this.engine = new Engine({
      storage: memoryStore(),
      clock: this.clock,
      random: new SeededRandom(1),
      logger: silentLogger,
      jobs,
      workflows: [...workflows, dag],
      ...options,
    });
  }

  async start(name: string, input?: unknown, instanceId = name): Promise<WorkflowHandle> {
    const workflow = workflows.find((each) => each.name === name);
    if (workflow === undefined) throw new Error(`no workflow ${name}`);
    const handle = await this.engine.startWorkflow(workflow, input, { instanceId });
    await this.clock.settle();
    return handle;
  }

  /** Its end, however it comes. */
  async over(handle: WorkflowHandle): Promise<void> {
    await this.clock.until(
      handle.result().catch(() => undefined),
      { maxMs: 10 ** 12 },
    );
  }

  async write(name: string, instanceId: string): Promise<void> {
    const { status, workflowName: workflow } = await this.engine.getWorkflowInstanceStatus(instanceId);
    const entries = await this.engine.getWorkflowInstanceHistory(instanceId);
    const turns = entries.map(({ turn, at, events }) => ({ turn, at, events }));
    const file: HistoryFile = { instanceId, workflow, status, turns };
    mkdirSync(join(folder, release), { recursive: true });
    writeFileSync(join(folder, release, `${name}.json`), `${JSON.stringify(file, ofThisMachine, 2)}\n`);
  }
}

const dag = new WorkflowBuilder()
  .withName("dag")
  .withTask(new TaskBuilder("t").withJobFunction("note", "in the dag").build())
  .build();

/** Names of this machine and of its files say nothing about the format. */
function ofThisMachine(key: string, value: unknown): unknown {
  if (key === "stack") return undefined;
  return key === "worker" ? "worker" : value;
}

/** By the name of the file that it gives. */
const scenes: Readonly<Record<string, (scene: Scene) => Promise<string>>> = {
  activities: (scene) => ended(scene, "activities", ["a", "b", "c"]),
  retries: (scene) => ended(scene, "retries"),
  timers: (scene) => ended(scene, "timers"),
  saga: (scene) => ended(scene, "saga"),
  children: (scene) => ended(scene, "children"),
  patched: (scene) => ended(scene, "patched"),

  unfinished: async (scene) => {
    await scene.start("timers", undefined, "unfinished");
    await scene.clock.advance(1500);
    return "unfinished";
  },

  events: async (scene) => {
    const handle = await scene.start("events");
    await handle.raiseEvent("go", { n: 1 });
    await handle.raiseEvent("early", "first");
    await scene.over(handle);
    return "events";
  },

  updates: async (scene) => {
    const handle = await scene.start("updates");
    await scene.clock.until(handle.update("plus", 2));
    await scene.clock.until(handle.update("plus", -2).catch(() => undefined));
    await scene.clock.until(handle.update("fail").catch(() => undefined));
    await handle.raiseEvent("close");
    await scene.over(handle);
    return "updates";
  },

  cancel: async (scene) => {
    const handle = await scene.start("cancel");
    await handle.cancel("bad weather");
    await scene.over(handle);
    return "cancel";
  },

  paused: async (scene) => {
    const handle = await scene.start("paused");
    await handle.pause();
    await handle.raiseEvent("go", 1);
    await scene.clock.advance(500);
    await handle.raiseEvent("go", 2);
    await handle.resume();
    await scene.over(handle);
    return "paused";
  },

  "continue-as-new": async (scene) => {
    const handle = await scene.start("anew", 0);
    await handle.raiseEvent("add", 40);
    await scene.over(handle);
    return "anew";
  },

  fork: async (scene) => {
    await scene.over(await scene.start("fork", undefined, "source"));
    const fork = await scene.engine.forkWorkflowInstance("source", { fromTask: 2, instanceId: "fork" });
    await scene.over(fork);
    return "fork";
  },

  "fork-of-a-fork": async (scene) => {
    await scene.over(await scene.start("fork", undefined, "source"));
    for (const [source, instanceId] of [
      ["source", "first-fork"],
      ["first-fork", "second-fork"],
      ["second-fork", "third-fork"],
    ] as const) {
      await scene.clock.advance(1000);
      await scene.over(await scene.engine.forkWorkflowInstance(source, { fromTask: 2, instanceId }));
    }
    return "third-fork";
  },
};

async function ended(scene: Scene, name: string, input?: unknown): Promise<string> {
  await scene.over(await scene.start(name, input));
  return name;
}

async function recordOne(scene: Scene, name: string, play: (scene: Scene) => Promise<string>): Promise<void> {
  await scene.engine.start();
  await scene.write(name, await play(scene));
  await scene.clock.until(scene.engine.stop());
}

export async function record(): Promise<void> {
  for (const [name, play] of Object.entries(scenes)) await recordOne(new Scene(), name, play);
  await recordOne(new Scene({ workflows: [beforePatch] }), "before-patch", async (scene) => {
    const handle = await scene.engine.startWorkflow(beforePatch, undefined, { instanceId: "before-patch" });
    await scene.clock.until(handle.result());
    return "before-patch";
  });
}
