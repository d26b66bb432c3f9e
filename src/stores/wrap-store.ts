// oxlint-disable typescript/unbound-method -- `WrapMethod` takes each method with `this: Store`, so it cannot be called unbound.
import type { Store } from "./store.ts";

/** Every member of a store, optional ones included: a member that `wrapStore` leaves out does not compile. */
type StoreMembers = { readonly [Name in keyof Required<Store>]: Store[Name] };

type WrapMethod = <Parameters extends unknown[], Answer>(
  name: keyof Store,
  method: (this: Store, ...parameters: Parameters) => Answer,
) => (...parameters: Parameters) => Answer;

/** Returns a store with the members of the given one, each method wrapped. */
export function wrapStore(store: Store, wrap: WrapMethod): Store {
  return {
    clusters: store.clusters,
    lanes: store.lanes,
    open: wrap("open", store.open),
    close: wrap("close", store.close),
    verify: store.verify && wrap("verify", store.verify),
    settleShardCount: wrap("settleShardCount", store.settleShardCount),
    join: wrap("join", store.join),
    heartbeat: wrap("heartbeat", store.heartbeat),
    renewLease: wrap("renewLease", store.renewLease),
    leaseConnection: store.leaseConnection,
    removeMember: wrap("removeMember", store.removeMember),
    claimShard: wrap("claimShard", store.claimShard),
    beginIncarnation: wrap("beginIncarnation", store.beginIncarnation),
    countRows: wrap("countRows", store.countRows),
    commit: wrap("commit", store.commit),
    listUnfinished: wrap("listUnfinished", store.listUnfinished),
    loadHistory: wrap("loadHistory", store.loadHistory),
    listHistory: wrap("listHistory", store.listHistory),
    loadPayloads: wrap("loadPayloads", store.loadPayloads),
    findFinished: wrap("findFinished", store.findFinished),
    listInstances: wrap("listInstances", store.listInstances),
    listFinishedBefore: wrap("listFinishedBefore", store.listFinishedBefore),
    loadOutbox: wrap("loadOutbox", store.loadOutbox),
    loadOutboxOf: wrap("loadOutboxOf", store.loadOutboxOf),
    loadOffsets: wrap("loadOffsets", store.loadOffsets),
    loadSent: wrap("loadSent", store.loadSent),
    findRequest: wrap("findRequest", store.findRequest),
    post: wrap("post", store.post),
    listMailboxRows: wrap("listMailboxRows", store.listMailboxRows),
    deleteMailboxRows: wrap("deleteMailboxRows", store.deleteMailboxRows),
    deleteMailboxRowsBefore: wrap("deleteMailboxRowsBefore", store.deleteMailboxRowsBefore),
    openNotifier: store.openNotifier && wrap("openNotifier", store.openNotifier),
    loadDomains: wrap("loadDomains", store.loadDomains),
    declareDomains: wrap("declareDomains", store.declareDomains),
    saveDefinitions: wrap("saveDefinitions", store.saveDefinitions),
    findDefinition: wrap("findDefinition", store.findDefinition),
    findLatestDefinition: wrap("findLatestDefinition", store.findLatestDefinition),
    listDefinitions: wrap("listDefinitions", store.listDefinitions),
    loadJobs: wrap("loadJobs", store.loadJobs),
    saveJobs: wrap("saveJobs", store.saveJobs),
    deleteJobs: wrap("deleteJobs", store.deleteJobs),
    findDocument: wrap("findDocument", store.findDocument),
    listDocuments: wrap("listDocuments", store.listDocuments),
    saveDocument: wrap("saveDocument", store.saveDocument),
    deleteDocument: wrap("deleteDocument", store.deleteDocument),
    appendLines: wrap("appendLines", store.appendLines),
    listLines: wrap("listLines", store.listLines),
    deleteLines: wrap("deleteLines", store.deleteLines),
    deleteTopic: wrap("deleteTopic", store.deleteTopic),
  } satisfies StoreMembers;
}

/** Returns a store whose methods are those of the given one, except the given ones. Adds no stack frame to the others. */
export function overrideStore(store: Store, methods: Partial<Store>): Store {
  return { ...wrapStore(store, (_name, method) => method.bind(store)), ...methods };
}
