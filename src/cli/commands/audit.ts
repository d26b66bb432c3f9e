import type { Command } from "commander";
import type { DataOf } from "../../api/routes.ts";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import { countGiven, timeGiven } from "../given-value.ts";
import type { Column } from "../table.ts";
import { timeText } from "../time-text.ts";

type Line = DataOf<"listAudit">["items"][number];

interface AuditOptions extends ClientOptions {
  readonly who?: string;
  readonly operation?: string;
  readonly target?: string;
  readonly since?: string;
  readonly limit: string;
}

const columns: readonly Column<Line>[] = [
  { title: "at", text: ({ at }) => timeText(at) },
  { title: "who", text: ({ who, role }) => (role === null ? who : `${who} (${role})`) },
  { title: "from", text: ({ address }) => address },
  { title: "operation", text: ({ what }) => what },
  { title: "target", text: ({ target }) => target ?? "" },
  { title: "status", text: ({ status, code }) => (code === undefined ? String(status) : `${status} ${code}`) },
  { title: "times", text: ({ count = 1 }) => (count === 1 ? "" : String(count)), right: true },
  { title: "details", text: ({ details }) => (details === undefined ? "" : JSON.stringify(details)) },
];

export function auditCommand(): Command {
  return clientCommand("audit", "Print the audit log: changes and refused requests, newest first.")
    .option("--who <token>", "only requests of this token; anonymous for requests without one")
    .option("--operation <name>", "only this operation, such as createToken")
    .option("--target <id>", "only entries about this instance, workflow, schedule or token")
    .option("--since <time>", "only entries since this time")
    .option("-n, --limit <count>", "maximum number of entries", "50")
    .action(async (options: AuditOptions) => {
      const { client, output } = sessionOf(options);
      const limit = countGiven("--limit", options.limit);
      const query = {
        limit: Math.min(limit, 1000),
        ...(options.who !== undefined && { who: options.who }),
        ...(options.operation !== undefined && { operation: options.operation }),
        ...(options.target !== undefined && { target: options.target }),
        ...(options.since !== undefined && { since: timeGiven("--since", options.since) }),
      };
      const lines: Line[] = [];
      for await (const line of client.items("listAudit", { query })) {
        lines.push(line);
        if (lines.length >= limit) break;
      }
      output.list(lines, columns, "No audit entries.");
    });
}
