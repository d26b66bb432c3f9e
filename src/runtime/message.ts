import type { TurnQuery } from "../kernel/code/turn-question.ts";
import type { Event } from "../kernel/event.ts";
import type { Input } from "./input.ts";
import type { Machine } from "../kernel/machine.ts";

/** Settles the promise of a caller. */
export interface Reply<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

/** An entry of an instance's inbox, until a turn takes it. */
export type Message = InputMessage | QueryMessage;

/** An input for the instance's machine. The reply is sent when its turn is durable. */
export interface InputMessage {
  readonly input: Input;
  readonly reply?: Reply<void>;
  /** Position in the sending shard's outbox, for a message from another instance. */
  readonly origin?: Origin;
  /** The key of a call that may be repeated; recorded with the turn, so that a repetition is recognised. */
  readonly key?: string;
}

export interface Origin {
  readonly source: number;
  readonly number: number;
}

/** A read: answered from the state, released with the instance's last outstanding commit. */
export interface QueryMessage {
  readonly query: (machine: Machine) => void;
  /** The code of the instance answers it, and may have to be replayed first. */
  readonly ofCode?: boolean;
  /** What is asked of the code, for code in another process. */
  readonly codeQuery?: TurnQuery | undefined;
  /** Never answered ahead of a message that came before it: its answer says that those are durable. */
  readonly isInOrder?: boolean | undefined;
  /** Releases the answer, or rejects with the reason why there is none. */
  readonly reply: Reply<void>;
}

/** A durable turn, as subscribers get it. */
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
