import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { TurnState } from "./turn-state.ts";

class Actor extends TurnState {}

describe("an actor on its way to a turn", () => {
  test("is queued once, and busy from its turn's opening to the end of the release", () => {
    const actor = new Actor();
    assert.deepEqual([actor.enqueue(), actor.enqueue(), actor.isQueued, actor.isBusy], [true, false, true, false]);
    actor.takeTurn();
    assert.deepEqual([actor.isQueued, actor.isBusy], [false, true]);
    actor.endTurn();
    assert.deepEqual([actor.isQueued, actor.isBusy], [false, false]);
  });

  test("may be queued for its next turn while it is busy", () => {
    const actor = new Actor();
    actor.enqueue();
    actor.takeTurn();
    assert.equal(actor.enqueue(), true);
    actor.endTurn();
    assert.deepEqual([actor.isQueued, actor.isBusy], [true, false]);
  });
});
