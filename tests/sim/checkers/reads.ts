import { namespaceOf, qualify } from "../../../src/base/namespace.ts";
import { CodeMachine } from "../../../src/kernel/code/code-machine.ts";
import type { Machine } from "../../../src/kernel/machine.ts";
import type { InstanceView } from "../../../src/views/instance-view.ts";
import { noLiveWaits } from "../../../src/views/waiting.rig.ts";
import { viewInstance } from "../../../src/views/instance-view.ts";
import { type ClientCall, type Evidence, isBefore, type Moment } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf, type DurableEvent, eventsOf } from "./commit-history.ts";
import { newMachine } from "./replay.ts";

/**
 * Answers about one instance never go back in time: each shows the instance after one of its events, which was durable
 * when the answer was given, and is no older than any answer that was given before the question.
 */
export const checkReads: Checker = (evidence) => {
  const wrong: string[] = [];
  const answered = evidence.calls.filter(({ outcome, code }) => outcome === "ok" || isEnd(code));
  for (const [id, calls] of Map.groupBy(answered, ({ instanceId }) => instanceId)) {
    if (id !== undefined) wrong.push(...new Readings(evidence, id, calls).wrong);
  }
  return [...wrong, ...checkLists(evidence), ...checkHistories(evidence)];
};

function isEnd(code: ClientCall["code"]): boolean {
  return code === "WORKFLOW_FAILED" || code === "WORKFLOW_TERMINATED";
}

/** The events of the instance after which an answer may have been given. */
interface Reading {
  readonly call: ClientCall;
  /** Indexes in the list of all its events. */
  readonly earliest: number;
  readonly latest: number;
}

class Readings {
  readonly wrong: string[] = [];
  readonly #id: string;
  readonly #events: readonly DurableEvent[];
  /** The answer to a status query after each event. */
  readonly #views: readonly string[];

  constructor(evidence: Evidence, id: string, calls: readonly ClientCall[]) {
    this.#id = id;
    const lives = commitHistoryOf(evidence).livesOf(id);
    this.#events = lives.flatMap(eventsOf);
    const isAsked = calls.some(({ operation }) => operation === "status");
    this.#views = isAsked ? lives.flatMap((instance) => viewsOf(evidence, instance)) : [];
    const readings = calls.flatMap((call) => this.#read(call) ?? []);
    for (const reading of readings) this.#compare(reading, readings);
  }

  #read(call: ClientCall): Reading | undefined {
    const places = this.#placesOf(call);
    if (places === undefined) return undefined;
    const durable = places.filter((place) => isBefore(this.#landed(place), call.answered as Moment));
    const [earliest] = durable;
    if (earliest !== undefined) return { call, earliest, latest: durable.at(-1) as number };
    const never = places.length === 0 ? "it was never like that" : "that was not durable yet";
    this.wrong.push(`${this.#id}: ${call.operation}, call ${call.number}, was answered, and ${never}`);
    return undefined;
  }

  /** The events after which the answer would have been this one. Undefined if the answer does not depend on them. */
  #placesOf({ operation, marker, value, code, answered }: ClientCall): number[] | undefined {
    if (answered === undefined) return undefined;
    const places = (fits: (event: DurableEvent["event"]) => boolean): number[] =>
      this.#events.flatMap(({ event }, place) => (fits(event) ? [place] : []));
    switch (operation) {
      case "status": {
        const shown = digest(value as InstanceView);
        return this.#views.flatMap((view, place) => (view === shown ? [place] : []));
      }
      case "await":
        return places((event) => event.type === "InstanceEnded" && codes[event.status] === code);
      case "history":
        return this.#placesOfLength(((value as readonly number[]).at(-1) ?? -1) + 1);
      case "patch":
        return places((event) => event.type === "ContextPatched" && (marker ?? "") in event.patch);
      case "terminate":
        return places((event) => event.type === "InstanceEnded" && event.reason === marker);
      case "submit":
        return places((event) => event.type === "InstanceCreated" || event.type === "InstanceContinued");
      case "retry":
      case "rerun":
      case "mend":
        return places((event) => event.type === "InstanceReopened" || event.type === "InstanceContinued");
      default:
        return undefined;
    }
  }

  /** The last event of the turn with that number, in any instance of the id. */
  #placesOfLength(turns: number): number[] {
    const isLast = (place: number): boolean => {
      const next = this.#events[place + 1];
      return next === undefined || next.landed.order !== this.#landed(place).order || next.number === 0;
    };
    let count = 0;
    return this.#events.flatMap(({ number }, place) => {
      if (number === 0) count = 0;
      if (!isLast(place)) return [];
      count++;
      return count === turns ? [place] : [];
    });
  }

  #compare(later: Reading, all: readonly Reading[]): void {
    for (const earlier of all) {
      const { answered } = earlier.call;
      if (answered === undefined || !isBefore(answered, later.call.invoked) || earlier.earliest <= later.latest)
        continue;
      const [one, other] = [earlier.call, later.call].map(({ operation, number }) => `${operation}, call ${number},`);
      this.wrong.push(`${this.#id}: ${other} was answered with what was true before ${one} had been answered`);
    }
  }

  #landed(place: number): Moment {
    return this.#events[place]?.landed ?? { at: Infinity, order: Infinity };
  }
}

const codes = { Success: undefined, Failed: "WORKFLOW_FAILED", Terminated: "WORKFLOW_TERMINATED" } as const;

function viewsOf(evidence: Evidence, instance: Parameters<typeof eventsOf>[0]): string[] {
  const machine = newMachine(evidence.finalState, instance);
  if (machine === undefined) return [];
  return eventsOf(instance).map(({ event, turnAt }) => {
    machine.apply(event, turnAt);
    return digest({ ...viewInstance(machine, noLiveWaits), ...ofCode(machine), historyLength: 0 });
  });
}

function ofCode(machine: Machine): Pick<InstanceView, "attention" | "customStatus"> {
  const text = machine instanceof CodeMachine ? machine.state.customStatus : undefined;
  return { attention: undefined, customStatus: text === undefined ? undefined : JSON.parse(text) };
}

/** The part of an answer that depends on the instance's events only. */
function digest({ status, pausing, generation, reason, tasks, customStatus }: InstanceView): string {
  const shown = tasks.map(({ name, status, attempt, cause }) => `${name} ${status} ${attempt} ${cause ?? ""}`);
  return [status, pausing, generation, reason ?? "", JSON.stringify(customStatus), ...shown].join("\n");
}

/** A history has no gap, and no turn twice. */
function checkHistories({ calls }: Evidence): string[] {
  return calls.flatMap(({ operation, outcome, value, number, instanceId = "" }) => {
    if (operation !== "history" || outcome !== "ok") return [];
    const turns = value as readonly number[];
    const isWhole = turns.every((turn, place) => turn === (turns[0] ?? 0) + place);
    return isWhole ? [] : [`${instanceId}: history, call ${number}, was answered with turns ${turns.join(", ")}`];
  });
}

/** A list contains all instances that were accepted before it was requested. */
function checkLists({ calls }: Evidence): string[] {
  const wrong: string[] = [];
  for (const { operation, outcome, invoked, value, number, namespace } of calls) {
    if (operation !== "list" || outcome !== "ok") continue;
    const listed = new Set((value as readonly string[]).map((id) => qualify(namespace, id)));
    for (const call of calls) if (call.operation === "purge") listed.add(call.instanceId ?? "");
    for (const { operation, outcome, answered, instanceId = "" } of calls) {
      if (operation !== "submit" || outcome !== "ok" || answered === undefined) continue;
      if (namespaceOf(instanceId) !== namespace) continue;
      if (isBefore(answered, invoked) && !listed.has(instanceId))
        wrong.push(`list, call ${number}, does not have ${instanceId}, which had been accepted`);
    }
  }
  return wrong;
}
