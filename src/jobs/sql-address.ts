import { checkHost } from "./host-list.ts";
import { JobFailure } from "./job-failure.ts";
import type { Redactor } from "./redactor.ts";

/** Options that a workflow may write into a url. Others of the drivers name another host, a socket or files of the worker. */
const options = ["application_name", "charset", "options", "ssl", "sslmode", "timezone"];

export interface AddressRules {
  readonly allowedHosts: readonly string[] | undefined;
  /** True if the worker gives the url, as opposed to the workflow: it may then have every option. */
  readonly isSecret: boolean;
}

/** Checks the url of a database server. The password of a plain url is redacted too. */
export function checkServer(text: string, redactor: Redactor, { allowedHosts, isSecret }: AddressRules): void {
  const url = URL.parse(text);
  if (url === null)
    throw refused("the url cannot be parsed; it must look like postgresql://user:password@host/database");
  if (url.password !== "") {
    redactor.add(url.password);
    redactor.add(decoded(url.password));
  }
  if (!isSecret) checkPlain(url);
  checkHost(url, allowedHosts);
}

/** The drivers fill gaps from the environment and the files of the worker, which are not for every server. */
function checkPlain({ hostname, password, protocol, searchParams }: URL): void {
  if (hostname === "" || hostname.includes("%")) {
    throw refused(
      "the url must name a host; a socket of the worker needs a reference to a secret, { env } or { file }",
    );
  }
  if (password === "" && protocol.startsWith("postgres")) {
    throw refused("the url must have a password, or be a reference to a secret: the worker's own is not sent");
  }
  const other = [...searchParams.keys()].find((name) => !options.includes(name));
  if (other !== undefined) {
    throw refused(
      `the url may not have the option ${other} (${options.join(", ")}) unless it is a reference to a secret`,
    );
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refused("the password in the url must be percent-encoded");
  }
}

function refused(message: string): JobFailure {
  return new JobFailure("ParamsRefused", message, { retryable: false });
}
