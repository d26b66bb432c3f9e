import { Command, Option } from "commander";
import { HeddleClient } from "../client/client.ts";
import { HeddleClientError } from "../client/client-error.ts";
import { readGiven } from "./given-value.ts";
import { Output } from "./output.ts";
import { fallbackUrl, urlHere } from "./program-name.ts";

/** Options of every command that talks to a server. */
export interface ClientOptions {
  readonly url?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly namespace?: string;
  readonly json?: boolean;
}

export interface Session {
  readonly client: HeddleClient;
  /** The API token of the client, for commands that also open a connection of their own. */
  readonly token: string | undefined;
  readonly namespace: string | undefined;
  readonly output: Output;
}

/** Removes the API token from the environment, where every job could read it. An empty variable counts as not set. */
export function takeTokenOfEnvironment(): string | undefined {
  const token = process.env["HEDDLE_TOKEN"];
  delete process.env["HEDDLE_TOKEN"];
  return token === "" ? undefined : token;
}

export function clientCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option("--url <url>", `server URL (HEDDLE_URL); default: the server of ./.heddle, or ${fallbackUrl}`)
    .addOption(new Option("--token <token>", "API token").env("HEDDLE_TOKEN"))
    .option("--token-file <file>", "file with the API token; other users of the machine can see flags")
    .addOption(new Option("--namespace <name>", "namespace to act in").env("HEDDLE_NAMESPACE"))
    .option("--json", "print one JSON document");
}

/** Reads the API token; the file takes precedence. Only `sessionOf` calls this, so that no command can forget the file. */
function tokenOf({ token, tokenFile }: ClientOptions): string | undefined {
  const given = tokenFile === undefined ? token : readGiven("--token-file", tokenFile).trim();
  return given === "" ? undefined : given;
}

function urlOf({ url = "" }: ClientOptions): string {
  const found = url === "" ? urlHere() : url;
  if (found !== undefined) return found;
  throw new HeddleClientError("no server runs on the data of this folder, ./.heddle.", { code: "UNREACHABLE" });
}

/** Opens a session. Commands that wait through restarts of the server pass a larger `retriesMax`. */
export function sessionOf(options: ClientOptions, { retriesMax = 2 }: { retriesMax?: number } = {}): Session {
  const namespace = options.namespace === "" ? undefined : options.namespace;
  const token = tokenOf(options);
  const client = new HeddleClient({
    url: urlOf(options),
    retriesMax,
    ...(token !== undefined && { token }),
    ...(namespace !== undefined && { namespace }),
  });
  return { client, token, namespace, output: new Output({ json: options.json === true }) };
}
