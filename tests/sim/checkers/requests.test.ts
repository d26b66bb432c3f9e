import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkRequests } from "./requests.ts";
import { created, goodRun, Scene, solo } from "./scene.ts";

const patched = { type: "ContextPatched", patch: { m: "1" } } as const;

test("a start that is accepted and not carried out", () => {
  const { scene, life } = goodRun();
  scene.answer(scene.ask(life, "submit", { marker: "s2-0", instanceId: "b" }), { value: "b" });
  caught(checkRequests, scene, /start s2-0 of b was accepted and not carried out/);
});

test("a start that is carried out twice", () => {
  const { scene, life } = goodRun();
  scene.turn(life, 2, created(scene, solo));
  caught(checkRequests, scene, /start s1-0 of a was carried out 2 times/);
});

test("a start that is accepted before it is durable", () => {
  const scene = new Scene();
  const life = scene.life();
  scene.answer(scene.ask(life, "submit", { marker: "s1-0" }), { value: "a" });
  scene.turn(life, 1, created(scene, solo));
  caught(checkRequests, scene, /start s1-0 of a was accepted before it was durable/);
});

test("a start that is refused and carried out", () => {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, created(scene, solo));
  scene.answer(scene.ask(life, "submit", { marker: "s1-0" }), { outcome: "refused", code: "WORKFLOW_INVALID" });
  caught(checkRequests, scene, /start s1-0 of a was refused and carried out/);
});

test("a start that is refused because of one that is not there", () => {
  const scene = new Scene();
  const life = scene.life();
  scene.answer(scene.ask(life, "submit", { marker: "s1-0" }), { outcome: "refused", code: "INSTANCE_EXISTS" });
  caught(checkRequests, scene, /was refused because a exists, which never did/);
});

test("a request that is granted and not carried out, or carried out twice", () => {
  const { scene, life } = running();
  scene.answer(scene.ask(life, "patch", { marker: "m" }));
  caught(checkRequests, scene, /patch m of a was answered with success and not carried out/);
  scene.turn(life, 1, [patched]);
  scene.turn(life, 1, [patched]);
  caught(checkRequests, scene, /patch m of a was carried out 2 times/);
});

test("a request that is refused and carried out; of one that nobody knows about both is right", () => {
  const { scene, life } = running();
  const call = scene.ask(life, "patch", { marker: "m" });
  scene.turn(life, 1, [patched]);
  scene.answer(call, { outcome: "refused", code: "INSTANCE_STATE" });
  caught(checkRequests, scene, /patch m of a was refused \(INSTANCE_STATE\) and carried out/);
  call.outcome = "unknown";
  caught(checkRequests, scene);
});

test("a request that is answered before it is durable", () => {
  const { scene, life } = running();
  scene.answer(scene.ask(life, "terminate", { marker: "m" }));
  scene.turn(life, 1, [
    { type: "TasksStopped", tasks: [0] },
    { type: "InstanceEnded", status: "Terminated", reason: "m" },
  ]);
  caught(checkRequests, scene, /terminate m of a was answered before it was durable/);
});

test("a pause that nobody asked for, and one that is lost", () => {
  const { scene, life } = running();
  scene.turn(life, 1, [{ type: "PauseRequested" }]);
  caught(checkRequests, scene, /pause was granted 0 times, and may have been 0 times; it was carried out 1 times/);
  for (const _ of [1, 2]) scene.answer(scene.ask(life, "pause"));
  caught(checkRequests, scene, /pause was granted 2 times, and may have been 2 times; it was carried out 1 times/);
});

test("a cancel that is granted and comes to nothing; code that fails by itself is on its way to its end", () => {
  const { scene, life } = running();
  scene.answer(scene.ask(life, "cancel", { marker: "m" }));
  caught(checkRequests, scene, /cancel m of a was answered with success, and it was not canceled/);
  scene.turn(life, 1, [
    { type: "TasksStopped", tasks: [0] },
    { type: "InstanceEnded", status: "Failed", reason: "no" },
  ]);
  caught(checkRequests, scene);
});

function running(): { scene: Scene; life: ReturnType<Scene["life"]> } {
  const scene = new Scene();
  const life = scene.life();
  scene.turn(life, 1, created(scene, solo));
  return { scene, life };
}
