/** Live facts of a reader who has only the history: none. */
import type { LiveWaits } from "./waiting.ts";

export const noLiveWaits: LiveWaits = {
  taskWait: () => undefined,
  instancesMax: undefined,
  blocked: undefined,
  code: undefined,
};
