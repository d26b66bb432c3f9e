import { readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, sep } from "node:path";
import { JobFailure } from "./job-failure.ts";

/** The secrets that a worker gives to its jobs. Anybody who may save a workflow can send any of these anywhere. */
export interface SecretRules {
  /** Names of environment variables; one that ends with * stands for all that begin so. */
  readonly variables: readonly string[];
  /** Folders whose files are secrets. */
  readonly folders: readonly string[];
}

export const defaultSecretRules: SecretRules = { variables: ["HEDDLE_SECRET_*"], folders: ["/run/secrets"] };

const bytesMax = 65_536;

export function secretOfVariable({ variables }: SecretRules, name: string): string {
  if (!variables.some((pattern) => isMatch(pattern, name))) {
    throw refused(
      `the variable ${name} is not among the secrets that this worker gives to jobs (${listed(variables)})`,
    );
  }
  const value = process.env[name];
  if (value === undefined || value === "") throw refused(`the variable ${name} is not set on this worker`);
  return value;
}

export async function secretOfFile({ folders }: SecretRules, path: string): Promise<string> {
  if (!isAbsolute(path)) throw refused(`the file ${path} of a secret must have an absolute path`);
  const file = await realpath(path).catch(() => undefined);
  const allowed = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
  // A missing file is refused in the same words, so that nobody can ask which files exist.
  if (file === undefined || !allowed.some((folder) => folder !== undefined && file.startsWith(folder + sep))) {
    throw refused(`the file ${path} is not in a folder of secrets of this worker (${listed(folders)})`);
  }
  const { size } = await stat(file);
  if (size > bytesMax) throw refused(`the file ${path} has ${size} bytes, a secret has at most ${bytesMax}`);
  const text = (await readFile(file, "utf8")).replace(/\r?\n$/, "");
  if (text === "") throw refused(`the file ${path} is empty`);
  return text;
}

function isMatch(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? "there are none" : names.join(", ");
}

function refused(message: string): JobFailure {
  return new JobFailure("SecretRefused", message, { retryable: false });
}
