import { JobFailure } from "./job-failure.ts";

/** Refuses an address whose host is not in the list: `api.example.org`, `*.example.org`, `10.0.0.5:8080`. No list allows all. */
export function checkHost(url: URL, allowedHosts: readonly string[] | undefined): void {
  if (allowedHosts === undefined || allowedHosts.some((pattern) => isMatch(pattern.toLowerCase(), url))) return;
  throw new JobFailure("ParamsRefused", `the host ${url.host} is not among those that this worker allows`, {
    retryable: false,
  });
}

function isMatch(pattern: string, { host, hostname }: URL): boolean {
  if (pattern.startsWith("*.")) return hostname.endsWith(pattern.slice(1));
  return pattern === host || pattern === hostname;
}
