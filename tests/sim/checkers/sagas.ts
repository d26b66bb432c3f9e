import type { Event } from "../../../src/kernel/event.ts";
import { code } from "../code-workflows.ts";
import type { Evidence } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf, eventsOf, type InstanceCommits } from "./commit-history.ts";

/**
 * The completed steps of a saga are compensated if it fails, is canceled or times out, each once and the last one
 * first; nothing else is compensated. A terminated saga stops where it is.
 */
export const checkSagas: Checker = (evidence) =>
  [...commitHistoryOf(evidence).instances.values()]
    .filter(({ workflow }) => workflow === code.saga.name || workflow === code.timedSaga.name)
    .flatMap((instance) => new Saga(evidence, instance).wrong);

class Saga {
  readonly wrong: string[] = [];
  readonly #id: string;
  /** Keyed by task number. */
  readonly #names: string[] = [];
  /** The numbers of steps in the order in which they were completed, and in which their compensations started and ended. */
  readonly #done: number[] = [];
  readonly #undoing: number[] = [];
  readonly #undone: number[] = [];
  #canceling = 0;
  #isCanceled = false;
  #hasFailed = false;
  #end: Extract<Event, { type: "InstanceEnded" }> | undefined;

  constructor({ calls }: Evidence, instance: InstanceCommits) {
    this.#id = instance.id;
    for (const { event } of eventsOf(instance)) this.#follow(event);
    const isTerminated = calls.some(
      ({ operation, marker }) => operation === "terminate" && marker === this.#end?.reason,
    );
    if (this.#end !== undefined) this.#judge(this.#end, isTerminated);
  }

  #follow(event: Event): void {
    switch (event.type) {
      case "TaskAdded":
        return this.#begin(event.node.nodeName ?? "");
      case "TaskSucceeded":
        return this.#succeeded(this.#names[event.task] ?? "");
      case "TaskFailed":
        this.#hasFailed ||= event.retryAt === undefined;
        return;
      case "CancelRequested":
        this.#isCanceled = true;
        return;
      case "InstanceEnded":
        this.#end = event;
        return;
      default:
    }
  }

  #begin(name: string): void {
    this.#names.push(name);
    if (name === "on cancel") this.#canceling++;
    const step = numberIn(name, "undo");
    if (step === undefined) return;
    if (!this.#hasFailed && !this.#isCanceled) this.#say(`${name} began, and nothing had gone wrong`);
    this.#undoing.push(step);
  }

  #succeeded(name: string): void {
    const [done, undone] = [numberIn(name, "do"), numberIn(name, "undo")];
    if (done !== undefined) this.#done.push(done);
    if (undone !== undefined) this.#undone.push(undone);
  }

  #judge({ status, reason }: Extract<Event, { type: "InstanceEnded" }>, isTerminated: boolean): void {
    const done = status === "Success" ? [] : this.#done.toReversed();
    const due = isTerminated ? done.slice(0, this.#undoing.length) : done;
    if (this.#undoing.join() !== due.join())
      this.#say(`what was undone are the steps [${this.#undoing.join(" ")}], not [${due.join(" ")}]`);
    else if (!isTerminated && this.#undone.join() !== due.join())
      this.#say(`of the steps [${due.join(" ")}] only [${this.#undone.join(" ")}] were undone to the end`);
    const handlers = this.#isCanceled && !this.#hasFailed ? 1 : 0;
    const isThrough = status === "Terminated" || isTimeout(reason);
    if (this.#canceling > 1 || (!isTerminated && this.#canceling < handlers && isThrough))
      this.#say(`what is to happen when it is canceled happened ${this.#canceling} times`);
    if (this.#canceling > 0 && !this.#isCanceled) this.#say("it took itself for canceled, and nobody had asked");
  }

  #say(what: string): void {
    this.wrong.push(`${this.#id}: ${what}`);
  }
}

function isTimeout(reason: string | undefined): boolean {
  return reason?.includes("did not end within its timeout") === true;
}

function numberIn(name: string, what: "do" | "undo"): number | undefined {
  const [word, number] = name.split(" ");
  return word === what ? Number(number) : undefined;
}
