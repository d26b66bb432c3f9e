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
    .description("Manage domains: concurrency limits for groups of tasks.")
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
  return clientCommand("list", "List domains.").action(async (options: ClientOptions) => {
    const { client, output } = sessionOf(options);
    const { items } = await client.call("listDomains");
    output.list(items, columns, "No domains.");
  });
}

function setCommand(): Command {
  return clientCommand("set", "Declare a domain, or change its size and priority.")
    .argument("<name>")
    .argument("<size>", "maximum number of its tasks at a time")
    .option("-p, --priority <number>", "higher runs first; default: unchanged, or 0 for a new domain")
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
