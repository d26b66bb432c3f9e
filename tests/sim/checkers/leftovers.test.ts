import { test } from "node:test";
import { caught } from "./caught.ts";
import { checkLeftovers } from "./leftovers.ts";
import { goodRun } from "./scene.ts";

test("a message and mail that nobody reads, and rows of nobody", () => {
  const { scene } = goodRun();
  scene.leftovers.push({ source: 0, target: 1, number: 7, body: "{}" }, { id: 1, box: "shard:3", body: "hello" });
  scene.strayKeys.push(99);
  caught(
    checkLeftovers,
    scene,
    /message 7 from shard 0 to 1 was not read/,
    /mail in the box shard:3 was not fetched: hello/,
    /rows of instance 99, which is not there/,
  );
});

test("a worker that has something to tell when there is nothing to be done any more", () => {
  const { scene } = goodRun();
  scene.busyWorkers.push({ machine: "w1", running: 0, results: 2 });
  caught(checkLeftovers, scene, /worker w1 still has 0 attempts to run and 2 results to tell/);
});
