import { deepEqual, equal, ok } from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { TaskAttempt } from "../../src/index.ts";
import { checkAttempts, checkHistory, checkLeftOver, checkSideEffects } from "./checkers.ts";
import { gatherEvidence } from "./evidence.ts";
import type { Evidence, InstanceEvidence } from "./evidence.ts";
import type { Scene } from "./poison-scenes.ts";
import { Process } from "./process.ts";
import { readSideEffects } from "./side-effects.ts";
import { traceTasks } from "./task-trace.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** The engine's own default. */
const maxInterruptions = 3;

/**
 * How often one poison can bring its process down: once before anybody knows of its start, and then each time counted,
 * one time more than is allowed. After the last the engine knows, and the process lives.
 */
const deathsPerPoison = 1 + maxInterruptions + 1;

describe(
  "a job that brings its process down is stopped, and its neighbours are not punished",
  { concurrency: 3 },
  () => {
    const twoPoisons: readonly (readonly [Scene, string])[] = [
      ["exit", "process.exit on its first line"],
      ["exit-later", "process.exit after its start is on record"],
      ["abort", "process.abort, as when memory runs out"],
      ["throw-later", "an exception that nobody can catch"],
      ["poison-first", "process.exit, in front of all others"],
    ];
    for (const [scene, name] of twoPoisons) {
      test(name, { timeout: 120_000 }, async (t) => {
        const stage = await Stage.build(t, scene);
        await stage.playToEnd(2 * deathsPerPoison + 1);
        const evidence = await stage.evidence();
        for (const id of ["poisoned", "mixed"]) checkPoisoned(evidence, id, ["poison"]);
        checkInnocent(evidence);
      });
    }

    test("one after another, each is found out", { timeout: 120_000 }, async (t) => {
      const stage = await Stage.build(t, "one-after-another");
      await stage.playToEnd(3 * deathsPerPoison + 1);
      const evidence = await stage.evidence();
      checkPoisoned(evidence, "poisoned", ["poison", "poison-2", "poison-3"]);
      checkInnocent(evidence);
    });

    test("after a kill from outside, the neighbours still have enough left", { timeout: 120_000 }, async (t) => {
      const stage = await Stage.build(t, "exit");
      await stage.killedLife("innocent");
      await stage.playToEnd(2 * deathsPerPoison + 1);
      const evidence = await stage.evidence();
      for (const id of ["poisoned", "mixed"]) checkPoisoned(evidence, id, ["poison"]);
      checkInnocent(evidence);
    });

    test("process.exit in a thread ends the thread and nothing else", { timeout: 60_000 }, async (t) => {
      const stage = await Stage.build(t, "exit-in-thread");
      await stage.playToEnd(1);
      const evidence = await stage.evidence();
      for (const id of ["poisoned", "mixed"]) checkPoisoned(evidence, id, ["poison"]);
      checkInnocent(evidence);
      equal(countInterruptions(evidence, "innocent-0"), 0);
    });
  },
);

describe("what counts as an interruption", { concurrency: 3 }, () => {
  test("an orderly stop never does", { timeout: 60_000 }, async (t) => {
    const stage = await Stage.build(t, "innocent");
    const stops = 3 * maxInterruptions;
    for (let i = 0; i < stops; i++) await stage.stoppedLife(20 + 35 * i);
    await stage.playToEnd(1);
    const evidence = await stage.evidence();
    checkInnocent(evidence);
    for (const { id } of evidence.instances.values()) equal(countInterruptions(evidence, id), 0, id);
    const starts = evidence.log.filter(({ what, id }) => what === "start" && id.startsWith("long:"));
    equal(starts.length, stops + 1, "the long task ran in every life");
  });

  test("a kill does, up to the limit and not beyond", { timeout: 60_000 }, async (t) => {
    const stage = await Stage.build(t, "innocent");
    for (let i = 0; i <= maxInterruptions; i++) await stage.killedLife();
    await stage.playToEnd(1);
    const evidence = await stage.evidence();
    equal(evidence.instances.get("long")?.status, "Failed");
    checkPoisoned(evidence, "long", ["long"]);
  });

  test("one kill less leaves it alive", { timeout: 60_000 }, async (t) => {
    const stage = await Stage.build(t, "innocent");
    for (let i = 0; i < maxInterruptions; i++) await stage.killedLife();
    await stage.playToEnd(1);
    const evidence = await stage.evidence();
    equal(evidence.instances.get("long")?.status, "Success");
    equal(countInterruptions(evidence, "long"), maxInterruptions);
  });
});

/** A folder with a database, in which a scene is played by one process after the other. */
class Stage {
  readonly #files: { databaseFile: string; logFile: string };
  readonly #scene: Scene;
  #lives = 0;

  private constructor(folder: string, scene: Scene) {
    this.#files = { databaseFile: join(folder, "heddle.db"), logFile: join(folder, "side-effects.log") };
    this.#scene = scene;
  }

  static async build(t: TestContext, scene: Scene): Promise<Stage> {
    const folder = temporaryFolder(t);
    return new Stage(folder, scene);
  }

  /** Starts the process as often as it dies, until it ends by itself. */
  async playToEnd(startsMax: number): Promise<void> {
    for (let starts = 1; starts <= startsMax; starts++) {
      const { code, stderr } = await this.#live(async (child) => void (await child.exit));
      if (code === 0) return;
      ok(!stderr.includes("EngineError"), stderr);
    }
    throw new Error(`it did not come to its end with ${startsMax} starts`);
  }

  /** SIGKILL, once all starts are on record: the long task has started, and a moment has passed. */
  async killedLife(scene: Scene = this.#scene): Promise<void> {
    await this.#live(async (child) => {
      await this.#untilRunning(child);
      await sleep(250);
      await child.kill();
    }, scene);
  }

  /** SIGTERM, after which the process stops its engine and ends. */
  async stoppedLife(afterMs: number): Promise<void> {
    const { code, stderr } = await this.#live(async (child) => {
      await this.#untilRunning(child);
      await sleep(afterMs);
      child.signal("SIGTERM");
      await child.exit;
    });
    equal(code, 0, stderr);
  }

  async evidence(): Promise<Evidence> {
    const evidence = await gatherEvidence(this.#files);
    for (const check of [checkLeftOver, checkHistory, checkAttempts]) deepEqual(check(evidence, []), []);
    deepEqual(checkSideEffects(evidence, []), []);
    return evidence;
  }

  async #live(
    play: (child: Process) => Promise<void>,
    scene = this.#scene,
  ): Promise<{ code: number | null; stderr: string }> {
    const { databaseFile, logFile } = this.#files;
    const child = new Process("./poison-child.ts", [databaseFile, logFile, ++this.#lives, scene]);
    try {
      await play(child);
    } finally {
      await child.kill();
    }
    return { ...(await child.exit), stderr: child.stderr };
  }

  async #untilRunning(child: Process): Promise<void> {
    equal(await child.line(), "up", child.stderr);
    equal(await child.line(), "submitted", child.stderr);
    const isRunning = (): boolean =>
      readSideEffects(this.#files.logFile).some(
        ({ what, life, id }) => what === "start" && life === this.#lives && id.startsWith("long:"),
      );
    while (!isRunning()) await sleep(10);
  }
}

/** The poison was lost as often as is allowed and once more, failed as lost, and took its instance with it. */
function checkPoisoned({ instances }: Evidence, id: string, names: readonly string[]): void {
  const instance = instances.get(id);
  ok(instance !== undefined, `${id} is there`);
  equal(instance.status, "Failed", id);
  ok(instance.reason?.includes("worker lost"), `${id} says why: ${instance.reason}`);
  for (const name of names) {
    const rows: readonly TaskAttempt[] = instance.attempts.filter((row) => row.name === name);
    deepEqual(
      rows.map(({ attempt, status }) => ({ attempt, status })),
      [{ attempt: 1, status: "Failed" }],
      `${id}: ${name}`,
    );
    for (const { number, failure } of rows) {
      equal(failure?.type, "TASK_LOST");
      equal(interruptionsOf(instance, number), maxInterruptions);
    }
  }
}

/** Everything that is not poison, nor waits for it, succeeded in its first attempt. */
function checkInnocent({ instances }: Evidence): void {
  let innocent = 0;
  for (const { id, status, attempts } of instances.values()) {
    if (id !== "poisoned" && id !== "mixed") equal(status, "Success", `${id} is innocent`);
    for (const { name, status, attempt } of attempts) {
      if (name.startsWith("poison")) continue;
      innocent++;
      equal(`${status} ${attempt}`, "Success 1", `${id}: ${name} is innocent`);
    }
  }
  const mixed = instances.get("mixed")?.attempts.map(({ name }) => name);
  if (mixed !== undefined) deepEqual(mixed.sort(), ["after", "long", "poison", "quick"]);
  ok(innocent >= 15, "there were neighbours");
}

function countInterruptions({ instances }: Evidence, id: string): number {
  const instance = instances.get(id);
  ok(instance !== undefined, `${id} is there`);
  return [...traceTasks(instance).tasks.keys()].reduce((sum, task) => sum + interruptionsOf(instance, task), 0);
}

function interruptionsOf(instance: InstanceEvidence, task: number): number {
  const attempts = traceTasks(instance).tasks.get(task)?.attempts.values() ?? [];
  return [...attempts].reduce((sum, { interruptedAt }) => sum + interruptedAt.length, 0);
}
