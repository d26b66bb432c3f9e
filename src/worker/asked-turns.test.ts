import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { silentLogger } from "../base/logger.ts";
import type { HistoryPage, TurnQuestion } from "../kernel/code/turn-question.ts";
import { AskedTurns } from "./asked-turns.ts";

const question: TurnQuestion = {
  instanceId: "i",
  workflow: "w",
  version: "1",
  generation: 1,
  first: 0,
  events: 2,
  steps: 0,
  seen: 2,
  news: [],
  queries: [],
};
const page: HistoryPage = { turns: [], next: 2 };

/** A worker without the code in memory: each answer waits for the history, and for the one before it. */
class Rig {
  readonly sent: string[] = [];
  readonly ends: string[] = [];
  #last: Promise<unknown> = Promise.resolve();
  readonly turns = new AskedTurns({
    logger: silentLogger,
    send: ({ type }) => void this.sent.push(type),
    code: {
      workflows: [],
      turnsMax: 10,
      answer: async (_, read) => {
        const before = this.#last;
        const answer = before.then(() => read(0));
        this.#last = answer.then(
          () => this.ends.push("read"),
          () => this.ends.push("given up"),
        );
        await this.#last;
        return { steps: [], queries: [], canCancel: true };
      },
    },
  });
}

async function turnOfLoop(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe("questions about code at a worker", () => {
  for (const [what, end] of [
    ["that are withdrawn", (rig: Rig) => rig.turns.onWithdrawn(1)],
    ["of a connection that is gone", (rig: Rig) => rig.turns.onReconnect()],
  ] as const) {
    test(`${what} wait for no history, so that the next one of the instance is answered`, async () => {
      const rig = new Rig();
      rig.turns.onAsked({ type: "TurnAsked", turn: 1, question });
      await turnOfLoop();
      end(rig);
      rig.turns.onAsked({ type: "TurnAsked", turn: 2, question });
      await turnOfLoop();
      rig.turns.onHistory({ type: "History", turn: 2, from: 0, page });
      await turnOfLoop();
      assert.deepEqual(rig.ends, ["given up", "read"]);
      assert.deepEqual(rig.sent, ["HistoryAsked", "HistoryAsked", "TurnAnswered"]);
      assert.deepEqual(rig.turns.numbers, []);
    });
  }
});
