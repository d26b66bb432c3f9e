import * as fc from "fast-check";
import type { Grant, WorkerMessage } from "../../src/dispatch/session-message.ts";
import type { Outcome } from "../../src/kernel/input.ts";
import { type Mutation, mutated, mutation } from "./mutated-json.ts";

/** One thing that a worker from hell sends: a valid message, mostly with something wrong in it. */
export interface HostileStep {
  readonly type: WorkerMessage["type"] | "raw";
  /** Which of the grants that it has; counted round and round. */
  readonly which: number;
  readonly mutations: readonly Mutation[];
  readonly raw: string;
}

const types = ["Hello", "Heartbeat", "Result", "Refused", "Logged", "Leaving", "raw"] as const;

export const hostileSteps: fc.Arbitrary<HostileStep[]> = fc.array(
  fc.record({
    type: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom("Result" as const, "Heartbeat" as const) },
      fc.constantFrom(...types),
    ),
    which: fc.nat(9),
    mutations: fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 3, arbitrary: fc.array(mutation, { minLength: 1, maxLength: 3 }) },
    ),
    raw: fc.oneof(fc.string(), fc.json(), fc.constantFrom("", "[", '{"type":"Grant"}', "[".repeat(100_000))),
  }),
  { minLength: 1, maxLength: 8 },
);

/** The worker's end of a connection: says hello properly, and then what the steps say. */
export class HostileWorker {
  readonly #id: string;
  readonly #jobs: readonly string[];
  readonly #send: (text: string) => void;
  readonly #grants: Grant[] = [];
  #sequence = 0;

  constructor(parts: { id: string; jobs: readonly string[]; send: (text: string) => void }) {
    this.#id = parts.id;
    this.#jobs = parts.jobs;
    this.#send = parts.send;
  }

  get grants(): number {
    return this.#grants.length;
  }

  receive(text: string): void {
    const message = JSON.parse(text) as { type: string };
    if (message.type === "Grant") this.#grants.push(message as Grant);
  }

  hello(): void {
    this.#send(JSON.stringify(this.#message("Hello", undefined)));
  }

  play({ type, which, mutations, raw }: HostileStep): void {
    if (type === "raw") return this.#send(raw);
    let message: unknown = this.#message(type, this.#grants[which % this.#grants.length]);
    for (const each of mutations) message = mutated(message, each);
    const text = JSON.stringify(message);
    if (text !== undefined) this.#send(text);
  }

  #message(type: WorkerMessage["type"], grant: Grant | undefined): WorkerMessage {
    const key = { attemptId: grant?.descriptor.attemptId ?? "none:1:0:1", grant: grant?.grant ?? 1 };
    const sign = { sequence: ++this.#sequence, lastGrant: this.#grants.length };
    const running = this.#grants.map(({ grant: number, descriptor }) => ({ grant: number, descriptor }));
    const keys = running.map(({ grant: number, descriptor: { attemptId } }) => ({ attemptId, grant: number }));
    const outcome: Outcome = {
      kind: "success",
      output: '{"said":[1,2]}',
      patch: { colour: '"red"', gone: null },
      subTasks: [{ nodeId: "s", nodeName: `s${this.#sequence}`, jobName: "pause", retryPolicy: { maxMs: 5 } }],
    };
    const cause = { type: "Error", message: "deeper", retryable: true };
    const failure = { type: "E", message: "m", retryable: false, stack: "at x", cause };
    switch (type) {
      case "Hello": {
        const results = running.map((each) => ({ ...each, outcome }));
        return { type, worker: this.#id, ...sign, jobs: this.#jobs, slots: 3, running, results };
      }
      case "Heartbeat":
        return { type, ...sign, running: keys, finished: keys };
      case "Result":
        return {
          type,
          ...key,
          startedAt: 5,
          outcome: this.#sequence % 2 === 0 ? outcome : { kind: "failure", failure },
        };
      case "Refused":
        return { type, ...key, why: "no" };
      case "Logged":
        return {
          type,
          lines: [{ attemptId: key.attemptId, at: 5, level: "info", message: "hi", fields: { a: [1] } }],
        };
      default:
        return { type: "Leaving" };
    }
  }
}
