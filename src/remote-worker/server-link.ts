import { EngineError, messageOf } from "../base/error.ts";
import { withoutEndSlashes } from "../base/url-text.ts";
import { HeddleClientError } from "../client/client-error.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";

/** Limit of messages buffered until the connection is open. */
const keptMax = 1000;

/** Timeout of the HTTP request that asks why a connection was refused. */
const probeMs = 5000;

/** Prefix of the close reason of a server whose configuration never accepts workers. */
const neverServed = "OPTION_INVALID: ";

/** A server that a worker connects to. */
export interface WorkerTarget {
  readonly url: string;
  readonly token: string | undefined;
  /** The namespace whose tasks it runs. Default: the one that the token is bound to, or `default`. */
  readonly namespace?: string | undefined;
  /**
   * Called when the server refuses the worker, and will again unless the token or the server's configuration changes. True
   * if the worker gives up; the link then reports nothing more.
   */
  readonly onRefused: (error: Error) => boolean;
}

/** The worker's end of a link to a server, over a WebSocket. */
export function connectToServer(target: WorkerTarget, listener: LinkListener): Link {
  const { url, onRefused } = target;
  const headers = headersOf(target);
  const socket = new WebSocket(`${withoutEndSlashes(url.replace(/^http/, "ws"))}/ws/worker`, { headers });
  let hasOpened = false;
  let early: string[] = [];
  let isClosed = false;
  socket.addEventListener("open", () => {
    hasOpened = true;
    for (const text of early) socket.send(text);
    early = [];
  });
  socket.addEventListener("message", ({ data }) => {
    if (!isClosed) listener.receive(String(data));
  });
  socket.addEventListener("close", ({ reason }) => {
    if (isClosed) return;
    isClosed = true;
    if (reason.startsWith(neverServed) && onRefused(notServed(url, reason.slice(neverServed.length)))) return;
    if (hasOpened) return listener.onClosed(reason === "" ? undefined : reason);
    void probe(target).then((why) => why !== undefined && listener.onClosed(why));
  });
  return {
    send: (text) => {
      if (isClosed) return;
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
      else if (socket.readyState === WebSocket.CONNECTING && early.length < keptMax) early.push(text);
    },
    close: () => {
      isClosed = true;
      socket.close();
    },
  };
}

function headersOf({ token, namespace }: WorkerTarget): Record<string, string> {
  return {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(namespace !== undefined && { "x-heddle-namespace": namespace }),
  };
}

/** Finds out why the connection failed by a request to the same URL over HTTP: a WebSocket does not report the reason. Nothing if the worker gives up. */
async function probe(target: WorkerTarget): Promise<string | undefined> {
  const { url, onRefused } = target;
  try {
    const answer = await fetch(`${withoutEndSlashes(url)}/ws/worker`, {
      headers: headersOf(target),
      signal: AbortSignal.timeout(probeMs),
    });
    const { status } = answer;
    const { code, message } = (await answer.json().catch(() => ({}))) as { code?: unknown; message?: unknown };
    const words = typeof message === "string" ? message : `the server answered with status ${status}`;
    if (status === 401 || status === 403) {
      const error = new HeddleClientError(words, { code: status === 401 ? "UNAUTHORIZED" : "FORBIDDEN", status });
      if (onRefused(error)) return undefined;
    }
    return typeof code === "string" ? `${code}: ${words}` : words;
  } catch (error) {
    return `${url} cannot be reached: ${networkError(error)}`;
  }
}

/** The message of a network error: `fetch` keeps the system's code, such as `ECONNREFUSED`, in its cause. */
function networkError(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return messageOf(error);
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
  return code === undefined || cause.message.includes(code) ? cause.message : `${code} ${cause.message}`.trim();
}

function notServed(url: string, reason: string): EngineError {
  return new EngineError(
    "OPTION_INVALID",
    `the server at ${url} accepts no remote workers (${reason}); its setting cluster.remoteWorkers is off`,
  );
}
