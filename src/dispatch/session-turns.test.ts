import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import type { HistoryPage, TurnQuestion } from "../kernel/code/turn-question.ts";
import type { AskedTurn } from "./code-host.ts";
import { CodeHosts } from "./code-hosts.ts";
import type { MemberMessage } from "./session-message.ts";
import { SessionTurns, type TurnSession } from "./session-turns.ts";

const question: TurnQuestion = {
  instanceId: "@acme/order-1",
  workflow: "@acme/w",
  version: "1",
  generation: 1,
  first: 0,
  events: 2,
  steps: 0,
  seen: 0,
  news: undefined,
  queries: [],
};

/** The turns of a worker that is connected to a member, with one question. */
class Rig {
  readonly sent: MemberMessage["type"][] = [];
  readonly session = {
    address: "m/w",
    namespace: "acme",
    isReachable: true,
    isDraining: false,
    isOver: false,
    send: (message: MemberMessage) => void this.sent.push(message.type),
  } satisfies TurnSession;
  readonly turns = new SessionTurns(
    this.session,
    { hosts: new CodeHosts(), announce: () => Promise.resolve(), learn: () => Promise.resolve() },
    () => this.bufferedBytes,
  );
  reads = 0;
  bufferedBytes = 0;

  constructor(history: () => Promise<HistoryPage | undefined>) {
    const turn: AskedTurn = {
      question,
      key: 1,
      losses: 0,
      giveBack: () => undefined,
      history: () => {
        this.reads++;
        return history();
      },
      answer: () => undefined,
    };
    this.turns.ask(turn);
  }

  /** Asks for the history that many times. */
  async askForHistory(times: number): Promise<void> {
    for (let n = 0; n < times; n++) void this.turns.onHistoryAsked({ type: "HistoryAsked", turn: 1, from: 0 });
    await turnOfLoop();
  }
}

describe("questions about code on a session", () => {
  test("have their history read once at a time, however often the worker asks", async () => {
    const page = Promise.withResolvers<HistoryPage>();
    const rig = new Rig(() => page.promise);
    await rig.askForHistory(100);
    assert.equal(rig.reads, 1);
    page.resolve({ turns: [], next: 2 });
    await turnOfLoop();
    await rig.askForHistory(1);
    assert.deepEqual([rig.reads, rig.sent], [2, ["TurnAsked", "History", "History"]]);
  });

  test("fill no memory of the member when the worker does not read what it is sent", async () => {
    const rig = new Rig(() => Promise.resolve({ turns: [], next: 2 }));
    rig.bufferedBytes = 64 * 1024 * 1024;
    await rig.askForHistory(1);
    rig.turns.onHeartbeat([]);
    assert.deepEqual([rig.reads, rig.sent], [0, ["TurnAsked"]]);
    rig.bufferedBytes = 0;
    rig.turns.onHeartbeat([]);
    await rig.askForHistory(1);
    assert.deepEqual(rig.sent, ["TurnAsked", "TurnAsked", "History"]);
  });

  test("send no page of a history that nobody wants any more", async () => {
    const pages: HistoryPage[] = [];
    const rig = new Rig(() => Promise.resolve(pages[0]));
    await rig.askForHistory(1);
    assert.deepEqual(rig.sent, ["TurnAsked"]);
    pages.push({ turns: [], next: 2 });
    await rig.askForHistory(1);
    assert.deepEqual(rig.sent, ["TurnAsked", "History"]);
  });

  test("that were answered before their second copy came are withdrawn when it asks for the history", async () => {
    const rig = new Rig(() => Promise.resolve({ turns: [], next: 2 }));
    const { generation, events, steps } = question;
    const answer = { steps: [], queries: [], canCancel: true };
    rig.turns.onAnswered({ type: "TurnAnswered", turn: 1, generation, events, steps, answer });
    await rig.askForHistory(1);
    assert.deepEqual([rig.reads, rig.sent], [0, ["TurnAsked", "TurnWithdrawn"]]);
  });
});
