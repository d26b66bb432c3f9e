import type { Command } from "commander";
import type { DataOf } from "../../api/routes.ts";
import { type ClientOptions, clientCommand, type Session, sessionOf } from "../client-command.ts";
import { UsageError } from "../exit-code.ts";
import { choiceGiven, timeGiven } from "../given-value.ts";
import { commandText } from "../program-name.ts";
import { statuses } from "./instances.ts";

const operations = ["pause", "resume", "terminate", "retry", "delete"] as const;
type Operation = (typeof operations)[number];

interface BulkOptions extends ClientOptions {
  readonly workflow?: string;
  readonly status?: string;
  readonly prefix?: string;
  readonly app?: string;
  readonly createdFrom?: string;
  readonly createdTo?: string;
  readonly reason?: string;
  readonly yes?: boolean;
}

interface Filter {
  readonly workflow?: string;
  readonly status?: (typeof statuses)[number][];
  readonly idPrefix?: string;
  readonly app?: string;
  readonly createdFrom?: number;
  readonly createdTo?: number;
}

type Failure = DataOf<"bulkInstances">["failures"][number];

/** Without `--yes` it only counts: nobody terminates a thousand instances by a misspelt filter. */
export function bulkCommand(): Command {
  return clientCommand("bulk", "Pause, resume, terminate, retry or delete all instances that a filter matches.")
    .argument("<operation>", operations.join(", "))
    .option("-w, --workflow <name>", "only instances of this workflow")
    .option("-s, --status <statuses>", `only these statuses, separated by commas: ${statuses.join(", ")}`)
    .option("-p, --prefix <text>", "only instance ids with this prefix")
    .option("--app <name>", "only instances of this application")
    .option("--created-from <time>", "only instances that were created then or later")
    .option("--created-to <time>", "only instances that were created before; default: now")
    .option("-r, --reason <text>", "kept with the instances")
    .option("-y, --yes", "carry it out; without it, only count the instances")
    .action(async (given: string, options: BulkOptions) => {
      const session = sessionOf(options);
      const operation = choiceGiven("the operation", given, operations);
      const filter = filterOf(options);
      if (Object.keys(filter).length === 0) {
        throw new UsageError(
          "bulk needs a filter: --workflow, --status, --prefix, --app, --created-from or --created-to",
        );
      }
      const counted = await session.client.call("countBulk", { body: { operation, filter } });
      const bounded = { ...filter, createdTo: counted.createdTo };
      if (options.yes !== true) return printCount(session, operation, counted);
      await carryOut(session, { operation, filter: bounded, reason: options.reason });
    });
}

function filterOf(options: BulkOptions): Filter {
  const { workflow, prefix, app, createdFrom, createdTo } = options;
  const status = options.status?.split(",").map((each) => choiceGiven("--status", each.trim(), statuses));
  return {
    ...(workflow !== undefined && { workflow }),
    ...(status !== undefined && { status }),
    ...(prefix !== undefined && { idPrefix: prefix }),
    ...(app !== undefined && { app }),
    ...(createdFrom !== undefined && { createdFrom: timeGiven("--created-from", createdFrom) }),
    ...(createdTo !== undefined && { createdTo: timeGiven("--created-to", createdTo) }),
  };
}

function printCount({ output }: Session, operation: Operation, counted: DataOf<"countBulk">): void {
  const { count, isCapped } = counted;
  const matches = `${isCapped ? "More than " : ""}${instances(count)}`;
  output.give(counted, () => `${matches} would be concerned by "${operation}". Add --yes to carry it out.`);
}

/** Carries the operation out page by page; instances that it fails for are listed, and the exit code says so. */
async function carryOut(
  { client, output }: Session,
  { operation, filter, reason }: { operation: Operation; filter: Filter; reason: string | undefined },
): Promise<void> {
  const failures: Failure[] = [];
  let done = 0;
  let cursor: string | undefined;
  do {
    const body = { operation, filter, reason, cursor, limit: 200 };
    const page = await client.call("bulkInstances", { body });
    done += page.instanceIds.length;
    failures.push(...page.failures);
    cursor = page.next ?? undefined;
  } while (cursor !== undefined);
  output.give({ operation, done, failures }, () => `"${operation}" was carried out on ${instances(done)}.`);
  for (const { instanceId, message } of failures) output.warn(`${instanceId}: ${message}`);
  if (failures.length === 0) return;
  output.warn(`See ${commandText("show <instance>", client.url)}.`);
  process.exitCode = 1;
}

function instances(count: number): string {
  return count === 1 ? "1 instance" : `${count} instances`;
}
