import { SettingCheck } from "../authoring/setting-check.ts";
import { preview } from "../base/preview.ts";

/** The parts of a job that its mock needs. */
interface Mockable {
  readonly name: string;
  readonly fn: (params: never, ctx: never) => unknown;
}

/** A job in place of another, which remembers the params of its calls. */
export type MockedJob<J extends Mockable = Mockable> = J & {
  /** The parameters of each call, attempt by attempt. */
  readonly calls: readonly Parameters<J["fn"]>[0][];
};

/**
 * Creates a job of the same name and input that runs another function on the event loop. `failures`: the number of attempts
 * that fail before one succeeds.
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
