import { defineJob, type Job, type JobContext } from "../../src/authoring/job.ts";

/** One call of a job, which ends when the test says so, or when it is told to stop. */
export interface HandCall {
  readonly ctx: JobContext;
  readonly params: unknown;
  /** As the job sees it when it is called. */
  readonly context: Readonly<Record<string, unknown>>;
  finish(output?: unknown): void;
  fail(error: Error): void;
}

/** A job in the hands of the test. */
export class HandJob {
  readonly job: Job;
  readonly calls: HandCall[] = [];
  /** Called as the job starts. */
  onCall: ((call: HandCall) => void) | undefined;
  readonly #waiters = new Set<{ matches: (call: HandCall) => boolean; resolve: (call: HandCall) => void }>();

  constructor(name = "work") {
    this.job = defineJob(name, (params: unknown, ctx) => this.#call(params, ctx));
  }

  /** The first call of that task, or, if `after` is given, the next one after so many; waits for it. */
  async call(taskName: string, options: { instanceId?: string; after?: number } = {}): Promise<HandCall> {
    const { instanceId, after = 0 } = options;
    const isSuch = ({ ctx }: HandCall): boolean =>
      ctx.taskName === taskName && (instanceId === undefined || ctx.instanceId === instanceId);
    const found = this.calls.filter(isSuch)[after];
    if (found !== undefined) return found;
    const { promise, resolve } = Promise.withResolvers<HandCall>();
    this.#waiters.add({ matches: (call) => isSuch(call) && this.calls.filter(isSuch).length === after + 1, resolve });
    return await promise;
  }

  /** What was called so far: task names, in order. */
  get started(): string[] {
    return this.calls.map(({ ctx }) => ctx.taskName);
  }

  #call(params: unknown, ctx: JobContext): Promise<unknown> {
    const { promise, resolve: finish, reject: fail } = Promise.withResolvers<unknown>();
    ctx.signal.addEventListener("abort", () => fail(ctx.signal.reason as Error), { once: true });
    const call: HandCall = { ctx, params, context: ctx.context, finish, fail };
    this.calls.push(call);
    this.onCall?.(call);
    for (const waiter of this.#waiters) {
      if (!waiter.matches(call)) continue;
      this.#waiters.delete(waiter);
      waiter.resolve(call);
    }
    return promise;
  }
}
