/** Samples that are told something, or asked, while they run. */
import { trainModel } from "../../../examples/samples/cancellation.ts";
import { greeter } from "../../../examples/samples/message-passing.ts";
import { collectItems } from "../../../examples/samples/batcher.ts";
import { transact } from "../../../examples/samples/early-return.ts";
import { approveExpense } from "../../../examples/samples/expense.ts";
import { reviewDocument } from "../../../examples/samples/external-events.ts";
import { lock, printAlone } from "../../../examples/samples/mutex.ts";
import { processPayment } from "../../../examples/samples/payment-signals.ts";
import { manageCluster } from "../../../examples/samples/safe-message-handlers.ts";
import { signUp } from "../../../examples/samples/signup.ts";
import { stateMap } from "../../../examples/samples/state.ts";
import { account } from "../../../examples/samples/update-ids.ts";
import { counter } from "../../../examples/samples/virtual-object.ts";
import { messageOf } from "../../../src/base/error.ts";
import type { Scenario } from "../sample-rig.ts";

const hourMs = 3_600_000;

export const messageScenarios: Readonly<Record<string, Scenario>> = {
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
  "safe message handlers": {
    sample: "safe-message-handlers",
    play: async (client) => {
      await client.start(manageCluster, 4, "cluster");
      const answers = await Promise.all([
        client.update("cluster", "assign", { task: "sort", nodes: 2 }),
        client.update("cluster", "assign", { task: "scan", nodes: 2 }),
        client.update("cluster", "assign", { task: "join", nodes: 1 }).catch(messageOf),
        client.update("cluster", "release", "sort"),
      ]);
      await client.raise("cluster", "shut down");
      return [...answers, await client.result("cluster")];
    },
    result: [[0, 1], [2, 3], 'update "assign" failed: only 0 nodes are free', [0, 1], { 2: "scan", 3: "scan" }],
    effects: [
      "node 0 works on sort",
      "node 1 works on sort",
      "node 2 works on scan",
      "node 3 works on scan",
      "node 0 leaves sort",
      "node 1 leaves sort",
    ],
  },
  "sign-up: the link is clicked after a reminder": {
    sample: "signup",
    play: async (client) => {
      await client.start(signUp, { email: "ann@example.org", remindAfterMs: hourMs, mailsMax: 3 }, "ann");
      await client.untilStatus("ann", { mails: 2 });
      await client.raise("ann", "clicked", await client.query("ann", "secret"));
      return await client.result("ann");
    },
    result: "user ann@example.org: verified",
    effects: ["user ann@example.org", "link to ann@example.org", "link to ann@example.org"],
  },
  "sign-up: nobody clicks": {
    sample: "signup",
    play: async (client) => {
      await client.start(signUp, { email: "ann@example.org", remindAfterMs: hourMs, mailsMax: 2 }, "ann");
      return await client.result("ann");
    },
    result: "user ann@example.org: deleted",
    effects: [
      "user ann@example.org",
      "link to ann@example.org",
      "link to ann@example.org",
      "user ann@example.org: deleted",
    ],
  },
  "batcher: by size, then by time": {
    sample: "batcher",
    play: async (client) => {
      await client.start(collectItems, { size: 2, waitMs: hourMs, stored: 0 }, "batcher");
      for (const item of ["a", "b", "c"]) await client.raise("batcher", "item", item);
      await client.untilStatus("batcher", { stored: 2 });
      return await client.query("batcher", "stored");
    },
    result: 2,
    effects: ["a+b", "c"],
  },
  "virtual object over several generations": {
    sample: "virtual-object",
    play: async (client) => {
      await client.start(counter, { value: 0, updatesPerGeneration: 2 }, "counter");
      const answers: unknown[] = [];
      for (const amount of [1, 2, 3, 4, 5]) answers.push(await client.update("counter", "add", amount));
      answers.push(await client.query("counter", "value"));
      await client.raise("counter", "delete");
      return [...answers, await client.result("counter")];
    },
    result: [1, 3, 6, 10, 15, 15, 15],
    effects: [1, 3, 6, 10, 15].map((value) => `count ${value}`),
  },
  "state that events change": {
    sample: "state",
    play: async (client) => {
      await client.start(stateMap, undefined, "map");
      await client.raise("map", "set", { key: "a", value: 1 });
      await client.raise("map", "set", { key: "b", value: 2 });
      await client.raise("map", "set", { key: "a", value: 3 });
      const seen = await client.query("map", "get", "a");
      await client.raise("map", "freeze");
      return [seen, await client.result("map")];
    },
    result: [3, { a: 3, b: 2 }],
    effects: [],
  },
  "early return: the update answers before the end": {
    sample: "early-return",
    play: async (client) => {
      await client.start(transact, 20, "transaction");
      const begun = await client.update("transaction", "begun");
      return [begun, await client.result("transaction")];
    },
    result: ["transaction of 20", "transaction of 20: complete"],
    effects: ["transaction of 20", "transaction of 20: complete"],
  },
  "cancellation of a workflow and its child": {
    sample: "cancellation",
    play: async (client) => {
      await client.start(trainModel, "a1", "model");
      await client.untilStarted("train-a1");
      await client.untilStatus("train-a1", "training");
      await client.cancel("model", "too expensive");
      return [await client.result("model"), await client.result("train-a1")];
    },
    result: ['instance "model" was terminated: too expensive', 'instance "train-a1" was terminated: too expensive'],
    effects: ["machine a1", "saved: a1, too expensive", "machine a1: returned"],
  },
  "message passing": {
    sample: "message-passing",
    play: async (client) => {
      await client.start(greeter, "English", "greeter");
      const answers = [
        await client.query("greeter", "languages"),
        await client.update("greeter", "set language", "").catch(messageOf),
        await client.update("greeter", "set language", "German"),
        await client.update("greeter", "set language", "Latin").catch(messageOf),
        await client.update("greeter", "set language", "French"),
        await client.query("greeter", "languages"),
      ];
      await client.raise("greeter", "approve", { by: "ann" });
      return [...answers, await client.result("greeter")];
    },
    result: [
      ["English", "German"],
      'update "set language" was not let in: a language has a name',
      "English",
      'update "set language" failed: activity "look-up-greeting" failed: nobody knows Latin',
      "German",
      ["English", "German", "French"],
      "Bonjour, approved by ann",
    ],
    effects: ["nobody knows Latin", "Bonjour"],
  },
};
