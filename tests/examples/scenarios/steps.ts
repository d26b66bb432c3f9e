/** Samples that take steps: one after the other, side by side, in children, and undone. */
import { publishArticle } from "../../../examples/samples/chaining.ts";
import { cleanUp } from "../../../examples/samples/continue-as-new.ts";
import { greetAll } from "../../../examples/samples/child-workflows.ts";
import { processOrder } from "../../../examples/samples/combined-order.ts";
import { fulfillPurchase } from "../../../examples/samples/compensation.ts";
import { mailAll } from "../../../examples/samples/detached-children.ts";
import { interpret } from "../../../examples/samples/dsl-interpreter.ts";
import { backUpFolder } from "../../../examples/samples/fan-out-in.ts";
import { moveHouse } from "../../../examples/samples/nested-sagas.ts";
import { countAllWords } from "../../../examples/samples/parallel-work.ts";
import { bookTrip } from "../../../examples/samples/saga.ts";
import { processBatch } from "../../../examples/samples/sliding-window.ts";
import type { Scenario } from "../sample-rig.ts";

const hourMs = 3_600_000;

export const stepScenarios: Readonly<Record<string, Scenario>> = {
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
  "parallel work": {
    sample: "parallel-work",
    play: async (client) => {
      await client.start(countAllWords, "one two. three. four five six. seven. eight nine", "words");
      return await client.result("words");
    },
    result: 9,
    effects: [["one two", " three", " four five six", " seven", " eight nine"], 2, 1, 3, 1, 2, 9],
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
  "batch in a sliding window of children": {
    sample: "sliding-window",
    play: async (client) => {
      const batch = { records: 7, windowSize: 2, pageSize: 3, started: 0, done: 0 };
      await client.start(processBatch, batch, "batch");
      return await client.result("batch");
    },
    result: 7,
    effects: [0, 1, 2, 3, 4, 5, 6].map((record) => `record ${record}`),
  },
  chaining: {
    sample: "chaining",
    play: async (client) => {
      await client.start(publishArticle, 7, "article");
      return await client.result("article");
    },
    result: "article 7 in Latin, printed",
    effects: ["article 7", "article 7 in Latin", "article 7 in Latin, printed"],
  },
  "continue as new": {
    sample: "continue-as-new",
    play: async (client) => {
      await client.start(cleanUp, { page: 1, pages: 4, pauseMs: 1000 }, "clean-up");
      return await client.result("clean-up");
    },
    result: "4 pages in 4 generations",
    effects: [1, 2, 3, 4].map((page) => `page ${page} cleaned`),
  },
};
