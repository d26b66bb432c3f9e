import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { broadcastProblem, itemsProblem, mapProblem } from "./check-map.ts";

type Case = readonly [value: unknown, problem: string | undefined];

function table(name: string, problemOf: (value: never) => string | undefined, cases: readonly Case[]): void {
  describe(name, () => {
    for (const [value, problem] of cases) {
      const title = `${JSON.stringify(value)} is ${problem === undefined ? "accepted" : "refused"}`;
      test(title, () => assert.equal(problemOf(value as never), problem));
    }
  });
}

const tolerance = 'tolerateFailures must be a whole number or a share such as "10%", got';

table("the settings of a map", mapProblem, [
  [{ items: [] }, undefined],
  [{ items: "outputs.list" }, undefined],
  [{ items: [1], concurrency: 10_000, failFast: true, tolerateFailures: 0 }, undefined],
  [{ items: [1], tolerateFailures: "12.5%", reduce: { jobName: "sum", nodeParams: "{}" } }, undefined],
  [{ items: [1], tolerateFailures: "100%", reduce: { jobId: 7 } }, undefined],
  [{ items: [1], reduce: { jobId: "7" } }, undefined],
  [{ items: [1], reduce: null }, undefined],
  [[], "map must be an object, got a list"],
  ["x", 'map must be an object, got "x"'],
  [{ source: { jobName: "s", nodeParams: "7" }, concurrency: 2 }, undefined],
  [{ items: null, source: { jobId: 7 }, reduce: { jobName: "sum" } }, undefined],
  [{}, "map needs items, or a source that hands them in"],
  [{ items: null, source: null }, "map needs items, or a source that hands them in"],
  [{ items: [], source: { jobName: "s" } }, "a map has either items or a source, not both"],
  [{ source: {} }, "map.source needs a jobName or a jobId"],
  [{ items: " " }, 'map.items must be a list, or the text of an expression, got " "'],
  [{ items: [], failFast: "yes" }, 'map.failFast must be true or false, got "yes"'],
  [{ items: [], concurrency: 0 }, "map.concurrency must be a whole number from 1 to 10000, got 0"],
  [{ items: [], concurrency: 10_001 }, "map.concurrency must be a whole number from 1 to 10000, got 10001"],
  [{ items: [], concurrency: 1.5 }, "map.concurrency must be a whole number from 1 to 10000, got 1.5"],
  [{ items: [], tolerateFailures: "101%" }, `map.${tolerance} "101%"`],
  [{ items: [], tolerateFailures: "10" }, `map.${tolerance} "10"`],
  [{ items: [], tolerateFailures: -1 }, `map.${tolerance} -1`],
  [{ items: [], reduce: "sum" }, 'map.reduce must be an object, got "sum"'],
  [{ items: [], reduce: { jobName: "" } }, 'map.reduce.jobName must be text that is not blank, got ""'],
  [{ items: [], reduce: {} }, "map.reduce needs a jobName or a jobId"],
  [{ items: [], reduce: { jobId: "" } }, "map.reduce needs a jobName or a jobId"],
  [{ items: [], reduce: { jobName: "sum", nodeParams: {} } }, "map.reduce.nodeParams must be text, got an object"],
]);

table("the settings of a broadcast", broadcastProblem, [
  [{}, undefined],
  [{ concurrency: 5, tolerateFailures: "10%", before: { jobName: "b" }, after: { jobName: "a" } }, undefined],
  [null, "broadcast must be an object, got null"],
  [{ concurrency: -1 }, "broadcast.concurrency must be a whole number from 1 to 10000, got -1"],
  [{ before: [] }, "broadcast.before must be an object, got a list"],
  [{ after: { jobName: 1 } }, "broadcast.after.jobName must be text that is not blank, got 1"],
]);

const map = { items: [] };
const reduced = { items: [], reduce: { jobName: "sum" } };

table("the execution mode of a node", itemsProblem, [
  [{}, undefined],
  [{ executeType: 1 }, undefined],
  [{ executeType: "STANDALONE" }, undefined],
  [{ executeType: 2 }, undefined],
  [{ executeType: "BROADCAST", broadcast: {} }, undefined],
  [{ broadcast: {} }, undefined],
  [{ map }, undefined],
  [{ map, executeType: 4 }, undefined],
  [{ map: reduced, executeType: "MAP_REDUCE" }, undefined],
  [{ map: null, broadcast: null, executeType: null }, undefined],
  [{ map, broadcast: {} }, "it is either a map or a broadcast, not both"],
  [{ executeType: 4 }, undefined],
  [{ executeType: "MAP" }, undefined],
  [{ map: {} }, "map needs items, or a source that hands them in"],
  [{ broadcast: { concurrency: 0 } }, "broadcast.concurrency must be a whole number from 1 to 10000, got 0"],
  [{ map, executeType: 3 }, "a map-reduce needs the job that reduces: map.reduce"],
  [{ map: reduced, executeType: 4 }, 'executeType of a map with a reduce must be "MAP_REDUCE" (3)'],
  [{ map, executeType: 1 }, 'executeType of a map must be "MAP" (4) or "MAP_REDUCE" (3), got 1'],
  [{ broadcast: {}, executeType: 4 }, 'executeType of a broadcast must be "BROADCAST" (2), got 4'],
  [{ executeType: 3 }, "a map-reduce needs the job that reduces: map.reduce"],
  [{ executeType: 5 }, 'executeType must be "STANDALONE" (1), "BROADCAST" (2), "MAP_REDUCE" (3) or "MAP" (4), got 5'],
]);
