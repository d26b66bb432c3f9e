import { EngineError } from "../base/error.ts";
import { localName } from "../base/namespace.ts";

/**
 * Changes of the engine that could alter a replay.
 *
 * A history outlives the engine that wrote it: its events are applied again after every restart and move, and the code of
 * a workflow takes its recorded steps again. A change of what is *decided* next needs no flag, because the decision is
 * recorded as events. A change needs one if an existing history would lead to another state or to other steps:
 *
 * - how an event is applied (`InstanceBase.apply`, `DagState`, `CodeState`),
 * - a value that is derived again instead of recorded: attempt ids, ids of children, random numbers, times,
 * - the order in which code gets arrivals, and the number of microtasks between an arrival and its step.
 *
 * An instance records the numbers of the flags that the engine knew when it started, in the first event of its history
 * (`InstanceCreated`, and `InstanceContinued` for each new generation of code). A fork takes over those of its source,
 * because it copies recorded steps. They are data like the rest of the history, and do not change within a generation.
 *
 * To add a flag: append an entry with the next number and its story, and branch on `state.hasFlag(number)` where
 * the behaviour differs. Instances without the flag keep the old branch, which stays for as long as such histories may
 * exist. Add a golden history to tests/histories that passes both ways. Numbers are never reused.
 */
export interface EngineFlag {
  /** The version of Heddle that introduced it. */
  readonly since: string;
  /** Behaviour before, behaviour now, and why. */
  readonly story: string;
}

export const engineFlags: Readonly<Record<number, EngineFlag>> = {};

const none: readonly never[] = [];

/** Numbers of all flags that this engine knows. */
export const knownFlags: readonly number[] = Object.keys(engineFlags).map(Number);

/** The part of an instance's first event that records its flags; nothing where there are none. */
export function recordFlags(flags: readonly number[] = none): { readonly flags?: readonly number[] } {
  return flags.length === 0 ? {} : { flags };
}

/** An engine that does not know a flag cannot tell how the instance behaved, and must not run it. `STORE_NEWER`. */
export function refuseUnknownFlags(flags: readonly number[], known: readonly number[], id: string): void {
  const unknown = flags.filter((flag) => !known.includes(flag));
  if (unknown.length === 0) return;
  throw new EngineError(
    "STORE_NEWER",
    `instance "${localName(id)}" was started by a newer version of Heddle, with flags that this version does not know: ${unknown.join(", ")}; run it with that version`,
  );
}
