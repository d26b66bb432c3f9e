import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CodeRig } from "./code.rig.ts";

describe("an answer to an update", () => {
  const asked = (update: string) => ({ type: "RequestUpdate", update, name: "set" }) as const;

  test("outlives a new beginning, also one in the same turn, for whoever asked and has not heard it", () => {
    const rig = CodeRig.started().tell(asked("a")).take({ type: "answer", update: "a", output: "1" });
    rig.tell(asked("b")).take({ type: "answer", update: "b" }, { type: "continue", events: [] });
    assert.equal(rig.machine.state.answerTo("a")?.output, "1");
    assert.equal(rig.machine.state.hasUpdate("b"), true);
    assert.equal(rig.replayed().machine.state.answerTo("a")?.output, "1");
    // The same update again is answered, not carried out.
    assert.deepEqual(rig.tell(asked("a")).events, []);
  });

  test("that is large goes with the generation after the one that gave it", () => {
    const large = { ref: 65_536, bytes: 5000 };
    const rig = CodeRig.started().tell(asked("a")).take({ type: "answer", update: "a", output: large });
    rig.tell(asked("b")).take({ type: "answer", update: "b", output: "2" }, { type: "continue", events: [] });
    const { state } = rig.machine;
    assert.deepEqual(state.answerTo("a")?.output, large);
    rig.take({ type: "continue", events: [] });
    assert.deepEqual([state.answerTo("a"), state.answerTo("b")?.output], [undefined, "2"]);
  });

  test("of the last second is kept, whatever their number", () => {
    const rig = CodeRig.started();
    for (let update = 0; update < 30; update++) {
      rig.at = 1000 + update * 100;
      rig.tell(asked(`u${update}`)).take({ type: "answer", update: `u${update}` });
      if (update > 20) rig.take({ type: "continue", events: [] });
    }
    rig.at = 3000;
    rig.take({ type: "continue", events: [] });
    assert.equal(rig.replayed().machine.state.hasUpdate("u9"), false);
    for (let update = 10; update < 30; update++) assert.equal(rig.machine.state.hasUpdate(`u${update}`), true);
  });

  test("is the next generation's to give, if the code has not seen the update", () => {
    const rig = CodeRig.started().tell(asked("u"));
    rig.take({ type: "continue", events: [], updates: [{ update: "u", name: "set", data: "1" }] });
    assert.deepEqual(rig.events.slice(1), [{ type: "UpdateRequested", update: "u", name: "set", data: "1" }]);
    assert.equal(rig.machine.state.hasUpdate("u"), true);
  });

  test("is kept for the last twenty, and one that was not given is not", () => {
    const rig = CodeRig.started().tell(asked("open"));
    for (let update = 0; update < 30; update++) {
      rig.tell(asked(`u${update}`)).take({ type: "answer", update: `u${update}` });
    }
    rig.at = 9000;
    rig.take({ type: "continue", events: [] });
    const { state } = rig.machine;
    assert.deepEqual([state.hasUpdate("open"), state.hasUpdate("u9"), state.hasUpdate("u10")], [false, false, true]);
  });
});
