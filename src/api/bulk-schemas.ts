import { z } from "zod";
import { momentMax } from "../base/time-limits.ts";
import { app, cursor, epochMs, name } from "./common-schemas.ts";
import { instanceStatus } from "./instance-schemas.ts";

const operation = z.enum(["pause", "resume", "terminate", "retry", "delete"]);

const moment = z.number().int().min(0).max(momentMax);

/**
 * Selects instances as the list does. A misspelt name, and a request without a filter, are refused: they would concern
 * everything. `{}` says that.
 */
const filter = z.strictObject({
  status: z.array(instanceStatus).min(1).exactOptional(),
  workflow: name.exactOptional(),
  idPrefix: z.string().max(512).exactOptional(),
  app: app.exactOptional(),
  createdFrom: moment.exactOptional(),
  createdTo: moment.exactOptional(),
});

export const bulkPreview = z.strictObject({ operation, filter });

export const bulkCount = z.object({
  count: z.number().int().meta({ description: "Instances that match the filter and whose state allows it." }),
  isCapped: z.boolean().meta({ description: "True if there are more: counting stops at 100,000." }),
  createdTo: epochMs.meta({ description: "Send it with the filter, and later instances are left alone." }),
});

export const bulkRequest = bulkPreview.extend({
  reason: z.string().max(1000).optional(),
  cursor,
  limit: z.number().int().min(1).max(200).default(100).meta({ description: "Instances of this request." }),
});

export const bulkResult = z.object({
  instanceIds: z.array(z.string()).meta({ description: "Instances on which it was carried out." }),
  failures: z.array(z.object({ instanceId: z.string(), code: z.string(), message: z.string() })),
  next: z.string().nullable().meta({ description: "The cursor of the next request; null after the last." }),
});
