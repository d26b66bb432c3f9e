import { createContext, useContext, useEffect, useRef, useSyncExternalStore } from "react";
import type { WatchedChange } from "../../../src/client/watch.ts";
import type { LiveConnection, LiveStatus, LiveTopic } from "./live-connection.ts";

export const LiveContext = createContext<LiveConnection | null>(null);

function useConnection(): LiveConnection {
  const connection = useContext(LiveContext);
  if (connection === null) throw new Error("a page is shown within a live connection");
  return connection;
}

export function useLiveStatus(): LiveStatus {
  const connection = useConnection();
  return useSyncExternalStore(connection.onStatus, () => connection.status);
}

/** Follows a topic; changes arrive at most once a frame. Null follows nothing. */
export function useChanges(
  topic: LiveTopic | null,
  onChanges: (changes: readonly WatchedChange[]) => void,
  onGap: () => void,
): void {
  const connection = useConnection();
  const latest = useRef({ onChanges, onGap });
  latest.current = { onChanges, onGap };
  const key = JSON.stringify(topic);
  useEffect(() => {
    const wanted = JSON.parse(key) as LiveTopic | null;
    if (wanted === null) return undefined;
    let buffered: WatchedChange[] = [];
    let frame = 0;
    const flush = (): void => {
      frame = 0;
      const changes = buffered;
      buffered = [];
      latest.current.onChanges(changes);
    };
    const stop = connection.subscribe(wanted, {
      onChanges: (changes) => {
        buffered.push(...changes);
        if (frame === 0) frame = requestAnimationFrame(flush);
      },
      onGap: () => latest.current.onGap(),
    });
    return () => {
      stop();
      if (frame !== 0) cancelAnimationFrame(frame);
    };
  }, [connection, key]);
}

/** Calls at most once per interval while asked, the last time after the last request. */
export function useThrottled(run: () => void, intervalMs: number): () => void {
  const latest = useRef(run);
  latest.current = run;
  const state = useRef<{ lastAt: number; timer: ReturnType<typeof setTimeout> | undefined }>({
    lastAt: 0,
    timer: undefined,
  });
  useEffect(() => () => clearTimeout(state.current.timer), []);
  return () => {
    const held = state.current;
    if (held.timer !== undefined) return;
    const waitMs = Math.max(0, held.lastAt + intervalMs - Date.now());
    held.timer = setTimeout(() => {
      held.timer = undefined;
      held.lastAt = Date.now();
      latest.current();
    }, waitMs);
  };
}
