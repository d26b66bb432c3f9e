import { Command } from "commander";
import type { DataOf } from "../../api/routes.ts";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import { UsageError } from "../exit-code.ts";
import { countGiven } from "../given-value.ts";
import type { Column } from "../table.ts";

type Domain = DataOf<"listDomains">["items"][number];

interface SetOptions extends ClientOptions {
  readonly priority?: string;
}

export function domainCommand(): Command {
  return new Command("domain")
    .description("The domains of the pool: how many of their tasks run at once.")
    .addCommand(listCommand(), { isDefault: true })
    .addCommand(setCommand());
}

const columns: readonly Column<Domain>[] = [
  { title: "domain", text: ({ domain }) => domain },
  { title: "size", text: ({ size }) => String(size), right: true },
  { title: "priority", text: ({ priority }) => String(priority), right: true },
  { title: "running", text: ({ running }) => String(running), right: true },
  { title: "waiting", text: ({ waiting }) => String(waiting), right: true },
];

function listCommand(): Command {
  return clientCommand("list", "The domains.").action(async (options: ClientOptions) => {
    const { client, output } = sessionOf(options);
    const { items } = await client.call("listDomains");
    output.list(items, columns, "No domains.");
  });
}

function setCommand(): Command {
  return clientCommand("set", "Declares a domain, or changes its size and priority.")
    .argument("<name>")
    .argument("<size>", "how many of its tasks run at once")
    .option("-p, --priority <number>", "higher goes first; default as it is, or 0 for a new one")
    .action(async (name: string, sizeText: string, options: SetOptions) => {
      const { client, output } = sessionOf(options);
      const size = countGiven("<size>", sizeText, 10_000);
      const priority = priorityGiven(options.priority);
      const body = { size, ...(priority !== undefined && { priority }) };
      await client.call("resizeDomain", { params: { name }, body });
      output.give({ domain: name, ...body }, () => `${name} has ${size} ${size === 1 ? "slot" : "slots"}.`);
    });
}

function priorityGiven(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[+-]?\d{1,7}$/.test(text)) return Number(text);
  throw new UsageError(`--priority must be a whole number, got "${text}"`);
}
