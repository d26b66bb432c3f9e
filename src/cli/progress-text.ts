import type { DataOf } from "../api/routes.ts";

export type TaskProgress = NonNullable<DataOf<"getInstance">["tasks"][number]["progress"]>;

/** `38 % (7 of 18), invoices`. */
export function progressText({ fraction, done, total, message }: TaskProgress): string {
  const counts = total === undefined ? "" : ` (${done} of ${total})`;
  return `${Math.floor(fraction * 100)} %${counts}${message === undefined ? "" : `, ${message}`}`;
}
