import type { TestContext } from "node:test";
import type { Bus, BusConnection } from "../../../src/cluster/bus.ts";

/** Which client of a subject connects. */
export type By = "bus" | "other" | "foreign";

/**
 * A bus in good health. `other` reaches the same members through a client of its own, where there is such a thing: what
 * is sent on one is heard on both.
 */
export interface Subject {
  readonly bus: Bus;
  readonly other: Bus;
  /** The bus of another cluster, on the same server where there is one. */
  readonly foreign: Bus;
  /** Resolves when all that was sent has been heard, or would have been. */
  readonly settle: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export type MakeBus = () => Promise<Subject>;
export type BusSuite = (name: string, makeBus: MakeBus) => void;

export class Ears {
  readonly heard: string[] = [];
  readonly listener = (text: string): void => void this.heard.push(text);
}

/** A fresh bus and listeners at addresses that no other test uses; closed when the test ends. */
export class Meeting {
  readonly #t: TestContext;
  readonly #subject: Subject;
  readonly #prefix: string;
  static #count = 0;

  private constructor(t: TestContext, subject: Subject) {
    this.#t = t;
    this.#subject = subject;
    this.#prefix = `member-${++Meeting.#count}`;
  }

  static async of(t: TestContext, makeBus: MakeBus): Promise<Meeting> {
    const subject = await makeBus();
    t.after(() => subject.close());
    return new Meeting(t, subject);
  }

  address(name: string): string {
    return `${this.#prefix}-${name}`;
  }

  async connect(name: string, listener: (text: string) => void, by: By = "bus"): Promise<BusConnection> {
    const connection = this.#subject[by].connect(this.address(name), listener);
    this.#t.after(() => connection.close());
    await this.settle();
    return connection;
  }

  async settle(): Promise<void> {
    await this.#subject.settle();
  }
}
