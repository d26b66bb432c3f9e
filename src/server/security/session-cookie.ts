import type { IncomingHttpHeaders } from "node:http";
import { isOwnOrigin } from "./origin-check.ts";

/** Lifetime of a session in the browser; deleting the token ends it at once. */
const maxAgeSeconds = 7 * 86_400;

export interface CookieRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Returns the token in the session cookie. Cookies travel with requests that other pages cause, also those of another
 * port of the same machine, which count as the same site. So a cookie authenticates no request of a foreign origin, and
 * no change without an origin, which every browser sends.
 */
export function secretOfCookie({ method, headers }: CookieRequest): string | undefined {
  const { host = "", origin, cookie } = headers;
  if (cookie === undefined) return undefined;
  const isRead = method === "GET" || method === "HEAD";
  if (origin === undefined ? !isRead : !isOwnOrigin(origin, host)) return undefined;
  const prefix = `${cookieName(host)}=`;
  const found = cookie.split(";").find((each) => each.trim().startsWith(prefix));
  const secret = found?.trim().slice(prefix.length);
  return secret === undefined || secret === "" ? undefined : decodeSecret(secret);
}

/** The header that keeps the token in the browser, out of reach of scripts. */
export function sessionCookie(secret: string, where: { readonly host: string; readonly isTls: boolean }): string {
  return cookieText(encodeURIComponent(secret), maxAgeSeconds, where);
}

/** The header that removes the session from the browser. */
export function expiredCookie(where: { readonly host: string; readonly isTls: boolean }): string {
  return cookieText("", 0, where);
}

function cookieText(value: string, maxAge: number, where: { readonly host: string; readonly isTls: boolean }): string {
  const secure = where.isTls ? "; Secure" : "";
  return `${cookieName(where.host)}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`;
}

/** The name has the port: cookies are shared by all ports of a host, and two servers may run on one machine. */
function cookieName(host: string): string {
  const port = /:(\d+)$/.exec(host)?.[1];
  return port === undefined ? "heddle-session" : `heddle-session-${port}`;
}

function decodeSecret(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // The cookie was not set by this server.
    return undefined;
  }
}
