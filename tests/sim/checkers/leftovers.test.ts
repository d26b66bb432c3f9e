import { test } from "node:test";
import { expectViolations } from "./expect-violations.ts";
import { checkLeftovers } from "./leftovers.ts";
import { goodRun } from "./evidence-builder.ts";

test("a message and mail that nobody reads, and rows of nobody", () => {
  const { builder } = goodRun();
  builder.leftovers.push({ source: 0, target: 1, number: 7, body: "{}" }, { id: 1, mailbox: "shard:3", body: "hello" });
  builder.orphanedKeys.push(99);
  expectViolations(
    checkLeftovers,
    builder,
    /message 7 from shard 0 to 1 was not read/,
    /mail in the mailbox shard:3 was not fetched: hello/,
    /rows of instance 99, which is not there/,
  );
});

test("a worker that has something to tell when there is nothing to be done any more", () => {
  const { builder } = goodRun();
  builder.busyWorkers.push({ machine: "w1", running: 0, results: 2 });
  expectViolations(checkLeftovers, builder, /worker w1 still has 0 attempts to run and 2 results to tell/);
});
