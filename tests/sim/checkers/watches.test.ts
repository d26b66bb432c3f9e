import { test } from "node:test";
import { epochMs } from "../clock.ts";
import type { HeardChange, LifeRecord, Watch } from "../evidence.ts";
import { created, type EvidenceBuilder, goodRun, solo, succeeded } from "./evidence-builder.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkWatches } from "./watches.ts";

const birth = ["InstanceCreated", "InstanceStarted", "TasksScheduled"];
const end = ["TaskSucceeded", "InstanceEnded"];

function watch(builder: EvidenceBuilder, life: LifeRecord, instanceId: string | undefined = "b"): Watch {
  const number = builder.lists.watches.length + 1;
  const open = { ended: undefined, lastedUntil: undefined, heard: [] };
  const watch: Watch = {
    number,
    life: life.number,
    namespace: "default",
    instanceId,
    began: builder.moment(),
    ready: builder.moment(),
    ...open,
  };
  builder.lists.watches.push(watch);
  return watch;
}

function hear(builder: EvidenceBuilder, watch: Watch, turn: 0 | 1, more: Partial<HeardChange> = {}): void {
  const about =
    turn === 0
      ? { firstEvent: 0, types: birth, status: "Running" as const }
      : { firstEvent: 3, types: end, status: "Success" as const };
  const createdAt = epochMs + 2000;
  watch.heard.push({ ...builder.moment(), instanceId: "b", createdAt, turn, ...about, ...more });
}

/** A second instance, `b`, is created and ends after somebody has subscribed; `during` is called after each turn. */
function story(
  during: (turn: 0 | 1, builder: EvidenceBuilder, watch: Watch) => void,
  parts: { instanceId?: string | undefined; lasts?: boolean } = {},
): EvidenceBuilder {
  const { builder, life } = goodRun();
  const { instanceId, lasts = true } = { instanceId: "b", ...parts };
  const watching = watch(builder, life, instanceId);
  builder.now = 2000;
  builder.turn(life, 2, created(builder, solo));
  during(0, builder, watching);
  builder.turn(life, 2, succeeded);
  during(1, builder, watching);
  if (lasts) watching.lastedUntil = builder.moment();
  return builder;
}

test("each turn is heard once, in order, as it was", () => {
  const all = (turn: 0 | 1, builder: EvidenceBuilder, watch: Watch): void => hear(builder, watch, turn);
  expectViolations(checkWatches, story(all));
  expectViolations(checkWatches, story(all, { instanceId: undefined }));
  const late = story((turn, builder, watch) => {
    if (turn === 1) for (const each of [0, 1] as const) hear(builder, watch, each);
  });
  expectViolations(checkWatches, late);
});

test("a turn that was not heard, before another one or at all", () => {
  const nothing = (): void => undefined;
  expectViolations(checkWatches, story(nothing), /did not hear turn 0 of 2000, 1 of 2000 of b at all/);
  expectViolations(
    checkWatches,
    story(nothing, { instanceId: undefined }),
    /did not hear turn 0 of 2000, 1 of 2000 of b at all/,
  );
  expectViolations(checkWatches, story(nothing, { lasts: false }));
  const second = story((turn, builder, watch) => {
    if (turn === 1) hear(builder, watch, 1);
  });
  expectViolations(checkWatches, second, /did not hear turn 0 of 2000 of b before turn 1/);
});

test("what is in no history any more is not missed", () => {
  const builder = story(() => undefined);
  builder.instances.delete(2);
  expectViolations(checkWatches, builder);
});

test("a turn that comes twice, too early, changed, or without being followed", () => {
  const twice = story((turn, builder, watch) => {
    hear(builder, watch, turn);
    if (turn === 0) hear(builder, watch, turn);
  });
  expectViolations(checkWatches, twice, /heard turn 0 of b after turn 0/);
  const early = story((turn, builder, watch) => {
    hear(builder, watch, turn);
    if (turn === 0) hear(builder, watch, 1);
  });
  expectViolations(checkWatches, early, /heard turn 1 of b, which was not durable/, /heard turn 1 of b after turn 1/);
  for (const more of [{ status: "Paused" as const }, { types: [] }, { firstEvent: 2 }]) {
    const changed = story((turn, builder, watch) => hear(builder, watch, turn, turn === 1 ? more : {}));
    expectViolations(checkWatches, changed, /heard turn 1 of b as/);
  }
  const strange = story((turn, builder, watch) => hear(builder, watch, turn), { instanceId: "a", lasts: false });
  expectViolations(checkWatches, strange, /heard of b, which it does not follow/);
});
