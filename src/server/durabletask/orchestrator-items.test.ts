import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { silentLogger } from "../../base/logger.ts";
import type { AskedTurn } from "../../dispatch/code-host.ts";
import type { Event } from "../../kernel/event.ts";
import type { TurnAnswer, TurnEvents, TurnQuery } from "../../kernel/code/turn-question.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { type OrchestratorItem, OrchestratorHost } from "./orchestrator-items.ts";
import { PendingItems } from "./work-items.ts";

const created = {
  type: "InstanceCreated",
  workflow: "order",
  version: "durabletask",
  generation: 1,
  context: {},
  maxConcurrentTasks: 0,
  trigger: "api",
} as const;

/** The event `go` came while the first turn was open, whose answer set the status. */
const turns: TurnEvents[] = [
  [created, { type: "InstanceStarted" } as const],
  [{ type: "EventRaised", name: "go" } as const],
  [{ type: "CustomStatusSet", status: "busy" } as const],
].map((events: readonly Event[], turn) => ({ turn, at: 1000 + turn, firstEvent: turn === 0 ? 0 : turn + 1, events }));

/** Asks about all events, of which the code has seen those before `seen`. */
async function asked(seen: number, queries: readonly TurnQuery[] = []) {
  const sent: OrchestratorItem[] = [];
  const answers: TurnAnswer[] = [];
  const host = new OrchestratorHost({
    address: "stream",
    namespace: "default",
    owner: "t",
    clock: new TestClock(),
    logger: silentLogger,
    pending: new PendingItems(),
    known: { isJob: () => false, isWorkflow: () => false },
    filter: undefined,
    turnsMax: 1,
    makeToken: () => "token",
    send: (item) => sent.push(item),
    nameOf: () => Promise.resolve(undefined),
    prepare: () => Promise.resolve(),
  });
  const turn: AskedTurn = {
    question: {
      instanceId: "i",
      workflow: "order",
      version: "durabletask",
      generation: 1,
      first: 0,
      events: 4,
      steps: 1,
      seen,
      news: undefined,
      queries,
    },
    key: 1,
    losses: 0,
    history: () => Promise.resolve({ turns, next: 4 }),
    answer: (answer) => answers.push(answer),
    giveBack: () => assert.fail("it was answered"),
  };
  host.ask(turn);
  await setImmediate();
  return { sent, answers };
}

const namesIn = (events: OrchestratorItem["newEvents"]): string[] =>
  events.map((event) => Object.keys(event).find((name) => !["eventId", "at"].includes(name)) ?? "");

describe("an orchestration's turn", () => {
  test("has as new events what came after those that its worker has seen", async () => {
    const [item] = (await asked(2)).sent;
    assert.deepEqual(namesIn(item?.newEvents ?? []), ["orchestratorStarted", "eventRaised"]);
  });

  test("has the last of what came as new, if nobody knows whether the worker has seen it", async () => {
    const [item] = (await asked(4)).sent;
    assert.deepEqual(namesIn(item?.newEvents ?? []), ["orchestratorStarted", "eventRaised"]);
    assert.deepEqual(namesIn(item?.pastEvents ?? []), ["orchestratorStarted", "executionStarted"]);
  });

  test("that has nothing but questions is answered without the worker", async () => {
    const { sent, answers } = await asked(4, [{ name: "state" }]);
    assert.deepEqual([sent.length, answers.length], [0, 1]);
  });
});
