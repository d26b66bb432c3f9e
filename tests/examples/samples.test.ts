/**
 * Every sample is run to its end, and again with a crash before and after each of its commits: the result is the same, no effect is
 * missing, and only attempts that were in flight at the crash are repeated.
 */
import { describe, test } from "node:test";
import { interpret } from "../../examples/samples/dsl-interpreter.ts";
import { approveExpense } from "../../examples/samples/expense.ts";
import { processOrder } from "../../examples/samples/combined-order.ts";
import { fulfillPurchase } from "../../examples/samples/compensation.ts";
import { mailAll } from "../../examples/samples/detached-children.ts";
import { reviewDocument } from "../../examples/samples/external-events.ts";
import { backUpFolder } from "../../examples/samples/fan-out-in.ts";
import { watchWeather } from "../../examples/samples/monitor.ts";
import { moveHouse } from "../../examples/samples/nested-sagas.ts";
import { countAllWords } from "../../examples/samples/parallel-work.ts";
import { processPayment } from "../../examples/samples/payment-signals.ts";
import { account } from "../../examples/samples/update-ids.ts";
import { messageOf } from "../../src/base/error.ts";
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
  "payment: the provider answers through its webhook": {
    sample: "payment-signals",
    play: async (client) => {
      await client.start(processPayment, { amount: 500, timeoutMs: hourMs }, "payment");
      await client.raise("payment", "webhook", { state: "paid" });
      return await client.result("payment");
    },
    result: "paid",
    effects: [{ state: "processing" }],
  },
  "payment: the webhook does not come": {
    sample: "payment-signals",
    play: async (client) => {
      await client.start(processPayment, { amount: 500, timeoutMs: hourMs }, "payment");
      return await client.result("payment");
    },
    result: "payment of 500 canceled",
    effects: [{ state: "processing" }, "payment of 500 canceled"],
  },
  "parallel work": {
    sample: "parallel-work",
    play: async (client) => {
      await client.start(countAllWords, "one two. three. four five six. seven. eight nine", "words");
      return await client.result("words");
    },
    result: 9,
    effects: [["one two", " three", " four five six", " seven", " eight nine"], 2, 1, 3, 1, 2, 9],
  },
  "monitor: polls until the weather is clear": {
    sample: "monitor",
    play: async (client) => {
      await client.start(
        watchWeather,
        { city: "Ulm", everyMs: 600_000, expiresAt: Number.MAX_SAFE_INTEGER, polls: 0 },
        "watch",
      );
      return await client.result("watch");
    },
    result: "alert: clear skies over Ulm",
    effects: ["rain", "rain", "rain", "clear", "alert: clear skies over Ulm"],
  },
  "monitor: expires": {
    sample: "monitor",
    play: async (client) => {
      await client.start(watchWeather, { city: "Ulm", everyMs: 600_000, expiresAt: 0, polls: 0 }, "watch");
      return await client.result("watch");
    },
    result: "expired",
    effects: ["rain"],
  },
  "external events: all reviewers answer": {
    sample: "external-events",
    play: async (client) => {
      const review = { document: "report", reviewers: ["ann", "bob"], timeoutMs: hourMs };
      await client.start(reviewDocument, review, "review");
      await client.raise("review", "review by bob", true);
      await client.raise("review", "review by ann", true);
      return await client.result("review");
    },
    result: "report: published",
    effects: ["ann is asked about report", "bob is asked about report", "report: published"],
  },
  "external events: one reviewer does not answer": {
    sample: "external-events",
    play: async (client) => {
      const review = { document: "report", reviewers: ["ann", "bob"], timeoutMs: hourMs };
      await client.start(reviewDocument, review, "review");
      await client.raise("review", "review by bob", true);
      return await client.result("review");
    },
    result: "report: withdrawn",
    effects: ["ann is asked about report", "bob is asked about report", "report: withdrawn"],
  },
  compensation: {
    sample: "compensation",
    play: async (client) => {
      await client.start(fulfillPurchase, { item: "pens", quantity: 3, address: "" }, "purchase");
      return await client.result("purchase");
    },
    result: 'instance "purchase" failed: activity "send-parcel" failed: there is no address',
    effects: [
      "3 pens reserved",
      { receipt: "r3" },
      "there is no address",
      "the bank is closed",
      "r3 refunded",
      "3 pens released",
      "no pens, sorry",
    ],
  },
  "combined order: delivered": {
    sample: "combined-order",
    play: async (client) => {
      await client.start(processOrder, { id: "7", items: ["pen", "ink"], deliveryTimeoutMs: hourMs }, "order-7");
      await client.untilStarted("shipment-7");
      await client.raise("shipment-7", "delivered", "ann");
      return await client.result("order-7");
    },
    result: "shipment of 7, signed by ann",
    effects: [
      { item: "pen", isInStock: true },
      { item: "ink", isInStock: true },
      "the bank does not answer",
      { receipt: "receipt of 7" },
      "shipment of 7",
    ],
  },
  "combined order: never delivered": {
    sample: "combined-order",
    play: async (client) => {
      await client.start(processOrder, { id: "7", items: ["pen"], deliveryTimeoutMs: hourMs }, "order-7");
      return await client.result("order-7");
    },
    result:
      'instance "order-7" failed: child workflow "ship-order" failed: nested workflow instance "shipment-7" ended in Failed: ' +
      'event "delivered" did not come within 3600000 ms',
    effects: [
      { item: "pen", isInStock: true },
      "the bank does not answer",
      { receipt: "receipt of 7" },
      "shipment of 7",
      "receipt of 7: void",
    ],
  },
  "fan-out and fan-in": {
    sample: "fan-out-in",
    play: async (client) => {
      await client.start(backUpFolder, "home", "backup");
      return await client.result("backup");
    },
    result: { copied: 3, failed: 1, bytes: 30 },
    effects: [
      ["home/a.txt", "home/b.txt", "home/c.txt", "home/broken.txt"],
      "cannot read home/broken.txt",
      10,
      10,
      10,
      "cannot read home/broken.txt",
    ],
  },
  "detached children outlive their parent": {
    sample: "detached-children",
    play: async (client) => {
      await client.start(mailAll, ["ann", "bob"], "mail");
      const ids = (await client.result("mail")) as string[];
      for (const id of ids) await client.untilStarted(id);
      return await Promise.all(ids.map((id) => client.result(id)));
    },
    result: ["newsletter to ann", "newsletter to bob"],
    effects: ["newsletter to ann", "newsletter to bob"],
  },
  "nested sagas: the second route is open": {
    sample: "nested-sagas",
    play: async (client) => {
      await client.start(moveHouse, { from: "Bern", to: "Oslo", closed: ["ferry"] }, "move");
      return await client.result("move");
    },
    result: ["booked truck", "booked bridge"],
    effects: [
      "boxes packed in Bern",
      "booked train",
      "no way by ferry",
      "booked train: canceled",
      "booked truck",
      "booked bridge",
    ],
  },
  "nested sagas: no route is open": {
    sample: "nested-sagas",
    play: async (client) => {
      await client.start(moveHouse, { from: "Bern", to: "Oslo", closed: ["ferry", "bridge"] }, "move");
      return await client.result("move");
    },
    result: 'instance "move" failed: activity "book-leg" failed: no way by bridge',
    effects: [
      "boxes packed in Bern",
      "booked train",
      "no way by ferry",
      "booked train: canceled",
      "booked truck",
      "no way by bridge",
      "booked truck: canceled",
      "boxes unpacked in Bern",
    ],
  },
  "updates with ids are carried out once": {
    sample: "update-ids",
    play: async (client) => {
      await client.start(account, 10, "account");
      const answers = [
        await client.update("account", "deposit", 5),
        await client.update("account", "withdraw", 12),
        await client.update("account", "withdraw", 12),
        await client.update("account", "withdraw", 4).catch(messageOf),
      ];
      await client.raise("account", "close");
      return [...answers, await client.result("account")];
    },
    result: [15, 3, 3, 'update "withdraw" was not let in: the balance is 3', 3],
    effects: ["entry of 5", "entry of -12"],
  },
};

describe("samples survive a crash at each of their commits", () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    test(name, (t) => survivesCrashes(t, scenario));
  }
});
