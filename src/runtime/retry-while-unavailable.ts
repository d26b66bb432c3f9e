import type { Clock } from "../base/clock.ts";
import { hasCode } from "../base/error.ts";

/** The delay between two tries. */
const askAgainMs = 500;

/** Repeats a read while the store is unavailable, until `isOver` returns true. */
export async function retryWhileUnavailable<T>(
  clock: Clock,
  work: () => Promise<T>,
  isOver: () => boolean,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!hasCode(error, "STORE_UNAVAILABLE") || isOver()) throw error;
      await new Promise<void>((resolve) => clock.after(askAgainMs, resolve));
    }
  }
}
