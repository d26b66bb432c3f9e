/** A member of a cluster in a process of its own, whose jobs say where they ran. Runs instances as its parent says. */
import { setTimeout as sleep } from "node:timers/promises";
import { defineJob, Engine, TaskBuilder, type Workflow, WorkflowBuilder } from "../../src/index.ts";
import { nats } from "../../src/nats.ts";
import { storage } from "../../src/storage.ts";

export interface PoolMemberPlace {
  readonly name: string;
  readonly storage: string;
  /** The address of a NATS server. */
  readonly bus: string;
  readonly roles: readonly ("server" | "worker")[];
  /** Tasks wait until the parent says `open`. */
  readonly isHeld?: boolean;
}

export const taskCount = 40;
export const taskMs = 200;
export const slotsOfMember = 4;

/** The parent's orders, by their number. */
export type PoolQuestion = { readonly number: number } & (
  | { readonly type: "run"; readonly id: string }
  | { readonly type: "shards" }
  | { readonly type: "open" }
  | { readonly type: "stop" }
);

export interface PoolAnswer {
  readonly number: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** Sent when a task starts. */
export interface TaskStart {
  readonly type: "started";
}

function wide(): Workflow {
  const builder = new WorkflowBuilder().withName("wide");
  for (let number = 0; number < taskCount; number++) {
    builder.withTask(new TaskBuilder(`t${number}`).withJobFunction("where"));
  }
  return builder.build();
}

async function main({ name, storage: address, bus, roles, isHeld = false }: PoolMemberPlace): Promise<void> {
  const opened = Promise.withResolvers<void>();
  if (!isHeld) opened.resolve();
  const where = defineJob("where", async () => {
    process.send?.({ type: "started" } satisfies TaskStart);
    await opened.promise;
    await sleep(taskMs);
    return name;
  });
  const engine = new Engine({
    storage: await storage(address),
    jobs: [where],
    runsJobs: roles.includes("worker"),
    poolSize: slotsOfMember,
    maxConcurrentTasks: taskCount,
    cluster: { name, shards: 8, bus: nats(bus), ownsShards: roles.includes("server") },
    logger: { debug: ignore, info: ignore, warn: ignore, error: report },
  });
  const answerTo = async (question: PoolQuestion): Promise<unknown> => {
    if (question.type === "shards") return engine.members().find(({ isSelf }) => isSelf)?.shards;
    if (question.type === "open") return opened.resolve();
    if (question.type === "stop") return await engine.stop();
    const run = await engine.submitWorkflow(wide(), { instanceId: question.id });
    return await run.result();
  };
  process.on("message", (question: PoolQuestion) => {
    const { number } = question;
    answerTo(question).then(
      (value) => process.send?.({ number, value } satisfies PoolAnswer),
      (error: unknown) => process.send?.({ number, error: String(error) } satisfies PoolAnswer),
    );
  });
  await engine.start();
  process.send?.({ number: 0 } satisfies PoolAnswer);
}

function ignore(): void {}

function report(fields: object, message: string): void {
  process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
}

const [, , place] = process.argv;
if (import.meta.main && place !== undefined) await main(JSON.parse(place) as PoolMemberPlace);
