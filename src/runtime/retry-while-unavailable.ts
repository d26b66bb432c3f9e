import type { Clock } from "../base/clock.ts";
import { hasCode } from "../base/error.ts";

/** How long to wait before asking again a store that is away. */
const askAgainMs = 500;

/** Waits for a store that is away, until it is of no use any more. */
export async function retryWhileUnavailable<T>(
  clock: Clock,
  work: () => Promise<T>,
  isHopeless: () => boolean,
): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!hasCode(error, "STORE_UNAVAILABLE") || isHopeless()) throw error;
      await new Promise<void>((resolve) => clock.after(askAgainMs, resolve));
    }
  }
}
