import { defaultNamespace } from "../../../src/base/namespace.ts";
import { HeddleClient } from "../../../src/client/client.ts";
import { HeddleClientError } from "../../../src/client/client-error.ts";
import type { Envelope } from "../../../src/api/envelope.ts";
import type { RouteName } from "../../../src/api/paths.ts";
import type { DataOf } from "../../../src/api/routes.ts";
import type { CallArgument } from "../../../src/client/call.ts";
import { type Session, sessionPath } from "../../../src/api/session.ts";
import { currentNamespace } from "../base/place.ts";

const clients = new Map<string, HeddleClient>();

/** The typed client in the namespace of the address; the browser adds the session's cookie. */
function currentClient(): HeddleClient {
  const namespace = currentNamespace();
  let client = clients.get(namespace);
  if (client === undefined) {
    const options = {
      url: location.origin,
      retriesMax: 1,
      fetch: (...args: Parameters<typeof fetch>) => fetch(...args),
    };
    client = new HeddleClient({ ...options, ...(namespace !== defaultNamespace && { namespace }) });
    clients.set(namespace, client);
  }
  return client;
}

/** The parameter that names the namespace where a browser can set no header. */
export function namespaceQuery(): Readonly<Record<string, string>> {
  const namespace = currentNamespace();
  return namespace === defaultNamespace ? {} : { namespace };
}

const onSignedOut = new Set<() => void>();

export function whenSignedOut(listener: () => void): () => void {
  onSignedOut.add(listener);
  return () => onSignedOut.delete(listener);
}

/** Calls an operation by its name. A refused token ends the session. */
export async function call<N extends RouteName>(name: N, ...argument: CallArgument<N>): Promise<DataOf<N>> {
  try {
    return await currentClient().call(name, ...argument);
  } catch (error) {
    if (error instanceof HeddleClientError && error.status === 401) for (const listener of onSignedOut) listener();
    throw error;
  }
}

/** Starts an instance and returns its id. */
export function startWorkflow(
  workflow: string,
  input: unknown,
  options: { readonly instanceId?: string; readonly maxConcurrentTasks?: number },
): Promise<string> {
  return currentClient().start(workflow, input, options);
}

export async function readSession(): Promise<Session | null> {
  return await ask<Session | null>("GET");
}

/** Exchanges a token for the session's cookie. Throws `HeddleClientError`. */
export async function openSession(token: string): Promise<Session> {
  return await ask<Session>("POST", { token });
}

export async function endSession(): Promise<void> {
  await ask("DELETE");
}

async function ask<Data>(method: string, body?: object): Promise<Data> {
  const response = await fetch(sessionPath, {
    method,
    ...(body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
  const envelope = (await response.json()) as Envelope<Data>;
  if (envelope.code === 0) return envelope.data;
  throw new HeddleClientError(envelope.message, { code: envelope.code, status: response.status });
}

export function messageOf(error: unknown): string {
  if (error instanceof HeddleClientError && error.details.length > 0) {
    return `${error.message}: ${error.details.map(({ path, problem }) => `${path} ${problem}`).join("; ")}`;
  }
  return error instanceof Error ? error.message : String(error);
}
