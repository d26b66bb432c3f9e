import { SettingCheck } from "../authoring/setting-check.ts";
import { preview } from "../base/preview.ts";

/** What a mock has to know of the job that it stands in for. */
interface Mockable {
  readonly name: string;
  readonly fn: (params: never, ctx: never) => unknown;
}

export type MockedJob<J extends Mockable = Mockable> = J & {
  /** What it was called with, attempt by attempt. */
  readonly calls: readonly Parameters<J["fn"]>[0][];
};

/**
 * A job of the same name and input that does something else, on the event loop. `failures`: so many attempts fail before
 * one succeeds.
 *
 * ```ts
 * const charged = mockJob(charge, ({ amount }) => ({ receipt: `r-${amount}` }), { failures: 2 });
 * ```
 */
export function mockJob<J extends Mockable>(
  job: J,
  fn: J["fn"],
  options: { readonly failures?: number } = {},
): MockedJob<J> {
  const check = new SettingCheck("OPTION_INVALID", `the mock of job ${preview(job.name)}`);
  check.options(options, { failures: true });
  const { failures = 0 } = options;
  check.wholeNumber("failures", failures, 0);
  const calls: Parameters<J["fn"]>[0][] = [];
  return Object.freeze({
    ...job,
    isolation: "inline",
    source: undefined,
    calls,
    fn: (params: never, ctx: never): unknown => {
      calls.push(params);
      if (calls.length <= failures) {
        throw new Error(`mocked failure ${calls.length} of ${failures} of job "${job.name}"`);
      }
      return fn(params, ctx);
    },
  });
}
