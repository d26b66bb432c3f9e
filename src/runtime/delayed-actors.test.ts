import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { DelayedActors } from "./delayed-actors.ts";
import { TurnState } from "./turn-state.ts";

class Actor extends TurnState {}

function addThree(delayed: DelayedActors<Actor>): [Actor, Actor, Actor] {
  const actors: [Actor, Actor, Actor] = [new Actor(), new Actor(), new Actor()];
  for (const actor of actors) assert.equal(delayed.add(actor), true);
  return actors;
}

describe("the delayed actors", () => {
  test("have each actor once, and none that is queued", () => {
    const delayed = new DelayedActors<Actor>();
    const actor = new Actor();
    assert.deepEqual([delayed.add(actor), delayed.add(actor)], [true, false]);
    assert.deepEqual(delayed.takeAll(), [actor]);
    actor.enqueue();
    assert.equal(delayed.add(actor), false);
    assert.deepEqual(delayed.takeAll(), []);
  });

  test("let go of one at any place, and of one that is not there", () => {
    for (const gone of [0, 1, 2]) {
      const delayed = new DelayedActors<Actor>();
      const actors = addThree(delayed);
      const actor = actors[gone] as Actor;
      delayed.delete(actor);
      delayed.delete(actor);
      const others = actors.filter((other) => other !== actor);
      for (const other of others) assert.equal(delayed.add(other), false, "it is still delayed");
      assert.deepEqual(new Set(delayed.takeAll()), new Set(others));
      assert.equal(delayed.add(actor), true);
    }
  });

  test("end the delay of all that are taken or removed", () => {
    const delayed = new DelayedActors<Actor>();
    const [first, second, third] = addThree(delayed);
    delayed.remove((actor) => actor === first);
    assert.equal(first.delayPlace, -1);
    delayed.delete(second);
    assert.deepEqual(delayed.takeAll(), [third]);
    assert.equal(third.delayPlace, -1);
  });
});
