import { EngineError, messageOf } from "../base/error.ts";
import { withoutEndSlashes } from "../base/url-text.ts";
import { HeddleClientError } from "../client/client-error.ts";
import type { Link, LinkListener } from "../dispatch/link.ts";

/** What is said before the connection stands is kept, up to this much. */
const keptMax = 1000;

/** How long the server may take to say why it refused a connection. */
const probeMs = 5000;

/** How a server's close reason begins if it will never take a worker, as it is set up. */
const neverServed = "OPTION_INVALID: ";

export interface WorkerTarget {
  readonly url: string;
  readonly token: string | undefined;
  /** The server refused the worker, and will refuse it again unless somebody changes the token or the server. */
  readonly onRefused: (error: Error) => void;
}

/** The worker's end of a link to a server, over a WebSocket. */
export function connectWorker(target: WorkerTarget, listener: LinkListener): Link {
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
    if (reason.startsWith(neverServed)) onRefused(notServed(url, reason.slice(neverServed.length)));
    if (hasOpened) return listener.closed(reason === "" ? undefined : reason);
    void probe(target).then((why) => listener.closed(why));
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

function headersOf({ token }: WorkerTarget): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** Why no connection came about, which a WebSocket does not tell: the same address is asked over HTTP. */
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
      onRefused(new HeddleClientError(words, { code: status === 401 ? "UNAUTHORIZED" : "FORBIDDEN", status }));
    }
    return typeof code === "string" ? `${code}: ${words}` : words;
  } catch (error) {
    return `${url} cannot be reached: ${networkError(error)}`;
  }
}

/** `fetch` says only that it failed; its cause has the code of the system, such as `ECONNREFUSED`. */
function networkError(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return messageOf(error);
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : undefined;
  return code === undefined || cause.message.includes(code) ? cause.message : `${code} ${cause.message}`.trim();
}

function notServed(url: string, reason: string): EngineError {
  return new EngineError(
    "OPTION_INVALID",
    `the server at ${url} takes no workers (${reason}): a server does with a database on PostgreSQL or MySQL and cluster.remoteWorkers`,
  );
}
