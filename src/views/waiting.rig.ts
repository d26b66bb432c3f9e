/** Live facts of a reader who has only the history: none. */
import type { LiveWaits } from "./waiting.ts";

export const noLiveWaits: LiveWaits = {
  taskWait: () => undefined,
  progress: () => undefined,
  instancesMax: undefined,
  blocked: undefined,
  code: undefined,
};
