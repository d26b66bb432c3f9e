import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DeferredQuestions } from "./deferred-questions.ts";
import type { Message } from "./message.ts";

function query(): Message {
  return { query: () => undefined, reply: { resolve: () => undefined, reject: () => undefined } };
}

describe("questions that code cannot answer yet", () => {
  test("are tried again in the next turn, those for the start once the instance is started", () => {
    const deferred = new DeferredQuestions();
    const [early, later] = [query(), query()];
    deferred.defer(early, "start");
    deferred.defer(later, "next turn");
    assert.equal(deferred.isWaitingForStart, true);
    assert.deepEqual(deferred.takeForNextTurn(false), [later]);
    assert.deepEqual(deferred.takeForNextTurn(true), [early]);
    assert.equal(deferred.isWaitingForStart, false);
    assert.deepEqual(deferred.takeAll(), []);
  });

  test("are overdue after more than a hundred turns in a row, unless the code was there to answer in between", () => {
    const deferred = new DeferredQuestions();
    const turns = (count: number): void => {
      for (let turn = 0; turn < count; turn++) {
        deferred.defer(query(), "next turn");
        deferred.takeForNextTurn(true);
      }
    };
    turns(100);
    assert.equal(deferred.isOverdue, false);
    deferred.onAnswerable();
    turns(100);
    assert.equal(deferred.isOverdue, false);
    turns(1);
    assert.equal(deferred.isOverdue, true);
  });

  test("are all returned when the instance is abandoned", () => {
    const deferred = new DeferredQuestions();
    const [early, later] = [query(), query()];
    deferred.defer(early, "start");
    deferred.defer(later, "next turn");
    assert.deepEqual(deferred.takeAll(), [later, early]);
    assert.equal(deferred.isWaitingForStart, false);
  });
});
