import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { LogFields } from "../base/logger.ts";
import { silentLogger } from "../base/logger.ts";
import { TestClock } from "../testing/test-clock.ts";
import { InProcessBus } from "./in-process-bus.ts";

describe("the in-process bus", () => {
  test("delivers in the order of sending, and never inside send", async () => {
    const clock = new TestClock();
    const bus = new InProcessBus({ clock });
    const heard: string[] = [];
    const a = bus.connect("a", (text) => heard.push(text));
    const b = bus.connect("b", (text) => {
      heard.push(text);
      b.send("a", `${text} again`);
    });
    for (const text of ["1", "2"]) a.send("b", text);
    a.send("a", "3");
    assert.deepEqual(heard, []);
    await clock.settle();
    assert.deepEqual(heard, ["1", "2", "3", "1 again", "2 again"]);
  });

  test("logs what a listener throws, and goes on", async () => {
    const clock = new TestClock();
    const errors: LogFields[] = [];
    const bus = new InProcessBus({ clock, logger: { ...silentLogger, error: (fields) => errors.push(fields) } });
    const heard: string[] = [];
    const a = bus.connect("a", () => {
      throw new Error("no ears");
    });
    bus.connect("b", (text) => heard.push(text));
    a.send("a", "1");
    a.send("b", "2");
    await clock.settle();
    assert.deepEqual(heard, ["2"]);
    assert.deepEqual(errors, [{ to: "a", error: "no ears" }]);
  });

  test("lets several listen at one address, each until it closes", async () => {
    const clock = new TestClock();
    const bus = new InProcessBus({ clock });
    const heard: string[] = [];
    const listener = (text: string): void => void heard.push(text);
    const first = bus.connect("a", listener);
    const second = bus.connect("a", listener);
    const sender = bus.connect("b", listener);
    sender.send("a", "1");
    await clock.settle();
    void first.close();
    void first.close();
    sender.send("a", "2");
    await clock.settle();
    void second.close();
    sender.send("a", "3");
    await clock.settle();
    assert.deepEqual(heard, ["1", "1", "2"]);
  });

  test("spares a listener that another has closed or connected a moment ago", async () => {
    const clock = new TestClock();
    const bus = new InProcessBus({ clock });
    const heard: string[] = [];
    const first = bus.connect("a", () => {
      heard.push("first");
      void second.close();
      bus.connect("a", () => heard.push("third"));
    });
    const second = bus.connect("a", () => heard.push("second"));
    first.send("a", "1");
    await clock.settle();
    assert.deepEqual(heard, ["first"]);
  });

  test("sends nothing for a connection that is closed", async () => {
    const clock = new TestClock();
    const bus = new InProcessBus({ clock });
    const heard: string[] = [];
    bus.connect("a", (text) => heard.push(text));
    const b = bus.connect("b", () => undefined);
    b.send("a", "1");
    void b.close();
    b.send("a", "2");
    await clock.settle();
    assert.deepEqual(heard, ["1"]);
  });
});
