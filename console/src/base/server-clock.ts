import { useSyncExternalStore } from "react";

/** Server's time minus this machine's: running durations are counted by the server's clock. */
let offsetMs = 0;

export function setServerTime(now: number): void {
  offsetMs = now - Date.now();
}

export function serverNow(): number {
  return Date.now() + offsetMs;
}

const listeners = new Set<() => void>();
let shown = serverNow();

setInterval(() => {
  if (document.hidden) return;
  shown = serverNow();
  for (const listener of listeners) listener();
}, 1000);

/** The server's time, once a second. */
export function useNow(): number {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => shown,
  );
}
