import { Command, Option } from "commander";
import { HeddleClient } from "../client/client.ts";
import { readGiven } from "./given-value.ts";
import { Output } from "./output.ts";
import { defaultUrl } from "./program-name.ts";

/** What every command has that talks to a server. */
export interface ClientOptions {
  readonly url: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly json?: boolean;
}

export interface Session {
  readonly client: HeddleClient;
  /** What the client sends, for a command that also connects another way. */
  readonly token: string | undefined;
  readonly output: Output;
}

/** Takes it out of the environment, where every job could read it. A variable that is set to nothing is not set. */
export function takeTokenOfEnvironment(): string | undefined {
  const token = process.env["HEDDLE_TOKEN"];
  delete process.env["HEDDLE_TOKEN"];
  return token === "" ? undefined : token;
}

export function clientCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .addOption(new Option("--url <url>", "the server's address (HEDDLE_URL)").default(defaultUrl()))
    .addOption(new Option("--token <token>", "API token").env("HEDDLE_TOKEN"))
    .option("--token-file <file>", "a file that holds the API token: flags can be seen by other users of the machine")
    .option("--json", "one JSON document instead of words");
}

/** What the file holds goes first. Only `sessionOf` asks, so that no command can forget the file. */
function tokenOf({ token, tokenFile }: ClientOptions): string | undefined {
  const given = tokenFile === undefined ? token : readGiven("--token-file", tokenFile).trim();
  return given === "" ? undefined : given;
}

/** A command that waits through restarts of the server is more patient than one that asks once. */
export function sessionOf(options: ClientOptions, patience: { retriesMax?: number } = {}): Session {
  const { url, json } = options;
  const token = tokenOf(options);
  const client = new HeddleClient({
    url: url === "" ? defaultUrl() : url,
    retriesMax: patience.retriesMax ?? 2,
    ...(token !== undefined && { token }),
  });
  return { client, token, output: new Output({ json: json === true }) };
}
