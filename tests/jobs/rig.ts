import type { TestContext } from "node:test";
import { Engine, type Job, type TaskLogLine, type WorkflowController } from "../../src/index.ts";
import { silentLogger } from "../../src/base/logger.ts";
import { memoryStore } from "../../src/testing.ts";

/** An engine with the given jobs, and the log lines that they have left. */
export class JobsRig {
  readonly engine: Engine;
  readonly lines: TaskLogLine[] = [];

  private constructor(jobs: readonly Job[]) {
    this.engine = new Engine({
      storage: memoryStore(),
      jobs,
      logger: silentLogger,
      onTaskLog: (line) => this.lines.push(line),
    });
  }

  static async start(t: TestContext, jobs: readonly Job[]): Promise<JobsRig> {
    const rig = new JobsRig(jobs);
    await rig.engine.start();
    t.after(() => rig.engine.stop());
    return rig;
  }

  async begin(job: string, params: unknown): Promise<WorkflowController> {
    return await this.engine.runJob(job, params, { timeoutSeconds: 60 });
  }

  /** The output of the job. */
  async run<Output = Record<string, unknown>>(job: string, params: unknown): Promise<Output> {
    const controller = await this.begin(job, params);
    return ((await controller.result()) as Record<string, Output>)[job] as Output;
  }

  /** The failure of the job: its type, message, and whether it may be retried; and everything that the instance has left. */
  async fail(
    job: string,
    params: unknown,
  ): Promise<{ type: string; message: string; retryable: boolean; trace: string }> {
    const controller = await this.begin(job, params);
    await controller.result().then(
      () => Promise.reject(new Error(`${job} succeeded`)),
      () => undefined,
    );
    const history = await this.engine.getWorkflowInstanceHistory(controller.instanceId);
    const trace = JSON.stringify([history, this.lines]);
    const failed = history.flatMap(({ events }) => events).find((event) => event.type === "TaskFailed");
    if (failed?.type !== "TaskFailed") throw new Error(`no failure in ${trace}`);
    return { ...failed.failure, trace };
  }
}
