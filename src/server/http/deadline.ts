import type { Clock } from "../../base/clock.ts";
import { HttpError } from "./http-error.ts";

const queryMs = 5000;

/** `QUERY_TIMEOUT` for what takes longer than a person waits for. */
export async function inTime<Value>(clock: Clock, query: Promise<Value>): Promise<Value> {
  const late = Promise.withResolvers<never>();
  const timer = clock.after(queryMs, () => late.reject(new HttpError("QUERY_TIMEOUT", "Query timeout")));
  try {
    return await Promise.race([query, late.promise]);
  } finally {
    timer.cancel();
  }
}
