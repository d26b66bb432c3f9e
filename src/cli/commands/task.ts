import { Command } from "commander";
import { type ClientOptions, clientCommand, sessionOf } from "../client-command.ts";
import { jsonGiven } from "../given-value.ts";

interface CompleteOptions extends ClientOptions {
  readonly output?: string;
}

interface FailOptions extends ClientOptions {
  readonly message: string;
  readonly type?: string;
  readonly final?: boolean;
}

/** Commands for tasks that are completed from outside. */
export function taskCommand(): Command {
  return new Command("task")
    .description("Complete or fail a task from outside, by the token that its job got from completeLater.")
    .addCommand(completeCommand())
    .addCommand(failCommand());
}

function completeCommand(): Command {
  return clientCommand("complete", "Complete a task from outside.")
    .argument("<token>")
    .option("-o, --output <json>", "output of the task: JSON, @file or - for standard input")
    .action(async (token: string, options: CompleteOptions) => {
      const { client, output } = sessionOf(options);
      const value = options.output === undefined ? undefined : jsonGiven("--output", options.output);
      const completed = await client.completeTask(token, value);
      output.give(completed, () => `The task of ${completed.instanceId} is completed.`);
    });
}

function failCommand(): Command {
  return clientCommand("fail", "Fail a task from outside; its retry policy applies.")
    .argument("<token>")
    .requiredOption("-m, --message <text>", "why it failed")
    .option("--type <name>", "name of the error, which retry policies compare")
    .option("--final", "no other attempt follows")
    .action(async (token: string, options: FailOptions) => {
      const { client, output } = sessionOf(options);
      const { message, type, final } = options;
      const failed = await client.failTask(token, {
        message,
        ...(type !== undefined && { type }),
        ...(final === true && { retryable: false }),
      });
      output.give(failed, () => `The attempt of ${failed.instanceId} has failed.`);
    });
}
