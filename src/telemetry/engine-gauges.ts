import { Counter, Gauge, type Registry } from "prom-client";
import type { Engine } from "../engine/engine.ts";
import { LostMembers } from "./lost-members.ts";

export type GaugedEngine = Pick<Engine, "health" | "members" | "onMemberEvent" | "countWaitReasons">;

interface Reading {
  readonly engine: GaugedEngine;
  readonly lost: LostMembers;
  readonly now: number;
}

interface EngineGauge {
  readonly name: string;
  readonly help: string;
  read(reading: Reading): number;
}

const counters: readonly EngineGauge[] = [
  {
    name: "dag_worker_messages_refused_total",
    help: "Messages of remote workers that violated the protocol; each closed the worker's connection.",
    read: ({ engine }) => engine.health.refusedWorkerMessages,
  },
];

const gauges: readonly EngineGauge[] = [
  {
    name: "dag_queue_waiting_size",
    help: "Tasks whose dependencies have finished and that wait for a slot, domain, job, limit, resume or retry; on this member.",
    read: ({ engine }) => engine.health.waitingTasks,
  },
  {
    name: "dag_queue_running_size",
    help: "Running attempts, on this member.",
    read: ({ engine }) => engine.health.runningTasks,
  },
  {
    name: "dag_task_running_oldest_seconds",
    help: "Running time of the oldest running attempt; 0 if none runs.",
    read: ({ engine, now }) => Math.max(0, now - (engine.health.oldestRunningAt ?? now)) / 1000,
  },
  {
    name: "dag_mailbox_size",
    help: "Messages to instances that no turn has processed yet.",
    read: ({ engine }) => engine.health.unreadMessages,
  },
  {
    name: "dag_instances_in_memory",
    help: "Instances in memory.",
    read: ({ engine }) => engine.health.instancesInMemory,
  },
  {
    name: "dag_cluster_members",
    help: "Members, as this one sees them; 1 for a single engine.",
    read: ({ engine }) => membersOf(engine).total,
  },
  {
    name: "dag_cluster_members_up",
    help: "Members that are not suspected.",
    read: ({ engine }) => membersOf(engine).total - membersOf(engine).suspected,
  },
  {
    name: "dag_cluster_unreachable",
    help: "Members that are suspected, or were declared dead in the last 15 minutes and not replaced.",
    read: ({ engine, lost, now }) => membersOf(engine).suspected + lost.count(now),
  },
  {
    name: "dag_cluster_bus_connected",
    help: "0 while the bus to other members is away and they poll the store; otherwise 1, also without a bus.",
    read: ({ engine }) => (engine.health.bus?.isConnected === false ? 0 : 1),
  },
  {
    name: "dag_cluster_workers",
    help: "Workers of this member, including its own pool.",
    read: ({ engine }) => engine.health.workers,
  },
];

/** Registers gauges that read the engine at each scrape. Returns a function that removes it. */
export function gaugeEngine(registry: Registry, engine: GaugedEngine, now: () => number): () => void {
  const lost = new LostMembers();
  for (const gauge of gauges) {
    const { name, help } = gauge;
    const collect = function (this: Gauge): void {
      this.set(gauge.read({ engine, lost, now: now() }));
    };
    registry.registerMetric(new Gauge({ name, help, collect, registers: [] }));
  }
  registry.registerMetric(reasonGauge(engine));
  for (const counter of counters) {
    const { name, help } = counter;
    const collect = function (this: Counter): void {
      this.reset();
      this.inc(counter.read({ engine, lost, now: now() }));
    };
    registry.registerMetric(new Counter({ name, help, collect, registers: [] }));
  }
  return engine.onMemberEvent((event) => lost.observe(event, now()));
}

function reasonGauge(engine: GaugedEngine): Gauge {
  return new Gauge({
    name: "dag_queue_waiting_reason_size",
    help: "The tasks of dag_queue_waiting_size by the reason why they wait; on this member.",
    labelNames: ["reason"],
    registers: [],
    collect() {
      this.reset();
      for (const [reason, count] of engine.countWaitReasons()) this.set({ reason }, count);
    },
  });
}

function membersOf(engine: GaugedEngine): { total: number; suspected: number } {
  const { status } = engine.health;
  const members = engine.members();
  if (members.length === 0) return { total: status === "new" || status === "stopped" ? 0 : 1, suspected: 0 };
  return { total: members.length, suspected: members.filter(({ isSuspected }) => isSuspected).length };
}
