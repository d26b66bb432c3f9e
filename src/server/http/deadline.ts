import type { Clock } from "../../base/clock.ts";
import { HttpError } from "./http-error.ts";

const queryMs = 5000;

/** `QUERY_TIMEOUT` for what takes longer than a person waits for. */
export async function inTime<Value>(clock: Clock, query: Promise<Value>, ms = queryMs): Promise<Value> {
  return await before(clock, query, { ms, error: () => new HttpError("QUERY_TIMEOUT", "Query timeout") });
}

/** `DEADLINE_EXCEEDED` for a change that is neither made nor refused by then. It may still be made. */
export async function changeInTime<Value>(clock: Clock, change: Promise<Value>, ms: number): Promise<Value> {
  const message = `the change was not made within ${ms / 1000} seconds, and may still be: look before you ask again`;
  return await before(clock, change, { ms, error: () => new HttpError("DEADLINE_EXCEEDED", message) });
}

async function before<Value>(
  clock: Clock,
  query: Promise<Value>,
  deadline: { readonly ms: number; readonly error: () => HttpError },
): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = clock.after(deadline.ms, () => late.reject(deadline.error()));
  try {
    return await Promise.race([query, late.promise]);
  } finally {
    timer.cancel();
  }
}
