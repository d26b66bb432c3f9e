import { test } from "node:test";
import { eventsIn } from "../../../src/kernel/event-text.ts";
import { epochMs } from "../clock.ts";
import { code } from "../code-workflows.ts";
import type { LifeRecord, Turn } from "../evidence.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkHistories } from "./histories.ts";
import { createdCode, goodRun, EvidenceBuilder } from "./evidence-builder.ts";

test("a turn that is missing", () => {
  const { builder } = goodRun();
  const [instance] = builder.instances.values();
  builder.instances.set(1, { ...instance!, turns: instance!.turns.slice(1) });
  expectViolations(
    checkHistories,
    builder,
    /turn 1 stands where 0 should/,
    /begins with event 3, not 0/,
    /not what was committed/,
  );
});

test("nothing is wrong if a commit that had landed is sent again without a shard that was lost meanwhile", () => {
  const { builder } = goodRun();
  const last = builder.lists.commits.at(-1)!;
  const lost = { ...last.batch.fences[0]!, shard: 7 };
  builder.lists.commits[builder.lists.commits.length - 1] = {
    ...last,
    batch: { ...last.batch, fences: [lost, ...last.batch.fences] },
  };
  builder.lists.commits.push({ ...last, ...builder.moment() });
  expectViolations(checkHistories, builder);
});

test("time that runs backwards", () => {
  const { builder } = goodRun();
  const [instance] = builder.instances.values();
  builder.instances.set(1, { ...instance!, turns: instance!.turns.map((turn, i) => ({ ...turn, at: 9 - i })) });
  expectViolations(checkHistories, builder, /turn 1 is earlier than the one before it/);
});

test("a row that says something else than its history", () => {
  const { builder } = goodRun();
  const [, commit] = builder.lists.commits;
  const [row] = commit!.batch.changes.finished;
  commit!.batch.changes.finished = [{ ...row!, status: "Failed" }];
  expectViolations(
    checkHistories,
    builder,
    /the finished row of a has status Failed, and its history makes it Success/,
  );
});

test("a wake-up that the row does not know of", () => {
  const { builder } = goodRun();
  const [commit] = builder.lists.commits;
  const [row] = commit!.batch.changes.instances;
  commit!.batch.changes.instances = [{ ...row!, wakeAt: 1 }];
  expectViolations(checkHistories, builder, /the row of a has wake 1, and its history makes it null/);
});

test("a history that cannot be followed", () => {
  const { builder, life } = goodRun();
  const events = JSON.stringify([{ type: "TasksScheduled", tasks: [0] }]);
  builder.commit(life, { history: [{ instance: 1, turn: 2, firstEvent: 5, at: 0, events }] });
  expectViolations(checkHistories, builder, /not what was committed/, /cannot be followed/);
});

test("code that begins anew: what was before is gone, and nothing else", () => {
  const { builder, life } = begunAnew();
  expectViolations(checkHistories, builder);
  const instance = builder.instances.get(1)!;
  builder.instances.set(1, { ...instance, turns: instance.turns.slice(1) });
  expectViolations(
    checkHistories,
    builder,
    /turn 2 stands where 0 should/,
    /begins with event 3, not 0/,
    /not what was committed/,
  );
  builder.instances.set(1, { ...instance, turns: [created(builder, life), ...instance.turns] });
  expectViolations(
    checkHistories,
    builder,
    /turn 1 begins anew, and what was before is still there/,
    /not what was committed/,
  );
});

function begunAnew(): { builder: EvidenceBuilder; life: LifeRecord } {
  const builder = new EvidenceBuilder();
  const life = builder.life();
  builder.turn(life, 1, createdCode(builder, code.inbox, {}));
  const { name: workflow, version } = code.inbox;
  const anew = { type: "InstanceContinued", workflow, version, generation: 2, createdAt: epochMs + 1000 } as const;
  builder.turn(life, 1, [{ ...anew, trigger: "api" }]);
  builder.turn(life, 1, [{ type: "EventRaised", name: "n" }]);
  return { builder, life };
}

/** The turn that was before the new beginning. */
function created(builder: EvidenceBuilder, { number }: LifeRecord): Turn {
  const commit = builder.lists.commits.find(({ life }) => life === number);
  const [row] = commit?.batch.changes.history ?? [];
  return { ...row!, events: eventsIn(row!.events) };
}
