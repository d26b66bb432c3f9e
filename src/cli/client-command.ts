import { Command, Option } from "commander";
import { HeddleClient } from "../client/client.ts";
import { readGiven } from "./given-value.ts";
import { Output } from "./output.ts";
import { defaultUrl } from "./program-name.ts";

/** Options of every command that talks to a server. */
export interface ClientOptions {
  readonly url: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly json?: boolean;
}

export interface Session {
  readonly client: HeddleClient;
  /** The API token of the client, for commands that also open a connection of their own. */
  readonly token: string | undefined;
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
    .addOption(new Option("--url <url>", "server URL (HEDDLE_URL)").default(defaultUrl()))
    .addOption(new Option("--token <token>", "API token").env("HEDDLE_TOKEN"))
    .option("--token-file <file>", "file with the API token; other users of the machine can see flags")
    .option("--json", "print one JSON document");
}

/** Reads the API token; the file takes precedence. Only `sessionOf` calls this, so that no command can forget the file. */
function tokenOf({ token, tokenFile }: ClientOptions): string | undefined {
  const given = tokenFile === undefined ? token : readGiven("--token-file", tokenFile).trim();
  return given === "" ? undefined : given;
}

/** Opens a session. Commands that wait through restarts of the server pass a larger `retriesMax`. */
export function sessionOf(options: ClientOptions, { retriesMax = 2 }: { retriesMax?: number } = {}): Session {
  const { url, json } = options;
  const token = tokenOf(options);
  const client = new HeddleClient({
    url: url === "" ? defaultUrl() : url,
    retriesMax,
    ...(token !== undefined && { token }),
  });
  return { client, token, output: new Output({ json: json === true }) };
}
