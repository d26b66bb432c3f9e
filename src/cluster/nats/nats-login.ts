import { readFile } from "node:fs/promises";
import { EngineError, messageOf } from "../../base/error.ts";
import type { NatsAddress } from "./nats-address.ts";
import type { NatsClient, NatsLogin } from "./nats-client.ts";

/**
 * Reads the files of the login, anew for every connection, because credentials are renewed. `OPTION_INVALID` names a file
 * that cannot be read.
 */
export async function readLogin(address: NatsAddress, client: NatsClient): Promise<NatsLogin> {
  const { user, password, token, credentials, nkeySeed, tls } = address;
  return {
    ...(user !== undefined && { user }),
    ...(password !== undefined && { pass: password }),
    ...(token !== undefined && { token }),
    ...(credentials !== undefined && {
      authenticator: client.credsAuthenticator(await readSecret("credentials", credentials)),
    }),
    ...(nkeySeed !== undefined && { authenticator: client.nkeyAuthenticator(await readSeed(nkeySeed)) }),
    ...(tls !== undefined && {
      tls: {
        ...(tls.ca !== undefined && { ca: (await readSecret("tls.ca", tls.ca)).toString() }),
        ...(tls.cert !== undefined && { cert: (await readSecret("tls.cert", tls.cert)).toString() }),
        ...(tls.key !== undefined && { key: (await readSecret("tls.key", tls.key)).toString() }),
      },
    }),
  };
}

/** A seed ends without the end of its line. */
async function readSeed(path: string): Promise<Uint8Array> {
  return Buffer.from((await readSecret("nkeySeed", path)).toString().trim());
}

async function readSecret(option: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new EngineError(
      "OPTION_INVALID",
      `the bus cannot read the file of its option ${option}: ${messageOf(cause)}`,
      {
        cause,
      },
    );
  }
}
