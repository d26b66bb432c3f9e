import { type CodeRegistry, refuseReservedName } from "../authoring/code-registry.ts";
import { type CodeWorkflow, defineWorkflow } from "../authoring/code-workflow.ts";
import { standardSchemaOf } from "../authoring/json-schema.ts";
import type { Clock } from "../base/clock.ts";
import { EngineError, messageOf } from "../base/error.ts";
import type { Logger } from "../base/logger.ts";
import { namespaceOf, qualify } from "../base/namespace.ts";
import { preview } from "../base/preview.ts";
import { hasUnprintable } from "../base/unprintable.ts";
import type { WorkflowDetails } from "../dispatch/session-message.ts";
import { announcedWorkflowDocument } from "../stores/document-kinds.ts";
import type { DocumentRow, Store } from "../stores/store.ts";

export interface WorkflowAnnouncementsParts {
  readonly store: Pick<Store, "findDocument" | "listDocuments" | "saveDocument">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly codeOf: (namespace: string) => CodeRegistry;
  /** Makes the workflow known, and its definition durable. */
  readonly add: (namespace: string, workflow: CodeWorkflow) => Promise<void>;
  /** Called for a workflow that was announced to another member. */
  readonly onLearned: (workflow: string, version: string) => void;
}

const pageSize = 500;

/**
 * The code workflows that workers have announced: each is a document, so that it can be started, scheduled and nested by
 * every member, also while no worker has its code.
 */
export class WorkflowAnnouncements {
  readonly #parts: WorkflowAnnouncementsParts;
  /** Bodies of the documents that this process knows, by their names. */
  readonly #known = new Map<string, string>();

  constructor(parts: WorkflowAnnouncementsParts) {
    this.#parts = parts;
  }

  /** Reads the workflows that were announced to any member. */
  async learn(): Promise<void> {
    const rows: DocumentRow[] = [];
    for (let after: string | undefined; ;) {
      const { store } = this.#parts;
      const given = after === undefined ? {} : { after };
      const page = await store.listDocuments(announcedWorkflowDocument, { ...given, limit: pageSize });
      rows.push(...page);
      if (page.length < pageSize) break;
      after = page.at(-1)?.name;
    }
    for (const { name, body } of rows.toSorted((a, b) => a.at - b.at)) {
      if (this.#known.get(name) === body) continue;
      this.#known.set(name, body);
      const namespace = namespaceOf(name);
      const workflow = workflowOf(JSON.parse(body) as WorkflowDetails);
      this.#parts.codeOf(namespace).announce(workflow);
      this.#parts.onLearned(qualify(namespace, workflow.name), workflow.version);
    }
  }

  /** Takes in the workflows of a host of code. Resolves when they can be started. Never rejects. */
  async announce(workflows: readonly WorkflowDetails[], namespace: string): Promise<void> {
    for (const details of workflows) {
      try {
        await this.record(details, namespace);
      } catch (error) {
        const fields = { workflow: details.name, version: details.version, namespace, error: messageOf(error) };
        this.#parts.logger.warn(fields, "a workflow that a worker announced could not be recorded");
      }
    }
  }

  /** Makes one workflow known and durable. `WORKFLOW_INVALID`, and the errors of the store. */
  async record(details: WorkflowDetails, namespace: string): Promise<void> {
    checkNames(details);
    const { add, codeOf } = this.#parts;
    const name = qualify(namespace, `${details.name}@${details.version}`);
    const body = JSON.stringify(details);
    const isLatest = codeOf(namespace).isLatestAnnounced(details.name, details.version);
    if (this.#known.get(name) === body && isLatest) return;
    this.#known.set(name, body);
    await add(namespace, workflowOf(details));
    await this.#save(name, body);
  }

  /** Another member may record the same workflow at the same time. */
  async #save(name: string, body: string): Promise<void> {
    const { store, clock } = this.#parts;
    for (;;) {
      const revision = ((await store.findDocument(announcedWorkflowDocument, name))?.revision ?? 0) + 1;
      const row = { kind: announcedWorkflowDocument, name, revision, at: clock.now(), body };
      if (await store.saveDocument(row)) return;
    }
  }
}

const nameLengthMax = 400;
const versionLengthMax = 200;

/** Name and version are the name of a document, which has at most 700 characters. `WORKFLOW_INVALID`. */
function checkNames({ name, version }: WorkflowDetails): void {
  refuseReservedName(name);
  for (const [what, text, max] of [
    ["name", name, nameLengthMax] as const,
    ["version", version, versionLengthMax] as const,
  ]) {
    if (text.trim() !== "" && text.length <= max && !hasUnprintable(text)) continue;
    const problem = `the ${what} of a workflow has 1 to ${max} characters, and no control characters, got ${preview(text)}`;
    throw new EngineError("WORKFLOW_INVALID", problem);
  }
}

/** The workflow as far as it is known without its function. */
function workflowOf({ name, version, input, ...options }: WorkflowDetails): CodeWorkflow {
  const notHere = (): Promise<never> => Promise.reject(new Error(`the code of workflow "${name}" is with workers`));
  const given = { version, ...options };
  if (input === undefined) return defineWorkflow(name, given, notHere);
  const schema = standardSchemaOf(JSON.parse(input) as object);
  return defineWorkflow(name, { ...given, input: schema }, notHere);
}
