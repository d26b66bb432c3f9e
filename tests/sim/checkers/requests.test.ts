import { test } from "node:test";
import { expectViolations } from "./expect-violations.ts";
import { checkRequests } from "./requests.ts";
import { created, goodRun, EvidenceBuilder, solo } from "./evidence-builder.ts";

const patched = { type: "ContextPatched", patch: { m: "1" } } as const;

test("a start that is accepted and not carried out", () => {
  const { builder, life } = goodRun();
  builder.answer(builder.ask(life, "submit", { marker: "s2-0", instanceId: "b" }), { value: "b" });
  expectViolations(checkRequests, builder, /start s2-0 of b was accepted and not carried out/);
});

test("a start that is carried out twice", () => {
  const { builder, life } = goodRun();
  builder.turn(life, 2, created(builder, solo));
  expectViolations(checkRequests, builder, /start s1-0 of a was carried out 2 times/);
});

test("a start that is accepted before it is durable", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.answer(builder.ask(life, "submit", { marker: "s1-0" }), { value: "a" });
  builder.turn(life, 1, created(builder, solo));
  expectViolations(checkRequests, builder, /start s1-0 of a was accepted before it was durable/);
});

test("a start that is refused and carried out", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, created(builder, solo));
  builder.answer(builder.ask(life, "submit", { marker: "s1-0" }), { outcome: "refused", code: "WORKFLOW_INVALID" });
  expectViolations(checkRequests, builder, /start s1-0 of a was refused and carried out/);
});

test("a start that is refused because of one that is not there", () => {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.answer(builder.ask(life, "submit", { marker: "s1-0" }), { outcome: "refused", code: "INSTANCE_EXISTS" });
  expectViolations(checkRequests, builder, /was refused because a exists, which never did/);
});

test("a request that is granted and not carried out, or carried out twice", () => {
  const { builder, life } = running();
  builder.answer(builder.ask(life, "patch", { marker: "m" }));
  expectViolations(checkRequests, builder, /patch m of a was answered with success and not carried out/);
  builder.turn(life, 1, [patched]);
  builder.turn(life, 1, [patched]);
  expectViolations(checkRequests, builder, /patch m of a was carried out 2 times/);
});

test("a request that is refused and carried out; of one that nobody knows about both is right", () => {
  const { builder, life } = running();
  const call = builder.ask(life, "patch", { marker: "m" });
  builder.turn(life, 1, [patched]);
  builder.answer(call, { outcome: "refused", code: "INSTANCE_STATE" });
  expectViolations(checkRequests, builder, /patch m of a was refused \(INSTANCE_STATE\) and carried out/);
  call.outcome = "unknown";
  expectViolations(checkRequests, builder);
});

test("a request that is answered before it is durable", () => {
  const { builder, life } = running();
  builder.answer(builder.ask(life, "terminate", { marker: "m" }));
  builder.turn(life, 1, [
    { type: "TasksStopped", tasks: [0] },
    { type: "InstanceEnded", status: "Terminated", reason: "m" },
  ]);
  expectViolations(checkRequests, builder, /terminate m of a was answered before it was durable/);
});

test("a pause that nobody asked for, and one that is lost", () => {
  const { builder, life } = running();
  builder.turn(life, 1, [{ type: "PauseRequested" }]);
  expectViolations(
    checkRequests,
    builder,
    /pause was granted 0 times, and may have been 0 times; it was carried out 1 times/,
  );
  for (const _ of [1, 2]) builder.answer(builder.ask(life, "pause"));
  expectViolations(
    checkRequests,
    builder,
    /pause was granted 2 times, and may have been 2 times; it was carried out 1 times/,
  );
});

test("a cancel that is granted and comes to nothing; code that fails by itself is on its way to its end", () => {
  const { builder, life } = running();
  builder.answer(builder.ask(life, "cancel", { marker: "m" }));
  expectViolations(checkRequests, builder, /cancel m of a was answered with success, and it was not canceled/);
  builder.turn(life, 1, [
    { type: "TasksStopped", tasks: [0] },
    { type: "InstanceEnded", status: "Failed", reason: "no" },
  ]);
  expectViolations(checkRequests, builder);
});

function running(): { builder: EvidenceBuilder; life: ReturnType<EvidenceBuilder["life"]> } {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, created(builder, solo));
  return { builder, life };
}
