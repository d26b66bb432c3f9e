import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import type { Mutation, SourceChange } from "./mutations.ts";

const root = new URL("../../", import.meta.url);

/**
 * Bugs that change one place in the source of a module, for code that no class exposes. This file imports nothing of
 * the engine, so that the change is made before anything is loaded.
 */
export const sourceMutations: readonly Mutation[] = [
  {
    name: "unnoticed-rollbacks",
    about: "No member notices that the store went back to an earlier state.",
    needsCluster: true,
    restores: true,
    source: {
      file: "src/engine/assembly.ts",
      find: "storage: rollbacks.store }",
      replace: "storage: given.storage }",
    },
  },
  {
    name: "rollbacks-unnoticed-when-idle",
    about: "A member with nothing to write does not notice that the store went back to an earlier state.",
    needsCluster: true,
    restores: true,
    source: {
      file: "src/stores/rollback-detector.ts",
      find: "    this.#checkShards(shards, view);\n    this.#checkHeartbeats(",
      replace: "    if (shards) return view;\n    this.#checkHeartbeats(",
    },
  },
  {
    name: "rollbacks-unnoticed-by-heartbeats",
    about: "A member that owns nothing does not notice that the store went back to an earlier state.",
    needsCluster: true,
    restores: true,
    source: {
      file: "src/stores/rollback-detector.ts",
      find: "if (last === undefined || heartbeat > last",
      replace: "if (last === undefined || last >= 0 || heartbeat > last",
    },
  },
  {
    name: "early-declines",
    about: "A result that a worker announces again is declined while the end that it led to waits for code.",
    needsLoneWorkers: true,
    profile: "crashes",
    codeKinds: ["code-mailer", "code-parent"],
    source: {
      file: "src/runtime/shard-instances.ts",
      find: "await this.has(id, { isInOrder: true });",
      replace: "await this.has(id);",
    },
  },
  {
    name: "mixed-up-questions",
    about: "A member takes two questions about code of one owner for the same one.",
    needsCluster: true,
    needsWorkers: true,
    source: {
      file: "src/member/foreign-turns.ts",
      find: "return `${owner} ${number}`;",
      replace: "return owner;",
    },
  },
  {
    name: "uncut-histories",
    about: "A worker that replays code gets events that were recorded after its question.",
    needsWorkers: true,
    source: {
      file: "src/runtime/question-history.ts",
      find: "if (turn.firstEvent >= events || length > pageLengthMax || count > pageEventsMax) break;\n      if (turn.firstEvent !== next) return undefined;\n      const cut = { ...turn, events: turn.events.slice(0, events - turn.firstEvent) };",
      replace:
        "if (length > pageLengthMax || count > pageEventsMax) break;\n      const cut = { ...turn, events: turn.events.slice(0, events - turn.firstEvent > 0 ? undefined : 1000) };",
    },
  },
  {
    name: "forgotten-arrivals",
    about: "Code on a worker begins anew without the events that arrived while it was asked.",
    needsWorkers: true,
    source: {
      file: "src/runtime/remote-code.ts",
      find: "!beyond.some(({ events }) => events.some(isKept))",
      replace: "beyond.length >= 0",
    },
  },
  {
    name: "leaking-namespace",
    about: "A call in one namespace reaches the instance of that id in the default one.",
    source: {
      file: "src/engine/instance-calls.ts",
      find: "return namespace === defaultNamespace ? call : { ...call, id: qualify(namespace, call.id) };",
      replace: "return namespace === defaultNamespace ? call : { ...call, id: qualify(defaultNamespace, call.id) };",
    },
  },
  {
    name: "leaking-lists",
    about: "A list in one namespace has the instances of all.",
    source: {
      file: "src/engine/list-instances.ts",
      find: "    namespace,\n    ...(workflow",
      replace: "    ...(workflow",
    },
  },
  {
    name: "no-stall-renewals",
    about: "The lease of a member whose event loop is blocked is not renewed.",
    needsCluster: true,
    profile: "freezes",
    source: {
      file: "src/cluster/stall-renewals.ts",
      find: "if (stalledMs < beatMs || stalledMs > stallMs || this.#isRenewing) return;",
      replace: "if (stalledMs >= 0 || stallMs < beatMs) return;",
    },
  },
  {
    name: "renewals-after-giving-up",
    about: "The lease of a member whose event loop is blocked is renewed for ever.",
    needsCluster: true,
    profile: "freezes",
    source: {
      file: "src/cluster/stall-renewals.ts",
      find: "if (stalledMs < beatMs || stalledMs > stallMs || this.#isRenewing) return;",
      replace: "if (stalledMs < beatMs || stallMs < beatMs || this.#isRenewing) return;",
    },
  },
  {
    name: "revived-leases",
    about: "A thread renews a lease that has expired.",
    needsCluster: true,
    profile: "freezes",
    source: {
      file: "src/cluster/stall-renewals.ts",
      find: "ageMs >= timings.beatMs && ageMs < this.#leaseMs ? held",
      replace: "ageMs >= timings.beatMs && this.#leaseMs > 0 ? held",
    },
  },
  {
    name: "leases-of-suspended-threads",
    about: "A thread judges the lease by the monotonic clock alone, which may stop while the machine is suspended.",
    needsCluster: true,
    profile: "clocks",
    source: {
      file: "src/cluster/stall-renewals.ts",
      find: "const ageMs = elapsedMs(clock, held.sent);",
      replace: "const ageMs = Math.min(elapsedMs(clock, held.sent), clock.monotonic() - held.sent.monotonic);",
    },
  },
  {
    name: "lease-judged-by-flag",
    about: "A lease counts as valid because a thread has renewed it, whenever that was.",
    needsCluster: true,
    profile: "freezes",
    source: {
      file: "src/cluster/lease.ts",
      find: "return other !== undefined && other.monotonic > own.monotonic ? other : own;",
      replace: "return other !== undefined && other.monotonic > own.monotonic ? momentOf(this.#clock) : own;",
    },
  },
  {
    name: "stale-reads",
    about: "A member answers from its memory of a shard although its lease is over.",
    needsCluster: true,
    profile: "freezes",
    source: {
      file: "src/runtime/call-handler.ts",
      find: "return !shard.isLost && this.#parts.isLeaseValid();",
      replace: "return !shard.isLost;",
    },
  },
  {
    name: "forgotten-turns",
    about: "The first turn is left behind when the turns of an instance leave its row.",
    source: {
      file: "src/runtime/turn-places.ts",
      find: "moved: turnsIn(earlier, key) };",
      replace: "moved: turnsIn(earlier, key).slice(1) };",
    },
  },
  {
    name: "unrecorded-late-starts",
    about: "A start that comes while a turn of code waits to be opened is confirmed, and not recorded, by that turn.",
    needsCluster: true,
    needsWorkers: true,
    source: {
      file: "src/runtime/code-preparation.ts",
      find: "        this.#actor.recordStarts(open.turn);\n",
      replace: "",
    },
  },
  {
    name: "unconfirmed-starts",
    about: "An attempt is granted to a worker before its start is durable.",
    needsCluster: true,
    needsWorkers: true,
    source: {
      file: "src/runtime/instance-actor.ts",
      find: "    this.tell({ query: () => undefined, reply });\n    return reply.promise;",
      replace: "    this.tell({ query: () => undefined, reply });\n    return Promise.resolve();",
    },
  },
  {
    name: "messages-before-commit",
    about: "Outbox messages are posted when a turn is opened, before it is durable.",
    source: {
      file: "src/runtime/shard-turns.ts",
      find: "      if (message !== undefined) turn.send(this.#parts.outbox.number(message));\n",
      replace:
        "      const row = message && this.#parts.outbox.number(message);\n      if (row !== undefined) {\n        turn.send(row);\n        this.#shared.post(row);\n      }\n",
    },
  },
  {
    name: "acknowledged-gaps",
    about: "A message that is consumed ahead of an earlier one acknowledges that one too.",
    source: {
      file: "src/runtime/inbound-offset.ts",
      find: "    if (number > this.#committed) this.#consumedAhead.add(number);\n    while (this.#consumedAhead.delete(this.#committed + 1)) this.#committed++;",
      replace: "    if (number > this.#committed) this.#committed = number;",
    },
  },
  {
    name: "lost-wake-ups",
    about: "A wake-up that failed because the store was unavailable is not retried.",
    source: {
      file: "src/runtime/instance-wakes.ts",
      find: "      if (!this.#state.isClosed && entry.quarantined === undefined) this.set(entry, this.#clock.now() + retryMs);\n",
      replace: "",
    },
  },
  {
    name: "rows-without-wake-ups",
    about: "The row of an instance with tasks in flight has no wake-up.",
    source: {
      file: "src/runtime/turn-rows.ts",
      find: "wakeAt: machine.nextWake() ?? null,",
      replace: "wakeAt: (machine.state.inFlight > 0 ? undefined : machine.nextWake()) ?? null,",
    },
  },
  {
    name: "timeouts-without-compensation",
    about: "A code workflow that times out ends at once, without compensation.",
    source: {
      file: "src/kernel/code/life-cycle.ts",
      find: "  if (state.compensationMs !== undefined) {\n",
      replace: '  if (state.compensationMs === undefined) return end(transition, "Failed", { reason });\n  else {\n',
    },
  },
  {
    name: "reused-generations",
    about: "An instance that is retried keeps its generation, so attempt ids are used again.",
    source: {
      file: "src/kernel/dag/life-cycle.ts",
      find: "const generation = transition.state.generation + 1;",
      replace: "const generation = transition.state.generation;",
    },
  },
  {
    name: "stale-lookups",
    about: "A lookup in the store counts although an instance of that id was created meanwhile.",
    source: {
      file: "src/runtime/instance-table.ts",
      find: 'return search.hasCome ? "outdated" : use(found);',
      replace: "return use(found);",
    },
  },
  {
    name: "purged-reopenings",
    about: "An instance that is reopened while its purge waits to be written is purged all the same.",
    kinds: ["chain"],
    codeKinds: ["code-retried"],
    source: {
      file: "src/runtime/instance-table.ts",
      find: "purged = candidates.filter(({ search }) => !search.hasCome);",
      replace: "purged = candidates;",
    },
  },
  {
    name: "reopened-purges",
    about: "An instance can be reopened while its purge is being written.",
    kinds: ["chain"],
    codeKinds: ["code-retried"],
    source: {
      file: "src/runtime/instance-table.ts",
      find: "for (const { search } of purged) this.#keepOut(search.id, end.promise);",
      replace: "",
    },
  },
  {
    name: "forgotten-tries",
    about: "A call that was sent and came back counts as one that was never tried.",
    needsCluster: true,
    source: {
      file: "src/cluster/call-router.ts",
      find: "    const sentAt = this.#clock.monotonic();\n    call.isFirst = false;\n",
      replace: "    const sentAt = this.#clock.monotonic();\n",
    },
  },
  {
    name: "early-slot-grants",
    about: "A new allocator of a domain grants slots before every member has reported to it.",
    needsCluster: true,
    source: {
      file: "src/cluster/domain-allocator.ts",
      find: "      this.#unheard = new Set(living);\n",
      replace: "      this.#unheard = new Set();\n",
    },
  },
  {
    name: "restarted-waits",
    about: "Wake-ups wait for their whole delay again when a shard is opened.",
    source: {
      file: "src/runtime/shard-opening.ts",
      find: "wakes.set(table.get(row.id) as InstanceEntry, row.wakeAt ?? undefined);",
      replace:
        "{\n      const entry = table.get(row.id) as InstanceEntry;\n      wakes.set(entry, row.wakeAt === null ? undefined : this.#parts.clock.now() + Math.max(0, row.wakeAt - entry.lastTurnAt));\n    }",
    },
  },
  {
    name: "no-outage-grace",
    about: "Time in which a member could not read the store counts as silence of the others.",
    needsCluster: true,
    profile: "store",
    source: {
      file: "src/cluster/failure-detector.ts",
      find: "    this.#forgive({ asked, arrived });\n",
      replace: "    this.#asked = asked;\n",
    },
  },
  {
    name: "early-rejections",
    about: "A host is told that a result is not wanted before the reason is durable.",
    needsWorkers: true,
    profile: "crashes",
    source: {
      file: "src/runtime/attempt-reports.ts",
      find: "    await Promise.all(unwanted.map((id) => this.#instances.flush(instanceOf(id))));\n",
      replace: "",
    },
  },
  {
    name: "forgotten-admissions",
    about: "A gate that is opened again does not count instances whose admission is in flight.",
    needsCluster: true,
    profile: "crashes",
    kinds: ["limited"],
    codeKinds: ["code-steps"],
    source: {
      file: "src/runtime/shared-gates.ts",
      find: "const answered = await this.#answersUnderWay();",
      replace: 'const answered = new Map<string, "admitted" | "refused">();',
    },
  },
  {
    name: "uncounted-reopenings",
    about: "The gate of a single engine does not count instances that are reopened.",
    kinds: ["limited"],
    codeKinds: ["code-steps"],
    source: {
      file: "src/runtime/turn-effects.ts",
      find: "    if (turn.wasReopened) this.#gates.reenter(entry.workflow, entry.id);\n",
      replace: "",
    },
  },
  {
    name: "uncounted-shared-reopenings",
    about: "The gate of a cluster does not count instances that are reopened.",
    needsCluster: true,
    kinds: ["limited"],
    codeKinds: ["code-steps"],
    source: {
      file: "src/runtime/shared-gates.ts",
      find: "      if (isReopened) gate.inside.add(instanceId);\n      else {",
      replace: "      if (!isReopened) {",
    },
  },
  {
    name: "late-renewals",
    about: "The lease of a host counts from the answer of the owner, not from its own request.",
    needsWorkers: true,
    source: {
      file: "src/runtime/hosted-attempts.ts",
      find: "lease.renewedAt = askedAt;",
      replace: "lease.renewedAt = clock.monotonic();",
    },
  },
  {
    name: "no-stall-grace",
    about: "Time in which an owner was stalled counts as silence of the hosts that report to it.",
    needsWorkers: true,
    profile: "freezes",
    source: {
      file: "src/runtime/delegated-attempts.ts",
      find: "    if (!hasStalled && this.#hosting.hasSeen(now - graceMs)) return;\n",
      replace: "    if (hasStalled || !hasStalled) return;\n",
    },
  },
  {
    name: "repeated-events",
    about: "An event from another instance is applied again after a restart.",
    profile: "crashes",
    kinds: ["chain"],
    codeKinds: ["code-mailer"],
    source: {
      file: "src/runtime/inbound-messages.ts",
      find: "    if (this.#mayBeRepeated(origin) && (await this.#isRequestKnown(key))) return await this.#finish(origin);\n",
      replace: "",
    },
  },
  {
    name: "orders-to-strangers",
    about: "A parent that ends also ends an instance that has the id of its child and is not its child.",
    kinds: ["chain"],
    codeKinds: ["code-household", "code-timed-household"],
    source: {
      file: "src/runtime/inbound-messages.ts",
      find: "if (parent === undefined || (parent.key !== from && parent.id !== heir)) throw unknownInstance(to);",
      replace: "if (from < 0) throw unknownInstance(to);",
    },
  },
  {
    name: "purged-strangers",
    about: "A purge also takes instances that have the id of a child and are not children.",
    kinds: ["chain"],
    codeKinds: ["code-household", "code-timed-household"],
    source: {
      file: "src/engine/purging.ts",
      find: ".parentKey === parentKey;",
      replace: ".key !== parentKey;",
    },
  },
  {
    name: "unlimited-maps",
    about: "A map hands out its items without regard to its concurrency.",
    kinds: ["map"],
    source: {
      file: "src/kernel/dag/maps.ts",
      find: "?? state.maxConcurrentTasks) - items.itemsInFlight);",
      replace: "?? state.maxConcurrentTasks));",
    },
  },
  {
    name: "hasty-maps",
    about: "A map ends as soon as none of its items is under way, whether or not others wait.",
    kinds: ["map"],
    source: {
      file: "src/kernel/dag/map-items.ts",
      find: "if (this.#states.waiting > 0 || this.#isSourceOpen) return this.isTripped;",
      replace: "if (this.#states.waiting > 0 || this.#isSourceOpen) return this.#states.succeeded > 0;",
    },
  },
  {
    name: "items-run-again",
    about: "A retry runs the items of a map that have succeeded once more.",
    kinds: ["map-retried"],
    source: {
      file: "src/kernel/dag/map-items.ts",
      find: "if (this.phase(item) !== Phase.success) this.setPhase(item, Phase.waiting);",
      replace: "this.setPhase(item, Phase.waiting);",
    },
  },
  {
    name: "hasty-reduces",
    about: "The reduce of a map starts when all items have, and not when all have ended.",
    kinds: ["map-reduce"],
    source: {
      file: "src/kernel/dag/map-items.ts",
      find: "this.#states.waiting + this.itemsInFlight === 0 && ",
      replace: "this.#states.waiting === 0 && ",
    },
  },
  {
    name: "forgotten-reduces",
    about: "A map with a reduce ends with its items.",
    kinds: ["map-reduce"],
    source: {
      file: "src/kernel/dag/map-items.ts",
      find: "return after === undefined || ",
      replace: "return after !== this.first || ",
    },
  },
  {
    name: "items-handed-in-again",
    about: "Items that another attempt of a source has handed in are handed in once more.",
    kinds: ["map-source"],
    source: {
      file: "src/kernel/dag/handed-in.ts",
      find: "return this.#counts.get(task)?.[call] ?? 0;",
      replace: "return this.#counts.get(task)?.[call] === undefined ? 0 : 0;",
    },
  },
  {
    name: "hasty-sources",
    about: "A map with a source ends as soon as the items that there are have ended.",
    kinds: ["map-source"],
    source: {
      file: "src/kernel/dag/map-items.ts",
      find: "return source !== undefined && this.phase(source) !== Phase.success;",
      replace: "return source !== undefined && this.phase(source) === Phase.waiting;",
    },
  },
  {
    name: "items-before-their-commit",
    about: "A job hears that its items are durable before they are.",
    kinds: ["map-source"],
    profile: "crashes",
    source: {
      file: "src/engine/attempt-desk.ts",
      find: "    await this.#parts.calls.callInstance({ ...question,",
      replace: "    void this.#parts.calls.callInstance({ ...question,",
    },
  },
  {
    name: "lost-results",
    about: "A reduce does not read the result of the first item.",
    kinds: ["map-reduce"],
    source: {
      file: "src/engine/attempt-desk.ts",
      find: "{ from, limit: resultsPerPage }",
      replace: "{ from: Math.max(from, 1), limit: resultsPerPage }",
    },
  },
  {
    name: "broadcasts-anywhere",
    about: "The items of a broadcast run on any worker that has the job.",
    kinds: ["broadcast"],
    needsCluster: true,
    source: {
      file: "src/kernel/dag/map-items.ts",
      find: "{ ...definition, name, worker: this.#workers[index] }",
      replace: "{ ...definition, name }",
    },
  },
  {
    name: "broadcasts-that-wait",
    about: "A broadcast waits for workers that are gone.",
    kinds: ["broadcast"],
    needsCluster: true,
    profile: "crashes",
    source: {
      file: "src/runtime/broadcast-watch.ts",
      find: "missing.has(worker) && missingBefore.has(worker)",
      replace: "missing.has(worker) && missingBefore.has(worker) === undefined",
    },
  },
  {
    name: "unprepared-broadcasts",
    about: "A broadcast does not wait for the job before it.",
    kinds: ["broadcast"],
    source: {
      file: "src/kernel/dag/map-items.ts",
      find: "return before === undefined || this.phase(before) === Phase.success;",
      replace: "return before === undefined || this.phase(before) !== Phase.waiting;",
    },
  },
  {
    name: "overtaking-messages",
    about: "Messages overtake one that could not be delivered.",
    profile: "everything",
    needsCluster: true,
    kinds: ["chain"],
    codeKinds: ["code-mailer"],
    source: {
      file: "src/runtime/inbound-messages.ts",
      find: "if (this.#parts.state.isClosed || this.#isStuck) return;",
      replace: "if (this.#parts.state.isClosed) return;",
    },
  },
  {
    name: "leaked-tickets",
    about: "A ticket whose grant never comes keeps its slot for ever.",
    needsCluster: true,
    source: {
      file: "src/attempts/reservation.ts",
      find: "return event.now < reservation.until",
      replace: "return event.now < Infinity",
    },
  },
  {
    name: "granted-before-durable",
    about: "An attempt is granted to another member before its start there is durable.",
    needsCluster: true,
    source: {
      file: "src/member/placements.ts",
      find: "await run.confirmStart();",
      replace: "void run.confirmStart().catch(() => undefined);",
    },
  },
  {
    name: "published-before-durable",
    about: "Subscribers hear of a turn when it is opened, before it is durable.",
    source: {
      file: "src/runtime/shard-turns.ts",
      find: "      this.droppedReports += turn.dropped;\n",
      replace:
        "      const { number, firstEvent, at, events } = turn;\n" +
        "      const { workflow } = entry;\n" +
        "      if (events.length > 0) this.#shared.publish({ instanceId: actor.id, workflow, turn: number, firstEvent, at, events, machine: actor.machine });\n",
    },
  },
  {
    name: "repeated-changes",
    about: "A subscriber that reads a history hears the last turn that it has again.",
    needsCluster: true,
    source: {
      file: "src/engine/ordered-changes.ts",
      find: "return createdAt === last.createdAt && turn > last.turn;",
      replace: "return createdAt === last.createdAt && turn >= last.turn;",
    },
  },
  {
    name: "unread-turns",
    about: "A subscriber hears a turn of another member as it comes, although the turns before it are missing.",
    needsCluster: true,
    source: {
      file: "src/engine/ordered-changes.ts",
      find: "return turn === (createdAt === last.createdAt ? last.turn + 1 : 0);",
      replace: "return turn >= 0;",
    },
  },
  {
    name: "forgotten-gaps",
    about: "A subscription that lost changes of another member waits for the next turn of each instance.",
    needsCluster: true,
    source: {
      file: "src/engine/cluster-subscription.ts",
      find: "  #onGap(): void {\n    this.#changes.expectMissing();\n    if (",
      replace: "  #onGap(): void {\n    if (this.#isListing || !this.#isListing) return;\n    if (",
    },
  },
  {
    name: "lost-members-unnoticed",
    about: "Changes of a member that was lost before they were fetched are no gap.",
    needsCluster: true,
    profile: "crashes",
    source: {
      file: "src/engine/relay-follower.ts",
      find: "    if (hasGone) this.#onGap();\n",
      replace: "",
    },
  },
  {
    name: "late-topics-unnoticed",
    about: "What a member committed before it heard of a topic that counts as followed is no gap.",
    needsCluster: true,
    profile: "network",
    source: {
      file: "src/engine/relay-follower.ts",
      find: "if (source.heard < version) source.isBehind = true;",
      replace: "if (source.heard < version) source.isBehind = false;",
    },
  },
  {
    name: "unkept-heartbeats",
    about: "The details of the last heartbeat are not kept with the end of the attempt that sent them.",
    kinds: ["beating"],
    source: {
      file: "src/dispatch/attempt-report.ts",
      find: "return { heartbeat: details, ...outcome };",
      replace: "return outcome;",
    },
  },
  {
    name: "unread-heartbeats",
    about: "An attempt does not find the details that an earlier one has left.",
    kinds: ["beating"],
    source: {
      file: "src/runtime/instance-task-run.ts",
      find: "if (heartbeat === undefined) return inputs;",
      replace: "if (heartbeat === undefined || heartbeat !== undefined) return inputs;",
    },
  },
  {
    name: "heartbeats-of-neighbours",
    about: "An attempt finds the details that another of its worker has sent.",
    kinds: ["beating"],
    source: {
      file: "src/dispatch/dispatcher.ts",
      find: "if (heartbeat !== undefined) attempt.heartbeat = { ...heartbeat, at: this.#clock.now() };",
      replace:
        "if (heartbeat !== undefined)\n      for (const each of this.#table.running) each.heartbeat = { ...heartbeat, at: this.#clock.now() };",
    },
  },
  {
    name: "unheard-heartbeats",
    about: "The heartbeat timeout counts from the start of the job.",
    kinds: ["beating"],
    source: {
      file: "src/worker/heartbeat-timeouts.ts",
      find: "    if (this.#silentUntil > dueAt) return this.#armTimer();\n",
      replace: "",
    },
  },
  {
    name: "own-queues",
    about: "An answer about the queues of the cluster has those of one member.",
    needsCluster: true,
    source: {
      file: "src/engine/cluster-overview.ts",
      find: "const others = (member?.members() ?? []).filter(({ isSelf }) => !isSelf);",
      replace: "const others = (member?.members() ?? []).filter(({ isSelf, isOldest }) => !isSelf && isOldest);",
    },
  },
  {
    name: "unnamed-members",
    about: "An answer about the queues of the cluster does not name the members that did not answer.",
    needsCluster: true,
    profile: "network",
    source: {
      file: "src/engine/cluster-overview.ts",
      find: "      unanswered.push(id);\n",
      replace: "",
    },
  },
  {
    name: "tasks-listed-twice",
    about: "A task whose shard moves is listed by both members.",
    needsCluster: true,
    source: {
      file: "src/engine/cluster-overview.ts",
      find: "return before === undefined || comparePlaces(placeOf(before), placeOf(task)) !== 0;",
      replace: "return before === undefined || comparePlaces(placeOf(before), placeOf(task)) <= 0;",
    },
  },
];

/** Throws if the source has changed: then the mutation has to be adapted. */
export function mutatedSource({ file, find, replace }: SourceChange): string {
  const source = readFileSync(new URL(file, root), "utf8");
  const places = source.split(find).length - 1;
  if (places !== 1) throw new Error(`${file} has ${places} places, not one, that the mutation would change: ${find}`);
  return source.replace(find, () => replace);
}

/** Makes the module load with the change. */
export function installSource(change: SourceChange): void {
  const source = mutatedSource(change);
  const path = fileURLToPath(new URL(change.file, root));
  registerHooks({
    load: (url, context, nextLoad) => {
      const loaded = nextLoad(url, context);
      return url.startsWith("file:") && fileURLToPath(url) === path ? { ...loaded, source } : loaded;
    },
  });
}
