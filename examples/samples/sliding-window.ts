/**
 * Processes a long list with at most so many children at a time: each that ends makes room for the next, and the parent begins anew
 * in the reaction that started them. Elsewhere: "batch-sliding-window" in Temporal's samples.
 */
import { defineJob, defineWorkflow } from "../../src/index.ts";

interface Batch {
  readonly records: number;
  readonly windowSize: number;
  /** Children per generation, so that the history stays short. */
  readonly pageSize: number;
  readonly started: number;
  readonly done: number;
}

interface RecordInput {
  readonly record: number;
  readonly batchId: string;
}

export const importRecord = defineJob("import-record", (record: number) => `record ${record}`);

export const processRecord = defineWorkflow("process-record", async (ctx, { record, batchId }: RecordInput) => {
  await ctx.run(importRecord, record);
  ctx.sendEvent(batchId, "record done", record);
});

export const processBatch = defineWorkflow("process-batch", async (ctx, batch: Batch): Promise<number> => {
  const { records, windowSize, pageSize } = batch;
  const pageEnd = Math.min(records, batch.started + pageSize);
  let { started, done } = batch;
  while (started < pageEnd || (started === records && done < records)) {
    if (started === pageEnd || started - done === windowSize) {
      await ctx.waitForEvent("record done");
      done++;
    } else {
      const input: RecordInput = { record: started++, batchId: ctx.instanceId };
      ctx.startChild(processRecord, input, {
        instanceId: `${ctx.instanceId}/record-${input.record}`,
        whenParentEnds: "leave",
      });
    }
  }
  if (done === records) return done;
  return await ctx.continueAsNew({ ...batch, started, done } satisfies Batch, { keepEvents: true });
});
