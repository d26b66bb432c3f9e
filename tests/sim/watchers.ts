import { defaultNamespace, qualify } from "../../src/base/namespace.ts";
import type { ClusterTimings } from "../../src/cluster/timings.ts";
import type { Watch } from "./evidence.ts";
import type { MemberLife } from "./member.ts";
import type { Recorder } from "./recorder.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimRandom } from "./sim-random.ts";
import { type AnyScenario, twinNamespace } from "./workload.ts";

/** What a watcher follows: one instance, or all of a namespace. */
export interface WatchPlan {
  readonly namespace: string;
  readonly instanceId: string | undefined;
  readonly beginAt: number;
}

/** Draws what is watched in a run, and from when on. */
export function drawWatches(random: SimRandom, scenarios: readonly AnyScenario[], spanMs: number): WatchPlan[] {
  const wide = Array.from({ length: random.whole(0, 2) }, () => ({
    namespace: random.pick([defaultNamespace, defaultNamespace, twinNamespace]),
    instanceId: undefined,
    beginAt: random.within(0, spanMs / 2),
  }));
  const narrow = scenarios.flatMap(({ instanceId, namespace = defaultNamespace, submitAt }) => {
    if (instanceId === undefined || !random.isLucky(0.3)) return [];
    return [{ namespace, instanceId, beginAt: Math.max(0, submitAt + random.waitMs(1500) - random.waitMs(500)) }];
  });
  return [...wide, ...narrow];
}

/** The pause before a watcher whose process is gone subscribes at another. */
const pauseMs = 300;

/** Time for the last answers of members, which may go through mailboxes. */
const lastAnswersMs = 15_000;

/** Programs in the members' processes that subscribe to instances, and subscribe elsewhere when their process ends. */
export class Watchers {
  readonly #plans: readonly WatchPlan[];
  readonly #scheduler: Scheduler;
  readonly #recorder: Recorder;
  readonly #random: SimRandom;
  readonly #timings: ClusterTimings;
  readonly #lives: () => readonly MemberLife[];
  #isOver = false;

  constructor(parts: {
    readonly plans: readonly WatchPlan[];
    readonly scheduler: Scheduler;
    readonly recorder: Recorder;
    readonly random: SimRandom;
    readonly timings: ClusterTimings;
    /** The members that are up. */
    readonly lives: () => readonly MemberLife[];
  }) {
    this.#plans = parts.plans;
    this.#scheduler = parts.scheduler;
    this.#recorder = parts.recorder;
    this.#random = parts.random;
    this.#timings = parts.timings;
    this.#lives = parts.lives;
  }

  start(): void {
    for (const [place, plan] of this.#plans.entries()) {
      void this.#play(plan, this.#random.fork(`watcher ${place}`)).catch((error: unknown) => {
        this.#recorder.recordProblem(`a watcher failed: ${String(error)}`);
      });
    }
  }

  /**
   * Waits until every subscription must have heard what there was, while nothing is committed any more: losses become
   * known when a member that has crashed is removed.
   */
  async finish(): Promise<void> {
    if (this.#plans.length > 0) {
      const { suspectMs, lostMs, beatMs } = this.#timings;
      const lastEnd = Math.max(0, ...this.#recorder.lives.map(({ end }) => end?.at ?? 0));
      const removed = lastEnd + 1.1 * (suspectMs + lostMs) + 4 * beatMs;
      await this.#scheduler.sleep(Math.max(0, removed - this.#scheduler.now) + lastAnswersMs);
    }
    this.#isOver = true;
    const { lives, watches } = this.#recorder;
    for (const watch of watches) {
      const hasLasted = watch.ended === undefined && lives[watch.life - 1]?.stopping === undefined;
      if (hasLasted) watch.lastedUntil = this.#recorder.moment();
    }
  }

  async #play(plan: WatchPlan, random: SimRandom): Promise<void> {
    await this.#scheduler.sleep(plan.beginAt);
    while (!this.#isOver) {
      const lives = this.#lives();
      if (lives.length > 0) await this.#watch(random.pick(lives), plan, random);
      await this.#scheduler.sleep(random.waitMs(pauseMs));
    }
  }

  /** Returns when the process has ended or the watcher has unsubscribed. */
  async #watch(life: MemberLife, { namespace, instanceId }: WatchPlan, random: SimRandom): Promise<void> {
    const recorder = this.#recorder;
    const id = instanceId === undefined ? undefined : qualify(namespace, instanceId);
    const watch: Watch = recorder.recordWatch(life, { namespace, instanceId: id });
    const unsubscribe = life.engine.inNamespace(namespace).subscribe(
      ({ instanceId: heard, createdAt, turn, firstEvent, events, status }) => {
        const change = { createdAt, turn, firstEvent, types: events.map(({ type }) => type), status };
        recorder.recordHeard(watch, { instanceId: qualify(namespace, heard), ...change });
      },
      { ...(instanceId !== undefined && { instanceId }) },
    );
    void unsubscribe.ready.then(() => void (watch.ready = recorder.moment()));
    const isShort = random.isLucky(0.3);
    const forMs = random.waitMs(8000);
    await Promise.race([life.died, ...(isShort ? [this.#scheduler.sleep(forMs)] : [])]);
    watch.ended = recorder.moment();
    if (!life.isDead) unsubscribe();
  }
}
