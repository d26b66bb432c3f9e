import { Command, Option } from "commander";
import type { DataOf } from "../../api/routes.ts";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import { timeGiven } from "../given-value.ts";
import type { Column } from "../table.ts";
import { timeText } from "../time-text.ts";

type Token = DataOf<"listTokens">["items"][number];

interface CreateOptions extends ClientOptions {
  readonly role: Token["role"];
  readonly expires?: string;
}

export function tokenCommand(): Command {
  return new Command("token")
    .description("Manages API tokens.")
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(deleteCommand());
}

function createCommand(): Command {
  return clientCommand("create", "Makes a token; it is shown once.")
    .argument("<name>")
    .addOption(
      new Option("-r, --role <role>", "what it may do")
        .choices(["viewer", "operator", "worker", "admin"])
        .makeOptionMandatory(),
    )
    .option("--expires <time>", "it is let in until then")
    .action(async (name: string, options: CreateOptions) => {
      const { client, output } = sessionOf(options);
      const expires = options.expires === undefined ? {} : { expiresAt: timeGiven("--expires", options.expires) };
      const made = await client.call("createToken", { body: { name, role: options.role, ...expires } });
      output.give(made, () => made.token);
      output.warn("Keep it: it is not shown again.");
    });
}

const columns: readonly Column<Token>[] = [
  { title: "token", text: ({ name }) => name },
  { title: "role", text: ({ role }) => role },
  { title: "created", text: ({ createdAt }) => timeText(createdAt) },
  { title: "expires", text: ({ expiresAt }) => timeText(expiresAt) },
];

function listCommand(): Command {
  return clientCommand("list", "The tokens, without their secrets.").action(async (options: ClientOptions) => {
    const { client, output } = sessionOf(options);
    const { items } = await client.call("listTokens");
    output.list(items, columns, "No tokens.");
  });
}

function deleteCommand(): Command {
  return clientCommand("delete", "The token is no longer let in.")
    .argument("<name>")
    .option("--force", "also the last one")
    .action(async (name: string, options: ClientOptions & { readonly force?: boolean }) => {
      const { client, output } = sessionOf(options);
      const query = options.force === true ? { query: { force: "true" } } : {};
      const answer = await client.call("deleteToken", { params: { name }, ...query });
      output.give(answer, () => `Token ${name} is no longer let in.`);
    });
}
