import { namespaceOf } from "../../../src/base/namespace.ts";
import type { InstanceStatus } from "../../../src/kernel/status.ts";
import { epochMs } from "../clock.ts";
import { type Evidence, type HeardChange, isBefore, type Moment, type Watch } from "../evidence.ts";
import type { Checker } from "./checker.ts";
import { clocksOf } from "./clocks.ts";
import { commitHistoryOf, type InstanceCommits, type TurnRecord } from "./commit-history.ts";
import { newMachine } from "./replay.ts";

/** Clocks have a resolution of one millisecond. */
const roundingMs = 2;

/**
 * A subscriber hears each turn of an instance once, in order and after it is durable, whichever member commits it: all
 * that came after the subscription was ready. Left out is only what no history has any more.
 */
export const checkWatches: Checker = (evidence) => {
  const told = new Told(evidence);
  return evidence.watches.flatMap((watch) => new Hearing(told, watch).wrong);
};

/** A turn as it should be told. */
interface ToldTurn extends TurnRecord {
  readonly status: InstanceStatus;
}

interface ToldInstance {
  readonly id: string;
  readonly createdAt: number;
  readonly turns: readonly ToldTurn[];
  /** Turns before this one can be read in no history. */
  readonly readableFrom: number;
}

/** What the commits say that subscribers hear. */
class Told {
  readonly evidence: Evidence;
  readonly #byId = new Map<string, readonly ToldInstance[]>();
  readonly #keysLeft: ReadonlySet<number>;

  constructor(evidence: Evidence) {
    this.evidence = evidence;
    this.#keysLeft = new Set(evidence.finalState.instances.map(({ key }) => key));
  }

  /**
   * All instances of the id, the oldest first. None if they were created against the order of their creation times,
   * because a clock was set back by far: subscribers know no other order.
   */
  of(id: string): readonly ToldInstance[] {
    const known = this.#byId.get(id);
    if (known !== undefined) return known;
    const lives = commitHistoryOf(this.evidence).livesOf(id);
    const all = lives.map((instance, place) => this.#tell(instance, place === lives.length - 1));
    const isInOrder = all.every(({ createdAt }, place) => createdAt > (all[place - 1]?.createdAt ?? 0));
    const told = isInOrder ? all : [];
    this.#byId.set(id, told);
    return told;
  }

  ids(namespace: string): string[] {
    const all = [...commitHistoryOf(this.evidence).instances.values()].map(({ id }) => id);
    return [...new Set(all)].filter((id) => namespaceOf(id) === namespace);
  }

  /** The history of an id is that of its newest instance, from where its code last continued as new, until it is purged. */
  #tell(instance: InstanceCommits, isNewest: boolean): ToldInstance {
    const machine = newMachine(this.evidence.finalState, instance);
    const turns = instance.turns.map((turn) => {
      for (const event of turn.events) machine?.apply(event, turn.at);
      return { ...turn, status: machine?.status ?? "Ready" };
    });
    const beginning = turns.findLast(({ events }) => events.some(({ type }) => type === "InstanceContinued"));
    const isThere = isNewest && this.#keysLeft.has(instance.key);
    const readableFrom = isThere ? (beginning?.turn ?? 0) : Infinity;
    return { id: instance.id, createdAt: machine?.state.createdAt ?? 0, turns, readableFrom };
  }
}

class Hearing {
  readonly wrong: string[] = [];
  readonly #told: Told;
  readonly #watch: Watch;
  /** The time by the clock of its process when it began. */
  readonly #since: number;

  constructor(told: Told, watch: Watch) {
    this.#told = told;
    this.#watch = watch;
    const { machine = "" } = told.evidence.lives[watch.life - 1] ?? {};
    this.#since = epochMs + watch.began.at + clocksOf(told.evidence).offsetAt(machine, watch.began.at);
    const heard = Map.groupBy(watch.heard, ({ instanceId }) => instanceId);
    for (const [id, changes] of heard) this.#check(id, changes);
    if (watch.lastedUntil === undefined) return;
    const ids = watch.instanceId === undefined ? told.ids(watch.namespace) : [watch.instanceId];
    for (const id of ids) this.#checkEnd(id, heard.get(id) ?? [], watch.lastedUntil);
  }

  #check(id: string, changes: readonly HeardChange[]): void {
    const { instanceId, namespace } = this.#watch;
    if (instanceId === undefined ? namespaceOf(id) !== namespace : id !== instanceId)
      this.#say(`heard of ${id}, which it does not follow`);
    let before: HeardChange | undefined;
    if (this.#told.of(id).length === 0) return;
    for (const change of changes) {
      this.#compare(change);
      this.#checkOrder(change, before);
      before = change;
    }
  }

  #compare(change: HeardChange): void {
    const { instanceId: id, turn } = change;
    const told = this.#told
      .of(id)
      .find(({ createdAt }) => createdAt === change.createdAt)
      ?.turns.find((each) => each.turn === turn);
    if (told === undefined || !isBefore(told.landed, change))
      return this.#say(`heard turn ${turn} of ${id}, which was not durable`);
    const types = told.events.map(({ type }) => type);
    const isSame = told.firstEvent === change.firstEvent && types.join() === change.types.join();
    if (!isSame || told.status !== change.status)
      this.#say(`heard turn ${turn} of ${id} as ${change.status}, ${change.types.join(", ")}`);
  }

  #checkOrder(change: HeardChange, before: HeardChange | undefined): void {
    const { instanceId: id, createdAt, turn } = change;
    const isRepeated = before?.createdAt === createdAt && turn <= before.turn;
    if (before !== undefined && (isRepeated || createdAt < before.createdAt))
      return this.#say(`heard turn ${turn} of ${id} after turn ${before.turn}`);
    for (const instance of this.#told.of(id)) {
      if (instance.createdAt > createdAt) continue;
      const missing = instance.turns.filter(
        (each) => this.#mustHear(instance, each, before) && (instance.createdAt < createdAt || each.turn < turn),
      );
      this.#miss(instance, missing, `before turn ${turn}`);
    }
  }

  #checkEnd(id: string, heard: readonly HeardChange[], until: Moment): void {
    const last = heard.at(-1);
    for (const instance of this.#told.of(id)) {
      const missing = instance.turns.filter(
        (turn) => this.#mustHear(instance, turn, last) && isBefore(turn.landed, until),
      );
      this.#miss(instance, missing, "at all");
    }
  }

  #miss({ id }: ToldInstance, missing: readonly ToldTurn[], when: string): void {
    const turns = missing.map(({ turn, landed }) => `${turn} of ${landed.at.toFixed(0)}`);
    if (turns.length > 0) this.#say(`did not hear turn ${turns.join(", ")} of ${id} ${when}`);
  }

  /** Whether the turn is one of those that follow the last one that was heard, and is told to this watcher. */
  #mustHear({ createdAt, readableFrom }: ToldInstance, turn: ToldTurn, last: HeardChange | undefined): boolean {
    if (turn.turn < readableFrom) return false;
    if (last !== undefined) return createdAt === last.createdAt ? turn.turn > last.turn : createdAt > last.createdAt;
    const { ready, instanceId } = this.#watch;
    // Of an instance that it does not know, a wide watcher is told what is later by the clock of the writer.
    const isOld = instanceId === undefined && turn.at < this.#since + roundingMs;
    return ready !== undefined && isBefore(ready, turn.landed) && !isOld;
  }

  #say(what: string): void {
    this.wrong.push(`watch ${this.#watch.number} in life ${this.#watch.life} ${what}`);
  }
}
