import { type Command, Option } from "commander";
import type { ClientOptions } from "./client-command.ts";

export interface ImportFromOptions extends ClientOptions {
  readonly from?: "powerjob" | "tis";
  readonly app?: string;
  readonly to?: string;
  readonly timeZone?: string;
  readonly schedules?: "disabled" | "enabled" | "none";
}

export function withImportFromOptions(command: Command): Command {
  return command
    .addOption(new Option("--from <system>", "the system to import from").choices(["powerjob", "tis"]))
    .option("--app <name>", "import the workflows of this app of PowerJob alone")
    .option("--to <folder>", "write the definitions as files into a new folder, instead of saving them at the server")
    .option("--time-zone <name>", "time zone of cron expressions; default: the server's")
    .addOption(
      new Option(
        "--schedules <how>",
        "disabled: save cron expressions and enable none; enabled: enable those that are enabled in PowerJob; none",
      )
        .choices(["disabled", "enabled", "none"])
        .default("disabled"),
    );
}
