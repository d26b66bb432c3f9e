import { eventsIn } from "../../../src/kernel/event-text.ts";
import { CodeMachine } from "../../../src/kernel/code/code-machine.ts";
import type { Machine } from "../../../src/kernel/machine.ts";
import { isFailed } from "../../../src/kernel/task-state.ts";
import { messageOf } from "../../../src/base/error.ts";
import { hasEnded } from "../../../src/kernel/status.ts";
import type { FinishedRow, InstanceRow } from "../../../src/stores/store.ts";
import { NewTurns } from "../../../src/stores/batch-turns.rig.ts";
import type { CommitRecord, Evidence, FinalInstance } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { commitHistoryOf } from "./commit-history.ts";
import { newMachine } from "./replay.ts";

/** I10: histories have no gaps, equal what was committed, and replay to the contents of the rows, after every commit. */
export const checkHistories: Checker = (evidence) => [
  ...evidence.finalState.instances.flatMap((instance) => [
    ...checkNumbers(instance),
    ...checkAgainstCommits(evidence, instance),
  ]),
  ...new Replay(evidence).wrong,
];

/**
 * Turns and events are numbered without gaps, and times do not decrease. Only the history before `continueAsNew` is
 * left out.
 */
function checkNumbers({ id, turns }: FinalInstance): string[] {
  const wrong: string[] = [];
  const [first] = turns;
  const beginsAnew = first?.events[0]?.type === "InstanceContinued";
  const firstTurn = beginsAnew ? first.turn : 0;
  let events = beginsAnew ? first.firstEvent : 0;
  let before = 0;
  for (const [place, turn] of turns.entries()) {
    const number = firstTurn + place;
    if (place > 0 && turn.events[0]?.type === "InstanceContinued")
      wrong.push(`${id}: turn ${number} begins anew, and what was before is still there`);
    if (turn.turn !== number) wrong.push(`${id}: turn ${turn.turn} stands where ${number} should`);
    if (turn.firstEvent !== events)
      wrong.push(`${id}: turn ${number} begins with event ${turn.firstEvent}, not ${events}`);
    if (turn.events.length === 0) wrong.push(`${id}: turn ${number} is empty`);
    if (turn.at < before) wrong.push(`${id}: turn ${number} is earlier than the one before it`);
    events += turn.events.length;
    before = turn.at;
  }
  if (turns.length === 0) wrong.push(`${id} has no history`);
  return wrong;
}

function checkAgainstCommits(evidence: Evidence, { id, key, turns }: FinalInstance): string[] {
  const all = commitHistoryOf(evidence).instances.get(key)?.turns ?? [];
  const beginning = all.findLastIndex(({ events }) => events[0]?.type === "InstanceContinued");
  const committed = all.slice(Math.max(0, beginning));
  if (JSON.stringify(committed.map(({ events }) => events)) === JSON.stringify(turns.map(({ events }) => events)))
    return [];
  return [`${id}: its history is not what was committed`];
}

/** Follows the commits in order and compares the rows of each with the state that its events lead to. */
class Replay {
  readonly wrong: string[] = [];
  readonly #evidence: Evidence;
  readonly #machines = new Map<number, Machine>();
  readonly #newTurns = new NewTurns();
  /**
   * Keys of instances whose code has yet to run, because it continued as new twice in a turn, or because the outcome of
   * an attempt that was lost before was recorded without it.
   */
  readonly #codeToCome = new Set<number>();

  constructor(evidence: Evidence) {
    this.#evidence = evidence;
    for (const commit of commitHistoryOf(evidence).landings) this.#follow(commit);
    for (const instance of evidence.finalState.instances) this.#compareEnd(instance);
  }

  #follow({ batch }: CommitRecord): void {
    const { instances, finished } = batch.changes;
    for (const { instance, events, at } of this.#newTurns.in(batch.changes)) this.#apply(instance, events, at);
    for (const row of instances) if (row.quarantined === null) this.#compareUnfinished(row);
    for (const row of finished) this.#compareFinished(row);
  }

  #apply(key: number, events: string, at: number): void {
    const machine = this.#machine(key);
    if (machine === undefined) return;
    try {
      this.#codeToCome.delete(key);
      for (const event of eventsIn(events)) {
        const isRepeated = "task" in event && (machine.state.record(event.task)?.interruptions ?? 0) > 0;
        machine.apply(event, at);
        if (event.type === "InstanceContinued" || isRepeated) this.#codeToCome.add(key);
      }
    } catch (error) {
      this.wrong.push(`${machine.address.id}: its history cannot be followed: ${messageOf(error)}`);
    }
  }

  #machine(key: number): Machine | undefined {
    const known = this.#machines.get(key);
    if (known !== undefined) return known;
    const instance = commitHistoryOf(this.#evidence).instances.get(key);
    const machine = instance && newMachine(this.#evidence.finalState, instance);
    if (machine === undefined) this.wrong.push(`instance ${key} has history, but nobody knows what it is`);
    else this.#machines.set(key, machine);
    return machine;
  }

  #compareUnfinished(row: InstanceRow): void {
    const machine = this.#machines.get(row.key);
    if (machine === undefined) return;
    const { state } = machine;
    this.#compare(`the row of ${row.id}`, {
      status: [row.status, state.status],
      generation: [row.generation, state.generation],
      wake: [row.wakeAt, machine.nextWake() ?? null],
      active: [
        row.active,
        state.inFlight > 0 || isReacting(machine) || (row.active && this.#mayWait(row.key, machine)),
      ],
      createdAt: [row.createdAt, state.createdAt],
    });
  }

  /** Whether it is loaded when its shard is opened, because its code has yet to run. */
  #mayWait(key: number, { kind }: Machine): boolean {
    return kind === "code" && (this.#evidence.setting.lacksCode === true || this.#codeToCome.has(key));
  }

  #compareFinished(row: FinishedRow): void {
    const machine = this.#machines.get(row.key);
    if (machine === undefined) return;
    const { state } = machine;
    const failed = Array.from({ length: state.size }, (_, task) => isFailed(state.phase(task))).filter(Boolean);
    this.#compare(`the finished row of ${row.id}`, {
      status: [row.status, state.status],
      generation: [row.generation, state.generation],
      reason: [row.reason, state.reason ?? null],
      createdAt: [row.createdAt, state.createdAt],
      endedAt: [row.endedAt, state.endedAt ?? 0],
      tasks: [row.tasks, state.size],
      tasksFailed: [row.tasksFailed, failed.length],
    });
  }

  /** Compares the row that lists show after the end. */
  #compareEnd({ id, key, status, generation, reason }: FinalInstance): void {
    const state = this.#machines.get(key)?.state;
    if (state === undefined) return void this.wrong.push(`${id} is there and was never committed`);
    this.#compare(`the list's ${id}`, {
      status: [status, state.status],
      generation: [generation, state.generation],
      reason: [reason, hasEnded(state.status) ? (state.reason ?? null) : null],
    });
  }

  #compare(what: string, fields: Readonly<Record<string, readonly [unknown, unknown]>>): void {
    for (const [name, [written, folded]] of Object.entries(fields)) {
      if (written === folded) continue;
      this.wrong.push(`${what} has ${name} ${String(written)}, and its history makes it ${String(folded)}`);
    }
  }
}

/** Whether a reaction of its code is recorded as running. */
function isReacting(machine: Machine): boolean {
  return machine instanceof CodeMachine && machine.state.reaction?.isUnderWay === true;
}
