import type { MapResult } from "../authoring/job.ts";
import { assert } from "../base/assert.ts";
import type { AttemptAnswer, AttemptQuestion } from "../dispatch/attempt-question.ts";

/** Reads the results of the items of a map, a page at a time. */
export async function* readResults(
  ask: (question: AttemptQuestion) => Promise<AttemptAnswer>,
): AsyncGenerator<MapResult> {
  let from: number | undefined = 0;
  while (from !== undefined) {
    const page: AttemptAnswer = await ask({ type: "ListResults", from });
    assert("items" in page, "a question for results is answered by a page");
    for (const { index, item, status, output, failure } of page.items) yield { index, item, status, output, failure };
    from = page.next;
  }
}
