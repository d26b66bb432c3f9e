/**
 * Every sample is run to its end, and again with a crash before and after each of its commits: the result is the same, no effect is
 * missing, and only attempts that were in flight at the crash are repeated.
 */
import { describe, test } from "node:test";
import { interpret } from "../../examples/samples/dsl-interpreter.ts";
import { approveExpense } from "../../examples/samples/expense.ts";
import { greetAll } from "../../examples/samples/child-workflows.ts";
import { lock, printAlone } from "../../examples/samples/mutex.ts";
import { bookTrip } from "../../examples/samples/saga.ts";
import { type Scenario, survivesCrashes } from "./sample-rig.ts";

const hourMs = 3_600_000;

const scenarios: Readonly<Record<string, Scenario>> = {
  "saga: a trip is booked": {
    sample: "saga",
    play: async (client) => {
      await client.start(bookTrip, { customer: "ann", flight: "12" }, "trip");
      return await client.result("trip");
    },
    result: ["hotel for ann", "car for ann", "flight 12 for ann"],
    effects: ["hotel for ann", "car for ann", "flight 12 for ann"],
  },
  "saga: a trip without a flight is canceled": {
    sample: "saga",
    play: async (client) => {
      await client.start(bookTrip, { customer: "ann", flight: "full" }, "trip");
      return await client.result("trip");
    },
    result: 'instance "trip" failed: activity "book-flight" failed: there is no seat left',
    effects: [
      "hotel for ann",
      "car for ann",
      "there is no seat left",
      "there is no seat left",
      "car for ann: canceled",
      "hotel for ann: canceled",
    ],
  },
  "child workflows": {
    sample: "child-workflows",
    play: async (client) => {
      await client.start(greetAll, ["ann", "bob", "cy"], "greetings");
      return await client.result("greetings");
    },
    result: "Hello, ann! Hello, bob! Hello, cy!",
    effects: ["Hello, ann!", "Hello, bob!", "Hello, cy!"],
  },
  "expense: approved": {
    sample: "expense",
    play: async (client) => {
      await client.start(approveExpense, { amount: 20, timeoutMs: hourMs }, "expense");
      await client.raise("expense", "decision", "approved");
      return await client.result("expense");
    },
    result: "expense of 20: paid",
    effects: ["expense of 20", "expense of 20: paid"],
  },
  "expense: nobody decides in time": {
    sample: "expense",
    play: async (client) => {
      await client.start(approveExpense, { amount: 20, timeoutMs: hourMs }, "expense");
      return await client.result("expense");
    },
    result: "expense of 20: not paid",
    effects: ["expense of 20", "expense of 20: not paid"],
  },
  "mutex: three holders, one at a time": {
    sample: "mutex",
    play: async (client) => {
      await client.start(lock, { holdersPerGeneration: 2 }, "printer");
      for (const name of ["a", "b", "c"]) {
        await client.start(printAlone, { lockId: "printer", pages: [`${name}1`, `${name}2`] }, name);
      }
      return await Promise.all(["a", "b", "c"].map((id) => client.result(id)));
    },
    result: ["a", "b", "c"].map((name) => [`printed ${name}1`, `printed ${name}2`]),
    effects: ["a", "b", "c"].flatMap((name) => [`printed ${name}1`, `printed ${name}2`]),
  },
  "interpreter of a small language": {
    sample: "dsl-interpreter",
    play: async (client) => {
      const square = { call: "multiply", with: ["a", "a"], into: "aa" };
      const double = { call: "sum-up", with: ["b", "b"], into: "bb" };
      const total = { call: "sum-up", with: ["aa", "bb"], into: "total" };
      const body = { sequence: [{ parallel: [square, double] }, total] };
      await client.start(interpret, { variables: { a: 3, b: 4 }, body }, "program");
      return await client.result("program");
    },
    result: { a: 3, b: 4, aa: 9, bb: 8, total: 17 },
    effects: [9, 8, 17],
  },
};

describe("samples survive a crash at each of their commits", () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    test(name, (t) => survivesCrashes(t, scenario));
  }
});
