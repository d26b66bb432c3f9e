import { test } from "node:test";
import { epochMs } from "../clock.ts";
import { code } from "../code-workflows.ts";
import type { LifeRecord, Turn } from "../evidence.ts";
import { caught } from "./caught.ts";
import { checkHistories } from "./histories.ts";
import { createdCode, goodRun, Scene } from "./scene.ts";

test("a turn that is missing", () => {
  const { scene } = goodRun();
  const [instance] = scene.instances.values();
  scene.instances.set(1, { ...instance!, turns: instance!.turns.slice(1) });
  caught(checkHistories, scene, /turn 1 stands where 0 should/, /begins with event 3, not 0/, /not what was committed/);
});

test("time that runs backwards", () => {
  const { scene } = goodRun();
  const [instance] = scene.instances.values();
  scene.instances.set(1, { ...instance!, turns: instance!.turns.map((turn, i) => ({ ...turn, at: 9 - i })) });
  caught(checkHistories, scene, /turn 1 is earlier than the one before it/);
});

test("a row that says something else than its history", () => {
  const { scene } = goodRun();
  const [, commit] = scene.lists.commits;
  const [row] = commit!.batch.changes.finished;
  commit!.batch.changes.finished = [{ ...row!, status: "Failed" }];
  caught(checkHistories, scene, /the finished row of a has status Failed, and its history makes it Success/);
});

test("a wake-up that the row does not know of", () => {
  const { scene } = goodRun();
  const [commit] = scene.lists.commits;
  const [row] = commit!.batch.changes.instances;
  commit!.batch.changes.instances = [{ ...row!, wake: 1 }];
  caught(checkHistories, scene, /the row of a has wake 1, and its history makes it null/);
});

test("a history that cannot be followed", () => {
  const { scene, life } = goodRun();
  const events = JSON.stringify([{ type: "TasksScheduled", tasks: [0] }]);
  scene.commit(life, { history: [{ instance: 1, turn: 2, firstEvent: 5, at: 0, events }] });
  caught(checkHistories, scene, /not what was committed/, /cannot be followed/);
});

test("code that begins anew: what was before is gone, and nothing else", () => {
  const { scene, life } = begunAnew();
  caught(checkHistories, scene);
  const instance = scene.instances.get(1)!;
  scene.instances.set(1, { ...instance, turns: instance.turns.slice(1) });
  caught(checkHistories, scene, /turn 2 stands where 0 should/, /begins with event 3, not 0/, /not what was committed/);
  scene.instances.set(1, { ...instance, turns: [created(scene, life), ...instance.turns] });
  caught(checkHistories, scene, /turn 1 begins anew, and what was before is still there/, /not what was committed/);
});

function begunAnew(): { scene: Scene; life: LifeRecord } {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, createdCode(scene, code.inbox, {}));
  const { name: workflow, version } = code.inbox;
  const anew = { type: "InstanceContinued", workflow, version, generation: 2, createdAt: epochMs + 1000 } as const;
  scene.turn(life, 1, [{ ...anew, trigger: "api" }]);
  scene.turn(life, 1, [{ type: "EventRaised", name: "n" }]);
  return { scene, life };
}

/** The turn that was before the new beginning. */
function created(scene: Scene, { number }: LifeRecord): Turn {
  const commit = scene.lists.commits.find(({ life }) => life === number);
  const [row] = commit?.batch.changes.history ?? [];
  return { ...row!, events: JSON.parse(row!.events) as Turn["events"] };
}
