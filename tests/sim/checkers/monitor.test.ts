import { test } from "node:test";
import type { LifeRecord } from "../evidence.ts";
import type { MonitorAnswer } from "../monitor.ts";
import { created, type EvidenceBuilder, goodRun, solo } from "./evidence-builder.ts";
import { expectViolations } from "./expect-violations.ts";
import { checkMonitor } from "./monitor.ts";

const ended = { instanceId: "a", task: 0, attempt: 1 };
const running = { instanceId: "b", task: 0, attempt: 1 };

/** Two members; `b` runs on the second one, in a minute in which nothing else happens. */
function scene(): { builder: EvidenceBuilder; asked: LifeRecord; host: LifeRecord } {
  const { builder, life: asked } = goodRun({ isCluster: true });
  const host = builder.life("m2");
  builder.turn(asked, 2, created(builder, solo));
  builder.now += 120_000;
  builder.run(host, "b:1:0:1");
  builder.now += 10;
  return { builder, asked, host };
}

function answer(builder: EvidenceBuilder, asked: LifeRecord, about: Partial<MonitorAnswer>): void {
  const call = builder.ask(asked, "queue");
  builder.answer(call, { value: { state: "running", tasks: [running], unanswered: [], ...about } });
}

test("an answer has what runs on any member", () => {
  const { builder, asked } = scene();
  answer(builder, asked, {});
  expectViolations(checkMonitor, builder);
  answer(builder, asked, { tasks: [] });
  expectViolations(checkMonitor, builder, /does not have task 0 of b, which ran in life 2/);
});

test("a member that did not answer, was frozen, was cut off or had just begun may be missing", () => {
  for (const trouble of [
    ({ builder, asked }: ReturnType<typeof scene>) => answer(builder, asked, { tasks: [], unanswered: ["m2:1"] }),
    ({ builder, asked, host }: ReturnType<typeof scene>) => {
      host.freezes.push({ from: { at: builder.now - 9000, order: 0 }, to: builder.moment(), kind: "stopped" });
      answer(builder, asked, { tasks: [] });
    },
    ({ builder, asked }: ReturnType<typeof scene>) => {
      builder.lists.storeOutages.push({ machine: "m1", from: builder.now - 9000, to: builder.now });
      answer(builder, asked, { tasks: [] });
    },
    ({ builder, asked, host }: ReturnType<typeof scene>) => {
      host.up = builder.moment();
      answer(builder, asked, { tasks: [] });
    },
  ]) {
    const parts = scene();
    trouble(parts);
    expectViolations(checkMonitor, parts.builder);
  }
});

test("a member always knows what it runs itself", () => {
  const { builder, host } = scene();
  host.up = builder.moment();
  answer(builder, host, { tasks: [] });
  expectViolations(checkMonitor, builder, /does not have task 0 of b/);
});

test("a task twice, and a task of an instance that has ended", () => {
  const { builder, asked } = scene();
  answer(builder, asked, { tasks: [running, running] });
  answer(builder, asked, { state: "waiting", tasks: [ended] });
  expectViolations(
    checkMonitor,
    builder,
    /has task 0 of b twice/,
    /has task 0 of a, which had ended at 1100, as waiting/,
  );
});
