import { Command, Option } from "commander";
import type { DataOf } from "../../api/routes.ts";
import type { Call } from "../../client/call.ts";
import type { Timing as StoredTiming } from "../../schedules/schedule-spec.ts";
import { type ClientOptions, clientCommand, type Session, sessionOf } from "../client-command.ts";
import { UsageError } from "../exit-code.ts";
import { countGiven, durationGiven, jsonGiven, timeGiven } from "../given-value.ts";
import { commandText } from "../program-name.ts";
import type { Column } from "../table.ts";
import { durationText, timeText } from "../time-text.ts";

type NewSchedule = NonNullable<Call<"createSchedule">["body"]>;
type Timing = NewSchedule["every"];

interface TimingOptions {
  readonly cron?: string;
  readonly timeZone?: string;
  readonly rate?: string;
  readonly delay?: string;
}

interface CreateOptions extends ClientOptions, TimingOptions {
  readonly workflow?: string;
  readonly input?: string;
  readonly job?: string;
  readonly params?: string;
  readonly whenBusy?: NonNullable<NewSchedule["whenBusy"]>;
  readonly whenMissed?: NonNullable<NewSchedule["whenMissed"]>;
  readonly jitter?: string;
  readonly start?: string;
  readonly end?: string;
}

interface PreviewOptions extends ClientOptions, TimingOptions {
  readonly from?: string;
  readonly count: string;
}

interface BackfillOptions extends ClientOptions {
  readonly from: string;
  readonly to: string;
  readonly parallelism: string;
}

type ScheduleRow = DataOf<"listSchedules">["items"][number];

export function scheduleCommand(): Command {
  return new Command("schedule")
    .description("Manage schedules.")
    .addCommand(listCommand())
    .addCommand(createCommand())
    .addCommand(act("pause", "Pause a schedule.", ({ client }, params) => client.call("pauseSchedule", { params })))
    .addCommand(
      act("resume", "Resume a paused schedule from now on.", ({ client }, params) =>
        client.call("resumeSchedule", { params }),
      ),
    )
    .addCommand(
      act("delete", "Delete a schedule; runs that were started continue.", ({ client }, params) =>
        client.call("deleteSchedule", { params }),
      ),
    )
    .addCommand(act("trigger", "Start a run now.", ({ client }, params) => client.call("triggerSchedule", { params })))
    .addCommand(previewCommand())
    .addCommand(backfillCommand());
}

const columns: readonly Column<ScheduleRow>[] = [
  { title: "schedule", text: ({ scheduleId }) => scheduleId },
  { title: "starts", text: ({ spec }) => startedBy(spec) },
  { title: "every", text: ({ spec }) => timingText(spec.every) },
  { title: "enabled", text: ({ isEnabled }) => (isEnabled ? "yes" : "paused") },
  { title: "next", text: ({ nextAt }) => timeText(nextAt) },
  { title: "runs", text: ({ runs }) => String(runs), right: true },
];

function timingText(every: StoredTiming): string {
  if ("cron" in every) return `${every.cron}${every.timeZone === undefined ? "" : ` (${every.timeZone})`}`;
  if ("rateMs" in every) return durationText(every.rateMs);
  if ("delayMs" in every) return `${durationText(every.delayMs)} after the end`;
  return `${durationText(every.daily.everyMs)} from ${every.daily.from} to ${every.daily.to}`;
}

function listCommand(): Command {
  return clientCommand("list", "List schedules with their next due times.").action(async (options: ClientOptions) => {
    const { client, output } = sessionOf(options);
    const { items } = await client.call("listSchedules");
    output.list(items, columns, `No schedules. ${commandText("schedule create", client.url)} creates one.`);
  });
}

function withTiming(command: Command): Command {
  return command
    .option("--cron <expression>", "cron expression: five fields (Unix), or six or seven (Quartz)")
    .option("--time-zone <name>", "time zone of the cron expression; default: the server's")
    .option("--rate <time>", "interval from start to start: 500ms, 10s, 5m, 2h, 1d")
    .option("--delay <time>", "interval from the end of a run to the next start");
}

function timingOf({ cron, timeZone, rate, delay }: TimingOptions): Timing {
  const given = [cron, rate, delay].filter((each) => each !== undefined);
  if (given.length !== 1) throw new UsageError("give one of --cron, --rate and --delay");
  if (cron !== undefined) return { cron, ...(timeZone !== undefined && { timeZone }) };
  if (timeZone !== undefined) throw new UsageError("--time-zone goes with --cron alone");
  return rate === undefined
    ? { delayMs: durationGiven("--delay", delay ?? "") }
    : { rateMs: durationGiven("--rate", rate) };
}

type Target = Pick<NewSchedule, "workflow" | "input" | "job" | "params">;

function startedBy({ workflow, job }: Target): string {
  return workflow ?? `job ${job}`;
}

function targetOf({ workflow, input, job, params }: CreateOptions): Target {
  if (workflow !== undefined && job === undefined) {
    if (params !== undefined) throw new UsageError("--params goes with --job; a workflow has an --input");
    return { workflow, ...(input !== undefined && { input: jsonGiven("--input", input) }) };
  }
  if (workflow !== undefined || job === undefined) throw new UsageError("give one of --workflow and --job");
  if (input !== undefined) throw new UsageError("--input goes with --workflow; a job has --params");
  return { job, ...(params !== undefined && { params: jsonGiven("--params", params) }) };
}

function createCommand(): Command {
  const command = clientCommand("create", "Create a schedule.")
    .argument("<schedule>", "schedule id")
    .option("-w, --workflow <name>", "workflow to start")
    .option("-i, --input <json>", "input of each workflow run: JSON, @file or - for standard input")
    .option("--job <name>", "job to start, without a workflow")
    .option("-p, --params <json>", "parameters of the job: JSON, @file or - for standard input")
    .addOption(
      new Option("--when-busy <policy>", "what to do if the previous run is still active").choices([
        "skip",
        "queue",
        "allow",
        "cancel-previous",
      ]),
    )
    .addOption(
      new Option("--when-missed <policy>", "which missed due times to run after a downtime").choices([
        "once",
        "all",
        "none",
      ]),
    )
    .option("--jitter <time>", "maximum random delay of each run")
    .option("--start <time>", "first possible due time")
    .option("--end <time>", "last possible due time");
  return withTiming(command).action(async (scheduleId: string, options: CreateOptions) => {
    const { client, output } = sessionOf(options);
    const { whenBusy, whenMissed, jitter, start, end } = options;
    const target = targetOf(options);
    const body: NewSchedule = {
      scheduleId,
      ...target,
      every: timingOf(options),
      ...(whenBusy !== undefined && { whenBusy }),
      ...(whenMissed !== undefined && { whenMissed }),
      ...(jitter !== undefined && { jitterMs: durationGiven("--jitter", jitter) }),
      ...(start !== undefined && { startAt: timeGiven("--start", start) }),
      ...(end !== undefined && { endAt: timeGiven("--end", end) }),
    };
    const made = await client.call("createSchedule", { body });
    output.give(made, () => `Schedule ${scheduleId} starts ${startedBy(target)}.`);
  });
}

const past: Readonly<Record<string, string>> = { pause: "paused", resume: "resumed", delete: "deleted" };

function act(
  name: string,
  description: string,
  call: (session: Session, params: { id: string }) => Promise<unknown>,
): Command {
  return clientCommand(name, description)
    .argument("<schedule>")
    .action(async (id: string, options: ClientOptions) => {
      const session = sessionOf(options);
      const answer = await call(session, { id });
      const started = (answer as { instanceId?: string }).instanceId;
      session.output.give({ scheduleId: id, ...(answer as object) }, () =>
        started === undefined ? `Schedule ${id} is ${past[name] ?? name}.` : `Started ${started}.`,
      );
    });
}

function previewCommand(): Command {
  const command = clientCommand("preview", "Show the next due times of a cron expression, rate or delay.")
    .option("--from <time>", "start of the preview; default: now")
    .option("-n, --count <count>", "number of due times", "10");
  return withTiming(command).action(async (options: PreviewOptions) => {
    const { client, output } = sessionOf(options);
    const { times } = await client.call("previewSchedule", {
      body: {
        every: timingOf(options),
        count: countGiven("--count", options.count, 1000),
        ...(options.from !== undefined && { from: timeGiven("--from", options.from) }),
      },
    });
    output.give(times, () => (times.length === 0 ? "No due times." : times.map(timeText).join("\n")));
  });
}

function backfillCommand(): Command {
  return clientCommand("backfill", "Run the due times of a past range.")
    .argument("<schedule>")
    .requiredOption("--from <time>", "start of the range")
    .requiredOption("--to <time>", "end of the range")
    .option("--parallelism <count>", "maximum number of runs at a time", "1")
    .action(async (id: string, options: BackfillOptions) => {
      const { client, output } = sessionOf(options);
      const body = {
        from: timeGiven("--from", options.from),
        to: timeGiven("--to", options.to),
        parallelism: countGiven("--parallelism", options.parallelism, 1000),
      };
      const answer = await client.call("backfillSchedule", { params: { id }, body });
      output.give(answer, () => `Backfill of schedule ${id}: ${answer.runs} runs.`);
    });
}
