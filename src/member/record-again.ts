import type { Clock } from "../base/clock.ts";
import { messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { retryWhileUnavailable } from "../runtime/retry-while-unavailable.ts";

/** A store that went back to the time before this member joined lacks what was recorded since; it shows as a removal. */
export async function recordAgain(
  parts: { readonly clock: Clock; readonly logger: Logger; readonly dispatcher: Pick<Dispatcher, "isShutDown"> },
  record: () => Promise<void>,
): Promise<void> {
  const { clock, logger, dispatcher } = parts;
  try {
    await retryWhileUnavailable(clock, record, () => dispatcher.isShutDown);
  } catch (error) {
    // The engine stops, and joins no more.
    if (dispatcher.isShutDown) return;
    logger.warn(
      { error: messageOf(error) },
      "this member was removed and joins again; its jobs, workflows and domains could not be recorded again",
    );
  }
}
