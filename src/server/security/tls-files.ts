import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { EngineError, messageOf } from "../../base/error.ts";

export interface TlsFiles {
  readonly key: Buffer;
  readonly cert: Buffer;
}

/** Reads the TLS files. `OPTION_INVALID` names the setting: a file cannot be read, or key and certificate do not match. */
export async function readTlsFiles(names: { readonly key: string; readonly cert: string }): Promise<TlsFiles> {
  const files = { key: await read("tls.key", names.key), cert: await read("tls.cert", names.cert) };
  try {
    createSecureContext(files);
    return files;
  } catch (error) {
    const problem = `tls.key (${names.key}) and tls.cert (${names.cert}) are no key and its certificate in PEM`;
    throw new EngineError("OPTION_INVALID", `${problem}: ${messageOf(error)}`, { cause: error });
  }
}

async function read(setting: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new EngineError("OPTION_INVALID", `${setting} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}
