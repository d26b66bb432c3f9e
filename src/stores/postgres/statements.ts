import { sqlFiles } from "./database.ts";
import type { Statement } from "./pipeline.ts";

export type Statements = ReturnType<typeof loadStatements>;

/** Every statement is one file. */
export function loadStatements() {
  return { ...loadOwnership(), ...loadWrites(), ...loadReads() };
}

function loadOwnership() {
  return {
    insertShard: load("insert-shard"),
    lockShard: load("lock-shard"),
    claimShard: load("claim-shard"),
    lockShards: load("lock-shards"),
    fence: load("fence"),
    readShards: load("read-shards"),
    loadShards: load("load-shards"),

    insertMember: load("insert-member"),
    beatMember: load("beat-member"),
    endSessions: load("end-sessions"),
    deleteMember: load("delete-member"),
    loadMembers: load("load-members"),
    settleSetting: load("settle-setting"),
    readSetting: load("read-setting"),
  };
}

function loadWrites() {
  return {
    saveInstance: load("save-instance"),
    deleteInstance: load("delete-instance"),
    saveFinished: load("save-finished"),
    deleteFinished: load("delete-finished"),
    insertHistory: load("insert-history"),
    deleteHistory: load("delete-history"),
    trimHistory: load("trim-history"),
    saveTask: load("save-task"),
    deleteTasks: load("delete-tasks"),
    insertPayload: load("insert-payload"),
    deletePayloads: load("delete-payloads"),
    trimPayloads: load("trim-payloads"),
    insertOutbox: load("insert-outbox"),
    saveOffset: load("save-offset"),
    deleteOutbox: load("delete-outbox"),
    insertRequest: load("insert-request"),
    forgetRequests: load("forget-requests"),
    insertDefinition: load("insert-definition"),
    saveJob: load("save-job"),
    deleteJob: load("delete-job"),
    saveDomain: load("save-domain"),
    declareDomain: load("declare-domain"),
    insertMailboxRow: load("insert-mailbox-row"),
    deleteFromMailbox: load("delete-from-mailbox"),
    deleteMailboxRowsBefore: load("delete-mailbox-rows-before"),
    insertDocument: load("insert-document"),
    updateDocument: load("update-document"),
    deleteDocument: load("delete-document"),
    appendLines: load("append-lines"),
    deleteLines: load("delete-lines"),
    deleteTopic: load("delete-topic"),
  };
}

function loadReads() {
  return {
    loadInstances: load("load-instances"),
    loadHistory: load("load-history"),
    readHistory: load("read-history"),
    readTasks: load("read-tasks"),
    readPayloads: load("read-payloads"),
    findFinished: load("find-finished"),
    finishedBefore: load("finished-before"),
    listUnfinished: load("list-unfinished"),
    listFinishedByStatus: load("list-finished-by-status"),
    listFinishedByWorkflow: load("list-finished-by-workflow"),
    listFinishedById: load("list-finished-by-id"),
    countFinishedById: load("count-finished-by-id"),
    loadOutbox: load("load-outbox"),
    loadOffsets: load("load-offsets"),
    loadSent: load("load-sent"),
    readRequest: load("read-request"),
    readMailbox: load("read-mailbox"),
    loadDomains: load("load-domains"),
    loadDefinition: load("load-definition"),
    latestDefinition: load("latest-definition"),
    listDefinitions: load("list-definitions"),
    loadJobs: load("load-jobs"),
    findDocument: load("find-document"),
    listDocuments: load("list-documents"),
    readLines: load("read-lines"),
    readLastLines: load("read-last-lines"),
  };
}

function load(name: string): Statement {
  return { name, sql: sqlFiles.query(name) };
}
