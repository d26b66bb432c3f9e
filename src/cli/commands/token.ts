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
    .description("Manage API tokens.")
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(deleteCommand());
}

function createCommand(): Command {
  return clientCommand("create", "Create a token and print it once.")
    .argument("<name>")
    .addOption(
      new Option("-r, --role <role>", "permissions of the token")
        .choices(["viewer", "operator", "worker", "admin"])
        .makeOptionMandatory(),
    )
    .option("--expires <time>", "expiry time")
    .addHelpText("after", "\nWith --namespace, the token is bound to that namespace: it acts in no other.")
    .action(async (name: string, { namespace, ...options }: CreateOptions) => {
      const { client, output } = sessionOf(options);
      const expires = options.expires === undefined ? {} : { expiresAt: timeGiven("--expires", options.expires) };
      const made = await client.call("createToken", {
        body: { name, role: options.role, ...(namespace !== undefined && { namespace }), ...expires },
      });
      output.give(made, () => made.token);
      output.warn("Store it now: it is not shown again.");
    });
}

const columns: readonly Column<Token>[] = [
  { title: "token", text: ({ name }) => name },
  { title: "role", text: ({ role }) => role },
  { title: "namespace", text: ({ namespace }) => namespace ?? "any" },
  { title: "created", text: ({ createdAt }) => timeText(createdAt) },
  { title: "expires", text: ({ expiresAt }) => timeText(expiresAt) },
];

function listCommand(): Command {
  return clientCommand("list", "List tokens, without their secrets.").action(async (options: ClientOptions) => {
    const { client, output } = sessionOf(options);
    const { items } = await client.call("listTokens");
    output.list(items, columns, "No tokens.");
  });
}

function deleteCommand(): Command {
  return clientCommand("delete", "Delete a token.")
    .argument("<name>")
    .option("--force", "delete it even if it is the last one")
    .action(async (name: string, options: ClientOptions & { readonly force?: boolean }) => {
      const { client, output } = sessionOf(options);
      const query = options.force === true ? { query: { force: "true" } } : {};
      const answer = await client.call("deleteToken", { params: { name }, ...query });
      output.give(answer, () => `Token ${name} is deleted.`);
    });
}
