import assert from "node:assert/strict";
import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkLimits } from "./limits.ts";
import { created, Scene, solo } from "./scene.ts";
import { WorkflowBuilder } from "../../../src/authoring/workflow-builder.ts";
import { TaskBuilder } from "../../../src/authoring/task-builder.ts";

test("more in a domain than it has room for, wherever they run", () => {
  const scene = twoInstances({ isCluster: true });
  scene.run(scene.life("m1"), "a:1:0:1", { domain: "red" });
  scene.run(scene.life("m2"), "b:1:0:1", { domain: "red" });
  caught(checkLimits, scene, /b:1:0:1 was started as number 2 of 1 in domain red/);
});

test("one after the other is one at a time", () => {
  const scene = twoInstances({});
  const life = scene.life();
  scene.ended(scene.run(life, "a:1:0:1", { domain: "red" }));
  scene.run(life, "b:1:0:1", { domain: "red" });
  caught(checkLimits, scene);
});

test("a member that lost its lease has stopped, as far as others are concerned", () => {
  const scene = twoInstances({ isCluster: true });
  const life = scene.life();
  life.renewals.push({ member: "m1", sentAt: 1000, knownAt: 1001 });
  scene.run(life, "a:1:0:1", { domain: "red" });
  scene.now = 1000 + 36_000;
  scene.run(scene.life("m2"), "b:1:0:1", { domain: "red" });
  caught(checkLimits, scene);
});

test("a size that was raised holds in the process that was told, and in no other", () => {
  const scene = twoInstances({});
  const life = scene.life();
  scene.answer(scene.ask(life, "resize", { given: { domain: "red", size: 2 } }));
  scene.now++;
  scene.run(life, "a:1:0:1", { domain: "red" });
  scene.run(life, "b:1:0:1", { domain: "red" });
  caught(checkLimits, scene);
  const other = scene.life("m2");
  scene.run(other, "a:1:0:1", { domain: "red" });
  caught(checkLimits, scene, /number 3 of 1 in domain red/, /number 2 of 1 of its instance/);
});

test("more than the pool of a process", () => {
  const scene = twoInstances({ poolSize: 1 });
  const life = scene.life();
  scene.run(life, "a:1:0:1");
  scene.run(life, "b:1:0:1");
  caught(checkLimits, scene, /b:1:0:1 was started as number 2 of 1 in its process/);
});

test("more than the slots of a worker, and more in a domain than it has room for, wherever they run", () => {
  const scene = twoInstances({ isCluster: true, workerSlots: 1 });
  const worker = scene.life("w1", "worker");
  scene.vouch(worker);
  scene.run(worker, "a:1:0:1", { domain: "red" });
  scene.run(worker, "b:1:0:1", { domain: "red" });
  caught(checkLimits, scene, /b:1:0:1 was started as number 2 of 1 in domain red/, /number 2 of 1 in its process/);
});

test("a worker that has not heard that its attempt is over has a slot of the domain, and none of its instance", () => {
  const scene = twoInstances({ isCluster: true });
  const worker = scene.life("w1", "worker");
  scene.vouch(worker);
  scene.run(worker, "a:1:0:1", { domain: "red" });
  const failure = { type: "TASK_TIMEOUT", message: "too long", retryable: true };
  const [member] = scene.lists.lives;
  scene.turn(member!, 1, [{ type: "TaskFailed", task: 0, attempt: 1, failure, timedOut: true, retryAt: 1 }]);
  scene.turn(member!, 1, [
    { type: "RetriesDue", tasks: [0] },
    { type: "TasksScheduled", tasks: [0] },
  ]);
  scene.run(scene.life("m2"), "a:1:0:2", { domain: "red" });
  caught(checkLimits, scene, /a:1:0:2 was started as number 2 of 1 in domain red/);
});

test("a worker that nobody answered for its patience has stopped, as far as others are concerned", () => {
  const scene = twoInstances({ isCluster: true });
  const worker = scene.life("w1", "worker");
  scene.vouch(worker);
  scene.run(worker, "a:1:0:1", { domain: "red" });
  scene.now += 54_001;
  scene.run(scene.life("m2"), "b:1:0:1", { domain: "red" });
  caught(checkLimits, scene);
});

test("more instances of a workflow than may run at once", () => {
  const scene = new Scene();
  const life = scene.life();
  const limited = new WorkflowBuilder().withName("limited").withTask(new TaskBuilder("t").withJobFunction("step"));
  for (const key of [1, 2, 3]) scene.turn(life, key, created(scene, limited.build()));
  caught(checkLimits, scene, /3 instances of the limited workflow ran at 1000/);
});

test("an instance that its workflow's maximum refuses although there is room", () => {
  const scene = new Scene();
  const life = scene.life();
  const limited = new WorkflowBuilder().withName("limited").withTask(new TaskBuilder("t").withJobFunction("step"));
  const refusal = { type: "InstanceEnded", status: "Failed", reason: "too many instances(3>2)" } as const;
  scene.turn(life, 1, created(scene, limited.build()));
  scene.turn(life, 2, [created(scene, limited.build())[0]!, refusal]);
  caught(checkLimits, scene, /was refused, and only 1 others had come/);
});

test("an instance that is refused in the commit with which the last that may run has come", () => {
  const scene = new Scene();
  const life = scene.life();
  const limited = new WorkflowBuilder().withName("limited").withTask(new TaskBuilder("t").withJobFunction("step"));
  for (const key of [1, 2]) scene.turn(life, key, created(scene, limited.build()));
  const refusal = { type: "InstanceEnded", status: "Failed", reason: "too many instances(3>2)" } as const;
  scene.turn(life, 3, [created(scene, limited.build())[0]!, refusal]);
  const [second, third] = scene.lists.commits.slice(-2);
  assert.ok(second !== undefined && third !== undefined);
  scene.lists.commits.splice(-1, 1, { ...third, at: second.at, order: second.order });
  caught(checkLimits, scene);
});

function twoInstances(setting: ConstructorParameters<typeof Scene>[0]): Scene {
  const scene = new Scene(setting);
  const life = scene.life("m0");
  for (const key of [1, 2]) scene.turn(life, key, created(scene, solo));
  return scene;
}
