import type { IncomingHttpHeaders } from "node:http";
import { HttpError } from "../request/http-error.ts";

const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]", "::1"]);

export function isLoopbackHost(host: string): boolean {
  return loopbackNames.has(host.toLowerCase()) || /^127(\.\d{1,3}){3}$/.test(host);
}

export interface OriginCheckParts {
  /** The server listens on the loopback address only. */
  readonly isLoopback: boolean;
  /** Allowed CORS origins. */
  readonly origins: readonly string[];
}

/**
 * Refuses web pages of foreign origins. By DNS rebinding a page may reach a server on its visitor's machine under a name of its own that
 * points there, so only local names are answered. By CSRF it may send requests anywhere, so a change
 * is accepted only from the server's own pages and allowed origins. `FORBIDDEN`.
 */
export function checkOrigin(
  { method, headers }: { readonly method: string; readonly headers: IncomingHttpHeaders },
  { isLoopback, origins }: OriginCheckParts,
): void {
  const { host = "", origin } = headers;
  if (isLoopback && !isLoopbackHost(host.replace(/:\d+$/, ""))) {
    throw new HttpError("FORBIDDEN", "this server answers under localhost, 127.0.0.1 and [::1] only");
  }
  if (origin === undefined || method === "GET" || method === "HEAD" || method === "OPTIONS") return;
  if (isOwnOrigin(origin, host) || origins.includes(origin)) return;
  throw new HttpError(
    "FORBIDDEN",
    `pages of ${origin} may not change anything here: see corsOrigins in the configuration`,
  );
}

/** True for a page that this server delivered. */
export function isOwnOrigin(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}
