import { Command } from "commander";
import { readFileSync } from "node:fs";
import { clusterCommand } from "../commands/cluster.ts";
import { domainCommand } from "../commands/domain.ts";
import { completionCommand } from "../commands/completion.ts";
import { devCommand } from "../commands/dev.ts";
import { initCommand } from "../commands/init.ts";
import { jobCommand } from "../commands/job.ts";
import { listCommand, showCommand } from "../commands/instances.ts";
import { logsCommand } from "../commands/logs.ts";
import { instanceActionCommands } from "../commands/instance-actions.ts";
import { instanceAnswerCommands } from "../commands/instance-answers.ts";
import { instanceRepairCommands } from "../commands/instance-repairs.ts";
import { bulkCommand } from "../commands/bulk.ts";
import { runCommand, submitCommand } from "../commands/run.ts";
import { scheduleCommand } from "../commands/schedule.ts";
import { serverCommand } from "../commands/server.ts";
import { auditCommand } from "../commands/audit.ts";
import { taskCommand } from "../commands/task.ts";
import { tokenCommand } from "../commands/token.ts";
import { shadowCommand } from "../commands/shadow.ts";
import { storeCommand } from "../commands/store.ts";
import { exportCommand, importCommand } from "../commands/transfer.ts";
import { workerCommand } from "../commands/worker.ts";
import { workflowCommand } from "../commands/workflow.ts";
import type { Doors } from "../doors.ts";

export function makeProgram(doors: Doors): Command {
  const program = new Command("heddle")
    .description("Run durable workflows: DAGs and code that survive crashes.")
    .version(versionOfPackage())
    .option("--verbose", "print the stack trace of an error")
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 failed or refused, 2 usage, 3 not reachable, 4 not allowed, 130 interrupted.",
    );
  const commands = [
    devCommand(doors),
    initCommand(),
    runCommand(),
    submitCommand(),
    listCommand(),
    showCommand(),
    logsCommand(),
    ...instanceAnswerCommands(),
    ...instanceActionCommands(),
    ...instanceRepairCommands(),
    bulkCommand(),
    taskCommand(),
    jobCommand(),
    scheduleCommand(),
    workflowCommand(),
    clusterCommand(),
    domainCommand(),
    tokenCommand(),
    auditCommand(),
    serverCommand(doors),
    workerCommand(),
    storeCommand(doors),
    exportCommand(doors),
    importCommand(doors),
    shadowCommand(doors),
    completionCommand(() => program),
  ];
  for (const command of commands) program.addCommand(command);
  for (const command of withChildren(program)) {
    command.exitOverride().showHelpAfterError("(use --help for usage)").showSuggestionAfterError();
    // Accepted after the command too, where people write it.
    if (command !== program) command.option("--verbose", "print the stack trace of an error");
  }
  return program;
}

function withChildren(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withChildren)];
}

function versionOfPackage(): string {
  const text = readFileSync(new URL("../../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
