import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { defineJob, type Job } from "../authoring/job.ts";
import { inScope, type JobScope } from "./job-scope.ts";
import { textOrReference } from "./reference.ts";
import { type CommandResult, runCommand } from "./running-command.ts";
import { defaultSecretRules, type SecretRules } from "./secret-rules.ts";

const surroundings = {
  cwd: z.string().min(1).max(4096).optional().meta({ description: "The working folder; default: that of the worker." }),
  env: z
    .record(z.string().regex(/^[A-Za-z_]\w*$/), textOrReference)
    .default({})
    .meta({ description: "Environment variables of the command, besides PATH, HOME, USER, LANG, TZ and TMPDIR." }),
  stdin: textOrReference.optional(),
  timeoutSeconds: z.number().positive().max(2_000_000).default(3600),
  outputBytesMax: z.number().int().min(0).max(8_388_608).default(65_536),
  exitCodes: z.array(z.number().int().min(0).max(255)).min(1).default([0]),
};

const shellInput = z.strictObject({ command: z.string().min(1), ...surroundings });

const scriptInput = z.strictObject({
  language: z.enum(["node", "python", "bash"]),
  source: z.string().min(1),
  args: z.array(textOrReference).default([]),
  ...surroundings,
});

/** The command, and its environment; docs/jobs.md has the fields. */
export type ShellParams = z.output<typeof shellInput>;
/** The script, and its environment; docs/jobs.md has the fields. */
export type ScriptParams = z.output<typeof scriptInput>;

/** Options of the jobs that run commands. */
export interface CommandJobOptions {
  readonly secrets?: SecretRules;
}

/** The job `shell`: runs a command of `/bin/sh`. It lets everybody who may save a workflow run commands as the worker's user. */
export function shellJob({ secrets = defaultSecretRules }: CommandJobOptions = {}): Job<
  ShellParams,
  CommandResult,
  z.input<typeof shellInput>
> {
  const description = "Runs a shell command on the worker, and gives its exit code and output.";
  return defineJob(
    "shell",
    { input: shellInput, description },
    inScope(secrets, (params: ShellParams, scope) =>
      run({ file: "/bin/sh", args: ["-c", params.command] }, params, scope),
    ),
  );
}

const languages = {
  node: { file: process.execPath, name: "script.mjs" },
  python: { file: "python3", name: "script.py" },
  bash: { file: "bash", name: "script.sh" },
} as const;

/** The job `script`: runs a program in Node.js, Python or bash. The same warning applies as to `shellJob`. */
export function scriptJob({ secrets = defaultSecretRules }: CommandJobOptions = {}): Job<
  ScriptParams,
  CommandResult,
  z.input<typeof scriptInput>
> {
  const description = "Runs a script in Node.js, Python or bash on the worker, and gives its exit code and output.";
  return defineJob(
    "script",
    { input: scriptInput, description },
    inScope(secrets, (params: ScriptParams, scope) => runScript(params, scope)),
  );
}

async function runScript(params: ScriptParams, scope: JobScope): Promise<CommandResult> {
  const args = await Promise.all(params.args.map((each) => scope.references.text(each)));
  const { file, name } = languages[params.language];
  const folder = await mkdtemp(join(tmpdir(), "heddle-script-"));
  try {
    const path = join(folder, name);
    await writeFile(path, params.source, { mode: 0o600 });
    return await run({ file, args: [path, ...args] }, params, scope);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type Surroundings = Pick<ShellParams, "cwd" | "env" | "stdin" | "timeoutSeconds" | "outputBytesMax" | "exitCodes">;

async function run(
  { file, args }: { file: string; args: readonly string[] },
  { cwd, env, stdin, timeoutSeconds, outputBytesMax, exitCodes }: Surroundings,
  scope: JobScope,
): Promise<CommandResult> {
  const { references } = scope;
  return await runCommand(
    {
      file,
      args,
      cwd,
      env: await references.texts(env),
      stdin: stdin === undefined ? undefined : await references.text(stdin),
      timeoutSeconds,
      outputBytesMax,
      exitCodes,
    },
    scope,
  );
}
