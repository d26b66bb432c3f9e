import type { Event } from "../kernel/event.ts";
import type { Input } from "./input.ts";
import type { Machine } from "../kernel/machine.ts";

/** The two ends of a promise somebody waits for. */
export interface Reply<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

/** What lies in an instance's inbox until a turn takes it. */
export type Message = Told | Asked;

/** Something that may change the instance. The answer comes when what it led to is durable. */
export interface Told {
  readonly input: Input;
  readonly reply?: Reply<void>;
  /** From another instance: which of its shard's messages this is. */
  readonly origin?: Origin;
  /** The same request may come again; written down with what it led to, it is then recognised. */
  readonly key?: string;
}

export interface Origin {
  readonly source: number;
  readonly number: number;
}

/** A read-only turn: answered from the state, released with the instance's last outstanding commit. */
export interface Asked {
  readonly query: (machine: Machine) => void;
  /** Answered by the instance's code, which may have to be brought back for it. */
  readonly ofCode?: boolean;
  /** Releases the answer, or says why there is none. */
  readonly reply: Reply<void>;
}

/** What subscribers hear of, after it is durable. */
export interface CommittedTurn {
  readonly instanceId: string;
  readonly workflow: string;
  readonly turn: number;
  /** The number of its first event within the instance. */
  readonly firstEvent: number;
  readonly at: number;
  readonly events: readonly Event[];
  readonly machine: Machine;
}
