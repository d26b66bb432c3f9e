import type { MapResult } from "../authoring/job.ts";
import type { AttemptQuestion, ResultsPage } from "../dispatch/attempt-question.ts";

/** Reads the results of the items of a map, a page at a time. */
export async function* readResults(
  ask: (question: AttemptQuestion) => Promise<ResultsPage>,
): AsyncGenerator<MapResult> {
  let from: number | undefined = 0;
  while (from !== undefined) {
    const page: ResultsPage = await ask({ type: "ListResults", from });
    for (const { index, item, status, output, failure } of page.items) yield { index, item, status, output, failure };
    from = page.next;
  }
}
