import nodeCrypto from "node:crypto";
import fsPromises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import nodeTimers from "node:timers";
import timersPromises from "node:timers/promises";
import { ContextPromise } from "./context-promise.ts";

/** A non-deterministic call that the code of a workflow should not make. */
export interface UnsteadyCall {
  /** The call as users write it. */
  readonly call: string;
  /** The problem with the call; absent: its result differs from call to call. */
  readonly problem?: string;
  /** Replacement for a workflow's code. */
  readonly instead: string;
}

interface Watched extends UnsteadyCall {
  readonly holder: object;
  readonly name: string;
  /** Returns whether the call with these arguments is wrong; absent: every call is. */
  readonly isWrong?: (args: readonly unknown[]) => boolean;
}

type Callable = (...args: unknown[]) => unknown;

/**
 * The watched functions, read when the watch begins, because tests replace clocks. Some functions are reachable in two
 * ways, and users take either.
 */
function watchedCalls(): Watched[] {
  const timers = [globalThis, nodeTimers, timersPromises].flatMap((holder) =>
    ["setTimeout", "setInterval", "setImmediate"].map((name) => ({ holder, name, call: `${name}()` })),
  );
  return [
    { holder: Date, name: "now", call: "Date.now()", instead: "ctx.now()" },
    { holder: globalThis, name: "Date", call: "new Date()", instead: "new Date(ctx.now())" },
    { holder: performance, name: "now", call: "performance.now()", instead: "ctx.now()" },
    { holder: Math, name: "random", call: "Math.random()", instead: "ctx.random()" },
    { holder: crypto, name: "randomUUID", call: "crypto.randomUUID()", instead: "ctx.uuid()" },
    { holder: nodeCrypto, name: "randomUUID", call: "crypto.randomUUID()", instead: "ctx.uuid()" },
    { holder: crypto, name: "getRandomValues", call: "crypto.getRandomValues()", instead: "ctx.random()" },
    { holder: nodeCrypto, name: "randomBytes", call: "crypto.randomBytes()", instead: "ctx.random()" },
    { holder: nodeCrypto, name: "randomInt", call: "crypto.randomInt()", instead: "ctx.random()" },
    { holder: process.hrtime, name: "bigint", call: "process.hrtime.bigint()", instead: "ctx.now()" },
    { holder: process, name: "hrtime", call: "process.hrtime()", instead: "ctx.now()" },
    ...Object.keys(fsPromises).map((name) => ({
      holder: fsPromises,
      name,
      call: `${name}()`,
      instead: "a job, with ctx.run()",
    })),
    ...timers.map((timer) => ({ ...timer, instead: "ctx.sleep()" })),
    { holder: globalThis, name: "fetch", call: "fetch()", instead: "a job, with ctx.run()" },
    ...["race", "any"].map((name) => ({
      holder: Promise,
      name,
      call: `Promise.${name}()`,
      problem: "which goes on waiting for the events and timers that lose: the next event is theirs, and lost",
      instead: `ctx.${name}()`,
      isWrong: ([values]: readonly unknown[]) => Array.isArray(values) && values.some(isGivenUp),
    })),
  ];
}

/** True for a wait that `ctx.race()` cancels when it loses. */
function isGivenUp(value: unknown): boolean {
  return value instanceof ContextPromise;
}

/**
 * Calls `onCall` before each of these calls, wherever they come from. Returns a function that restores the originals.
 */
export function watchGlobals(onCall: (call: UnsteadyCall) => void): () => void {
  const restores = watchedCalls().map((each) =>
    replace(each.holder, each.name, (original) =>
      observeCalls(original, (args) => (each.isWrong?.(args) ?? true) && onCall(each)),
    ),
  );
  // A date's `constructor` is the class found under the name `Date`.
  restores.push(replace(Date.prototype, "constructor", () => Date));
  syncBuiltinESMExports();
  return () => {
    for (const restore of restores.toReversed()) restore();
    syncBuiltinESMExports();
  };
}

/**
 * Wraps a function without changing its behaviour or its properties. A construction with arguments, such as a date of a
 * given time, is deterministic and not noted.
 */
function observeCalls(original: Callable, note: (args: readonly unknown[]) => void): Callable {
  return new Proxy(original, {
    apply: (target, self, args) => {
      note(args);
      return Reflect.apply(target, self, args);
    },
    construct: (target, args, newTarget) => {
      if (args.length === 0) note(args);
      return Reflect.construct(target, args, newTarget) as object;
    },
  });
}

/**
 * Replaces only ordinary functions; and leaves alone, when it is undone, what somebody else has put there since, such
 * as a test's own timers.
 */
function replace(holder: object, name: string, by: (original: Callable) => Callable): () => void {
  const owner = Object.hasOwn(holder, name) ? holder : (Object.getPrototypeOf(holder) as object);
  const descriptor = Object.getOwnPropertyDescriptor(owner, name);
  const original: unknown = descriptor?.value;
  if (descriptor?.configurable !== true || typeof original !== "function") return () => undefined;
  const replacement = by(original as Callable);
  Object.defineProperty(owner, name, { ...descriptor, value: replacement });
  return () => {
    if (Reflect.get(owner, name) === replacement) Object.defineProperty(owner, name, descriptor);
  };
}
