import { EngineError, messageOf } from "../../src/base/error.ts";
import type { SimRandom } from "./sim-random.ts";
import type { EventLog } from "./event-log.ts";
import type { Life, Machine } from "./machine.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Recorder } from "./recorder.ts";

export interface SupervisorParts {
  readonly scheduler: Scheduler;
  readonly log: EventLog;
  readonly recorder: Recorder;
  readonly random: SimRandom;
  /** The mean time until a crashed process is started again. */
  readonly downMs: number;
  readonly newLife: (machine: Machine) => Life;
  readonly isOver: () => boolean;
}

/** The maximum time that a stop may take. */
const stopMs = 120_000;

/** Starts processes on the machines, and restarts those that crash. */
export class Supervisor {
  readonly #parts: SupervisorParts;

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
  }

  async beginLater(machine: Machine, meanMs: number): Promise<void> {
    await this.#parts.scheduler.sleep(this.#parts.random.waitMs(meanMs));
    await this.begin(machine);
  }

  /** Starts a process; tries again if the store is unavailable. */
  async begin(machine: Machine): Promise<void> {
    const { recorder, scheduler, random } = this.#parts;
    while (machine.isWanted && !machine.isHeld && machine.life === undefined && !this.#parts.isOver()) {
      const life = (machine.life = this.#parts.newLife(machine));
      void life.died.then(() => this.#afterDeath(machine, life));
      try {
        await Promise.race([life.start(), life.died]);
        if (!life.isDead) life.record.up = recorder.moment();
        return;
      } catch (error) {
        if (!(error instanceof EngineError && error.retryable))
          recorder.recordProblem(`${machine.name} did not start: ${messageOf(error)}`);
        life.finish("gave up", messageOf(error));
      }
      await scheduler.sleep(random.within(100, 1000));
    }
  }

  /** Stops the process gracefully, and starts another one later. */
  async leave(machine: Machine, awayMs: number): Promise<void> {
    const { life } = machine;
    if (life === undefined || !life.isUp || life.isFrozen) return;
    machine.isWanted = false;
    await Promise.race([this.#stop(life), life.died]);
    await this.#parts.scheduler.sleep(awayMs);
    machine.isWanted = true;
    await this.begin(machine);
  }

  async stopForGood(machine: Machine): Promise<void> {
    const { scheduler, recorder } = this.#parts;
    machine.isWanted = false;
    const { life } = machine;
    if (life === undefined) return;
    if (!(await scheduler.within(stopMs, this.#stop(life))))
      recorder.recordProblem(`${machine.name} did not stop in time`);
    else if (life.record.end?.how !== "stopped") recorder.recordProblem(`${machine.name} did not stop in good order`);
  }

  async #stop(life: Life): Promise<void> {
    const { recorder, log } = this.#parts;
    life.record.stopping = recorder.moment();
    log.note(`${life.machine} is asked to stop`);
    try {
      await life.stop();
      life.finish("stopped", "in good order");
    } catch (error) {
      life.finish("gave up", messageOf(error));
    }
  }

  async #afterDeath(machine: Machine, life: Life): Promise<void> {
    if (life.record.end?.how === "crashed") await this.beginLater(machine, this.#parts.downMs);
  }
}
