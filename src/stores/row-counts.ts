/** Numbers of rows, by what they are. */
export interface RowCounts {
  readonly unfinished: number;
  readonly finished: number;
  /** Messages between instances that were not consumed yet. */
  readonly messages: number;
  readonly mails: number;
  readonly requests: number;
  readonly definitions: number;
  readonly jobs: number;
  readonly domains: number;
  readonly documents: number;
  readonly logLines: number;
}
