import type { DatabaseSync, StatementSync } from "node:sqlite";
import { sqlFiles } from "./database.ts";

export type Statements = ReturnType<typeof prepareStatements>;

/** Every statement is prepared once. That also proves, at the opening, that the tables and columns are there. */
export function prepareStatements(db: DatabaseSync) {
  const prepare = (name: string): StatementSync => db.prepare(sqlFiles.query(name));
  return {
    ...prepareOwnership(prepare),
    ...prepareWrites(prepare),
    ...prepareReads(prepare),
    begin: db.prepare("BEGIN IMMEDIATE"),
    commit: db.prepare("COMMIT"),
    rollback: db.prepare("ROLLBACK"),
  };
}

function prepareOwnership(prepare: (name: string) => StatementSync) {
  return {
    claimShard: prepare("claim-shard"),
    readShard: prepare("read-shard"),
    loadShards: prepare("load-shards"),
    fence: prepare("fence"),

    insertMember: prepare("insert-member"),
    beatMember: prepare("beat-member"),
    deleteMember: prepare("delete-member"),
    loadMembers: prepare("load-members"),
    settleSetting: prepare("settle-setting"),
    readSetting: prepare("read-setting"),
  };
}

function prepareWrites(prepare: (name: string) => StatementSync) {
  return {
    saveInstance: prepare("save-instance"),
    deleteInstance: prepare("delete-instance"),
    saveFinished: prepare("save-finished"),
    deleteFinished: prepare("delete-finished"),
    insertHistory: prepare("insert-history"),
    deleteHistory: prepare("delete-history"),
    trimHistory: prepare("trim-history"),
    saveTask: prepare("save-task"),
    deleteTasks: prepare("delete-tasks"),
    insertPayload: prepare("insert-payload"),
    deletePayloads: prepare("delete-payloads"),
    trimPayloads: prepare("trim-payloads"),
    insertOutbox: prepare("insert-outbox"),
    saveOffset: prepare("save-offset"),
    deleteOutbox: prepare("delete-outbox"),
    insertRequest: prepare("insert-request"),
    forgetRequests: prepare("forget-requests"),
    insertDefinition: prepare("insert-definition"),
    saveJob: prepare("save-job"),
    deleteJob: prepare("delete-job"),
    saveDomain: prepare("save-domain"),
    declareDomain: prepare("declare-domain"),
    insertMailboxRow: prepare("insert-mailbox-row"),
    deleteFromMailbox: prepare("delete-from-mailbox"),
    deleteMailboxRowsBefore: prepare("delete-mailbox-rows-before"),
    deleteMailbox: prepare("delete-mailbox"),
    insertDocument: prepare("insert-document"),
    updateDocument: prepare("update-document"),
    deleteDocument: prepare("delete-document"),
    insertLine: prepare("insert-line"),
    deleteLine: prepare("delete-line"),
    deleteTopic: prepare("delete-topic"),
  };
}

function prepareReads(prepare: (name: string) => StatementSync) {
  return {
    loadInstances: prepare("load-instances"),
    loadHistory: prepare("load-history"),
    readHistory: prepare("read-history"),
    readTasks: prepare("read-tasks"),
    readPayload: prepare("read-payload"),
    findFinished: prepare("find-finished"),
    finishedBefore: prepare("finished-before"),
    listUnfinished: prepare("list-unfinished"),
    listFinishedByStatus: prepare("list-finished-by-status"),
    listFinishedByWorkflow: prepare("list-finished-by-workflow"),
    listFinishedById: prepare("list-finished-by-id"),
    countFinishedById: prepare("count-finished-by-id"),
    loadOutbox: prepare("load-outbox"),
    loadOffsets: prepare("load-offsets"),
    loadSent: prepare("load-sent"),
    readRequest: prepare("read-request"),
    readMailbox: prepare("read-mailbox"),
    loadDomains: prepare("load-domains"),
    loadDefinition: prepare("load-definition"),
    latestDefinition: prepare("latest-definition"),
    listDefinitions: prepare("list-definitions"),
    loadJobs: prepare("load-jobs"),
    findDocument: prepare("find-document"),
    listDocuments: prepare("list-documents"),
    findOldLines: prepare("find-old-lines"),
    readLines: prepare("read-lines"),
    readLastLines: prepare("read-last-lines"),
  };
}
