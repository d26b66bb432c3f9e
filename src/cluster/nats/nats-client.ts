import { EngineError } from "../../base/error.ts";

/**
 * The part of the package `@nats-io/transport-node`, an optional dependency, that is used. Its own types do not hold with
 * `exactOptionalPropertyTypes` and without `skipLibCheck`, which is how this package is compiled; `nats-client.test.ts`
 * compares the two.
 */
export interface NatsClient {
  connect(options: NatsConnectOptions): Promise<NatsConnection>;
  readonly credsAuthenticator: (creds: Uint8Array) => Authenticator;
  readonly nkeyAuthenticator: (seed: Uint8Array) => Authenticator;
}

/** Answers the server's nonce. */
export type Authenticator = (nonce?: string) => Credentials;

type Credentials =
  | void
  | { auth_token: string }
  | { user: string; pass?: string }
  | { nkey: string; sig: string }
  | { jwt: string; nkey?: string; sig?: string };

export interface NatsLogin {
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
  readonly authenticator?: Authenticator;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

export interface NatsConnectOptions extends NatsLogin {
  readonly servers: string[];
  readonly name: string;
  /** Timeout of the login, in milliseconds. */
  readonly timeout: number;
  readonly pingInterval: number;
  readonly maxPingOut: number;
  readonly reconnect: boolean;
}

export interface NatsConnection {
  readonly info?: { readonly max_payload: number };
  publish(subject: string, payload: Uint8Array): void;
  subscribe(
    subject: string,
    options: { callback: (error: Error | null, message: { readonly data: Uint8Array }) => void },
  ): unknown;
  /** Resolves when the server has handled everything that was sent before. */
  flush(): Promise<void>;
  status(): AsyncIterable<{ readonly type: string; readonly error?: Error }>;
  /** Resolves with the reason when the connection has ended. */
  closed(): Promise<void | Error>;
  close(): Promise<void>;
  isClosed(): boolean;
}

/** A name that the compiler does not follow to the types of the package. */
const packageName: string = "@nats-io/transport-node";

/** `OPTION_INVALID` if the package is not installed. */
export async function loadNatsClient(): Promise<NatsClient> {
  try {
    return (await import(packageName)) as NatsClient;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    throw new EngineError(
      "OPTION_INVALID",
      `the NATS bus needs the package ${packageName}, which is not installed; run npm install ${packageName}`,
      { cause: error },
    );
  }
}
