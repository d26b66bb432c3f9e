import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Bus } from "../cluster/bus.ts";
import { SharedLease, sharedLeaseBytes } from "../cluster/shared-lease.ts";
import { defaultTimings } from "../cluster/timings.ts";
import { systemProcessTable } from "../cluster/process-table.ts";
import { type ClusterOptions, resolveClusterOptions, resolveLoneWorkers } from "./cluster-options.ts";

const bus: Bus = {
  kind: "none",
  connect: () => ({ isConnected: true, send: () => true, close: async () => undefined }),
};

/** What is said about options that the compiler would not have let pass. */
function problemOf(options: unknown): string {
  try {
    resolveClusterOptions(options as ClusterOptions);
  } catch (error) {
    assert.ok(error instanceof Error && "code" in error);
    assert.equal(error.code, "OPTION_INVALID");
    return error.message;
  }
  throw new Error("they were not refused");
}

describe("the options of a cluster", () => {
  test("have defaults, of which the name is this process", () => {
    const { name, ...rest } = resolveClusterOptions({});
    const none = { bus: undefined, processTable: undefined, leaseThread: undefined };
    assert.deepEqual(rest, { ...none, shards: 128, ownsShards: true, timings: defaultTimings, remoteWorkers: false });
    assert.match(name, new RegExp(`.:${process.pid}$`));
  });

  test("are taken as they are given", () => {
    const processTable = systemProcessTable;
    const leaseThread = new SharedLease(new SharedArrayBuffer(sharedLeaseBytes), 0);
    const given = {
      bus,
      processTable,
      leaseThread,
      name: "east",
      shards: 8192,
      ownsShards: false,
      timings: { beatMs: 100 },
    };
    const resolved = { ...given, remoteWorkers: true, timings: { ...defaultTimings, beatMs: 100 } };
    assert.deepEqual(resolveClusterOptions(given, undefined, true), resolved);
  });

  test("that are there but undefined are not given", () => {
    const none = { bus: undefined, name: undefined, shards: undefined, timings: undefined };
    assert.deepEqual(resolveClusterOptions(none as unknown as ClusterOptions), resolveClusterOptions({}));
    const timings = { beatMs: undefined } as unknown as NonNullable<ClusterOptions["timings"]>;
    assert.deepEqual(resolveClusterOptions({ timings }).timings, defaultTimings);
  });

  test("must be an object", () => {
    for (const [options, got] of [
      [null, "null"],
      [true, "true"],
      ["yes", '"yes"'],
      [[], "a list"],
    ]) {
      assert.equal(problemOf(options), `engine option "cluster" must be an object, got ${got as string}`);
    }
  });

  test("must be known by name", () => {
    assert.equal(problemOf({ shard: 4 }), 'engine option "cluster.shard" does not exist; did you mean "shards"?');
    assert.equal(problemOf({ seeds: [] }), 'engine option "cluster.seeds" does not exist');
    const misspelt = problemOf({ timings: { beatMS: 100 } });
    assert.equal(misspelt, 'engine option "cluster.timings.beatMS" does not exist; did you mean "beatMs"?');
  });

  test("name a member without a slash, which stands between a member and its workers", () => {
    for (const [name, got] of [
      ["", '""'],
      [" ", '" "'],
      ["a/b", '"a/b"'],
      [7, "7"],
    ]) {
      assert.equal(problemOf({ name }), `engine option "cluster.name" must be a name without a slash, got ${got}`);
    }
  });

  test("have as many shards as keys have room for", () => {
    for (const shards of [0, -1, 1.5, NaN, 8193, "16"]) {
      assert.match(
        problemOf({ shards }),
        /^engine option "cluster\.shards" must be a whole number from 1 to 8192, got /,
      );
    }
    assert.equal(resolveClusterOptions({ shards: 1 }).shards, 1);
  });

  test("have a bus that can be connected to, or none", () => {
    for (const bad of [null, {}, "none", 5]) {
      assert.match(
        problemOf({ bus: bad }),
        /^engine option "cluster\.bus" must be nats\(url\) of heddle\/nats, inProcessBus\(\), "notify" or "poll", got /,
      );
    }
    assert.match(problemOf({ bus: "nats://localhost" }), /takes an address as nats\("nats:\/\/…"\)/);
    assert.match(problemOf({ bus: "notify" }), /cannot be "notify" on this store: only PostgreSQL notifies/);
    assert.equal(resolveClusterOptions({ bus: "poll" }).bus, undefined);
    assert.equal(resolveClusterOptions({}).bus, undefined);
    assert.equal(resolveClusterOptions({ bus }).bus, bus);
  });

  test("take the best bus that the store has, unless another is chosen", () => {
    const store = { openNotifier: () => Promise.reject(new Error("not now")) };
    assert.equal(resolveClusterOptions({}, store).bus?.kind, "notify");
    assert.equal(resolveClusterOptions({ bus: "notify" }, store).bus?.kind, "notify");
    assert.equal(resolveClusterOptions({ bus }, store).bus, bus);
    assert.equal(resolveClusterOptions({ bus: "poll" }, store).bus, undefined);
  });

  test("have the timings of remote workers, if those are given", () => {
    const { remoteWorkers, timings } = resolveClusterOptions({}, undefined, { workerLostMs: 30_000 });
    assert.deepEqual([remoteWorkers, timings], [true, { ...defaultTimings, workerLostMs: 30_000 }]);
  });
});

describe("the timings of a cluster", () => {
  test("are each a number of milliseconds", () => {
    for (const name of Object.keys(defaultTimings)) {
      for (const ms of [0, -5, NaN, Infinity, "100", null]) {
        const problem = `engine option "cluster.timings.${name}" must be a number of milliseconds above 0, got `;
        assert.ok(problemOf({ timings: { [name]: ms } }).startsWith(problem));
      }
    }
    assert.equal(problemOf({ timings: 5 }), 'engine option "cluster.timings" must be an object, got 5');
  });

  test("let a member give two signs of life before it is suspected", () => {
    assert.equal(
      problemOf({ timings: { beatMs: 5001 } }),
      'engine option "cluster.timings.beatMs" must be at most half of timings.suspectMs, or members suspect each other for nothing',
    );
    assert.equal(resolveClusterOptions({ timings: { beatMs: 5000 } }).timings.beatMs, 5000);
  });

  test("let a worker report twice before its attempts are lost", () => {
    assert.equal(
      problemOf({ timings: { workerLostMs: 19_999 } }),
      'engine option "cluster.timings.workerBeatMs" must be at most half of workerLostMs, or attempts are taken for lost that run',
    );
    assert.equal(resolveClusterOptions({ timings: { workerLostMs: 20_000 } }).timings.workerLostMs, 20_000);
  });
});

describe("the remote workers of an engine alone", () => {
  test("have the timings of a cluster, or those that are given", () => {
    assert.equal(resolveLoneWorkers(false), undefined);
    assert.deepEqual(resolveLoneWorkers(true), { workerBeatMs: 10_000, workerLostMs: 60_000 });
    assert.deepEqual(resolveLoneWorkers({ workerBeatMs: 500 }), { workerBeatMs: 500, workerLostMs: 60_000 });
  });

  test("are refused if they do not fit", () => {
    const refuse = (given: unknown, message: RegExp): void =>
      assert.throws(() => resolveLoneWorkers(given as boolean), { code: "OPTION_INVALID", message });
    refuse("yes", /"remoteWorkers" must be an object, got "yes"/);
    refuse({ beatMs: 1 }, /"remoteWorkers.beatMs" does not exist/);
    refuse({ workerBeatMs: 0 }, /"remoteWorkers.workerBeatMs" must be a number of milliseconds above 0, got 0/);
    refuse({ workerLostMs: 19_999 }, /"remoteWorkers.workerBeatMs" must be at most half of workerLostMs/);
  });
});
