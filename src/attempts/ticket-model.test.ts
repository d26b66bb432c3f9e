/**
 * Both sides of tickets against each other: two hosts of one slot each, a shard that moves, members that crash, and messages
 * that are lost, doubled and reordered.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { type PlacementEvent, type PlacementState, placementStep } from "./placement.ts";
import { type Reservation, type ReservationEvent, reservationStep } from "./reservation.ts";

const slotsOfHost = 1;
const ticketMs = 3;
const attemptCount = 3;

type Message =
  | { readonly type: "Offer"; readonly host: string; readonly ticket: string }
  | { readonly type: "Bound" | "Declined" | "Named"; readonly host: string; readonly ticket: string }
  | {
      readonly type: "Grant";
      readonly host: string;
      readonly ticket: string;
      readonly attempt: number;
      readonly go: number;
      readonly epoch: number;
    }
  | { readonly type: "Answer"; readonly ticket: string; readonly isAccepted: boolean; readonly epoch: number }
  | {
      readonly type: "Find";
      readonly host: string;
      readonly attempt: number;
      readonly go: number;
      readonly epoch: number;
    }
  | { readonly type: "Missing"; readonly attempt: number; readonly go: number; readonly epoch: number }
  | { readonly type: "Report"; readonly host: string; readonly attempt: number; readonly go: number }
  | { readonly type: "Reported"; readonly host: string; readonly attempt: number; readonly go: number };

interface Ticket {
  reservation: Reservation;
  attempt: number;
  go: number;
}

class Host {
  readonly id: string;
  now = 0;
  fence = 0;
  readonly tickets = new Map<string, Ticket>();
  /** Ends that are reported until the owner has them. */
  readonly ended = new Map<number, number>();
  #count = 0;

  constructor(id: string) {
    this.id = id;
  }

  queue(): void {
    const reservation: Reservation = { state: "queued" };
    this.tickets.set(`${this.id}-${this.#count++}`, { reservation, attempt: -1, go: 0 });
  }

  get used(): Ticket[] {
    return [...this.tickets.values()].filter(
      ({ reservation: { state } }) => state === "reserved" || state === "running",
    );
  }

  runsOf(attempt: number): Ticket[] {
    return this.used.filter((ticket) => ticket.reservation.state === "running" && ticket.attempt === attempt);
  }

  step(id: string, event: ReservationEvent): readonly string[] {
    const ticket = this.tickets.get(id);
    if (ticket === undefined) return event.type === "Granted" ? ["refuse"] : [];
    const { next, actions } = reservationStep(ticket.reservation, event);
    ticket.reservation = next;
    return actions;
  }
}

/** An attempt in its history and with its owner. `go` counts its starts, which the start time tells apart. */
interface Attempt {
  /** The host and ticket of the durable start. */
  recorded: { host: string; go: number } | undefined;
  owned: "waiting" | "placing" | "delegated" | "done";
  go: number;
}

interface Placement {
  readonly attempt: number;
  readonly go: number;
  readonly host: string;
  state: PlacementState;
}

class World {
  hosts = new Map<string, Host>();
  net: Message[] = [];
  epoch = 1;
  readonly attempts: Attempt[] = Array.from({ length: attemptCount }, () => {
    return { recorded: undefined, owned: "waiting", go: 0 };
  });
  /** Of the present owner. */
  placements = new Map<string, Placement>();
  readonly answered = new Map<string, boolean>();
  #hostCount = 0;

  constructor() {
    this.addHost();
    this.addHost();
  }

  addHost(): void {
    const host = new Host(`h${this.#hostCount++}`);
    this.hosts.set(host.id, host);
  }

  check(): void {
    for (const host of this.hosts.values()) assert.ok(host.used.length <= slotsOfHost, "no slot is used twice");
    for (const [number, { owned }] of this.attempts.entries()) {
      const runs = [...this.hosts.values()].flatMap((host) => host.runsOf(number));
      assert.ok(runs.length <= 1, "an attempt runs in one place");
      assert.ok(owned !== "done" || runs.length === 0, "an attempt that is done does not run again");
    }
  }

  // The hosts

  reserve(host: Host): void {
    if (host.used.length >= slotsOfHost) return;
    const ticket = [...host.tickets].find(([, { reservation }]) => reservation.state === "queued")?.[0];
    if (ticket === undefined) return;
    host.step(ticket, { type: "Reserved", now: host.now, ticketMs });
    this.net.push({ type: "Offer", host: host.id, ticket });
  }

  pass(host: Host): void {
    host.now++;
    for (const id of host.tickets.keys()) host.step(id, { type: "Expired", now: host.now });
  }

  end(host: Host): void {
    for (const [id, ticket] of host.tickets) {
      if (ticket.reservation.state !== "running") continue;
      host.step(id, { type: "Ended" });
      host.ended.set(ticket.attempt, ticket.go);
      this.net.push({ type: "Report", host: host.id, attempt: ticket.attempt, go: ticket.go });
    }
  }

  crashHost(host: Host): void {
    this.hosts.delete(host.id);
    this.addHost();
    // The owner sees that the host is gone, and that the attempt is lost.
    for (const attempt of this.attempts) {
      if (attempt.owned === "delegated" && attempt.recorded?.host === host.id) this.#takeBack(attempt);
    }
  }

  // The owner

  /** Makes the start durable. */
  commit(ticket: string, placement: Placement): void {
    if (placement.state !== "recording") return;
    const attempt = this.attempts[placement.attempt] as Attempt;
    attempt.recorded = { host: placement.host, go: placement.go };
    attempt.owned = "delegated";
    this.#tell(ticket, placement, "Recorded");
    // The host has been removed meanwhile.
    if (!this.hosts.has(placement.host)) this.#takeBack(attempt);
  }

  cancel(ticket: string, placement: Placement): void {
    if (placement.state !== "recording") return;
    (this.attempts[placement.attempt] as Attempt).owned = "waiting";
    this.#tell(ticket, placement, "Cancelled");
  }

  /** Another member owns the shard: what the last owner had in memory is gone, and what it sent may still arrive. */
  move(): void {
    this.epoch++;
    this.placements = new Map();
    for (const [number, attempt] of this.attempts.entries()) {
      if (attempt.owned === "done") continue;
      const { recorded } = attempt;
      attempt.owned = recorded === undefined ? "waiting" : "delegated";
      if (recorded === undefined) continue;
      if (!this.hosts.has(recorded.host)) this.#takeBack(attempt);
      else this.#find(number, recorded);
    }
  }

  #find(attempt: number, { host, go }: { host: string; go: number }): void {
    this.net.push({ type: "Find", host, attempt, go, epoch: this.epoch });
  }

  #takeBack(attempt: Attempt): void {
    attempt.recorded = undefined;
    attempt.owned = "waiting";
  }

  #grant(ticket: string, { host, attempt, go }: Placement): void {
    this.net.push({ type: "Grant", host, ticket, attempt, go, epoch: this.epoch });
  }

  #tell(ticket: string, placement: Placement, event: PlacementEvent): void {
    const { state, actions } = placementStep(placement.state, event);
    placement.state = state;
    for (const action of actions) {
      if (action === "grant") this.#grant(ticket, placement);
      else if (action === "free") this.net.push({ type: "Declined", host: placement.host, ticket });
      else if (action === "withdraw") this.#takeBack(this.attempts[placement.attempt] as Attempt);
    }
  }

  /** What is repeated until it is answered: grants, questions of a new owner, reports; and tickets that are named. */
  repeat(): void {
    for (const [ticket, placement] of this.placements) {
      if (placement.state === "granting") this.#grant(ticket, placement);
      if (placement.state === "recording") this.net.push({ type: "Named", host: placement.host, ticket });
    }
    const granting = new Set(
      [...this.placements.values()]
        .filter(({ state }) => state === "granting")
        .map(({ go, attempt }) => `${attempt} ${go}`),
    );
    for (const [number, { owned, recorded }] of this.attempts.entries()) {
      if (
        owned === "delegated" &&
        recorded !== undefined &&
        this.epoch > 1 &&
        !granting.has(`${number} ${recorded.go}`)
      )
        this.#find(number, recorded);
    }
    for (const host of this.hosts.values())
      for (const [attempt, go] of host.ended) this.net.push({ type: "Report", host: host.id, attempt, go });
  }

  deliver(message: Message): void {
    switch (message.type) {
      case "Offer":
        return this.#onOffer(message);
      case "Bound":
      case "Named":
        this.hosts.get(message.host)?.step(message.ticket, { type: "Named", now: this.#now(message.host), ticketMs });
        return;
      case "Declined":
        this.hosts.get(message.host)?.step(message.ticket, { type: "Freed" });
        return;
      case "Grant":
        return this.#onGrant(message);
      case "Answer":
        return this.#onAnswer(message);
      case "Find":
        return this.#onFind(message);
      case "Missing": {
        const attempt = this.attempts[message.attempt] as Attempt;
        const isOfNow = message.epoch === this.epoch && attempt.recorded?.go === message.go;
        if (isOfNow && attempt.owned === "delegated") this.#takeBack(attempt);
        return;
      }
      case "Report":
        return this.#onReport(message);
      case "Reported": {
        const ended = this.hosts.get(message.host)?.ended;
        if (ended?.get(message.attempt) === message.go) ended.delete(message.attempt);
        return;
      }
    }
  }

  #now(host: string): number {
    return this.hosts.get(host)?.now ?? 0;
  }

  #onOffer({ host, ticket }: Extract<Message, { type: "Offer" }>): void {
    const known = this.answered.get(ticket);
    const number = this.attempts.findIndex(({ owned }) => owned === "waiting");
    const isBound = known ?? number !== -1;
    this.answered.set(ticket, isBound);
    this.net.push({ type: isBound ? "Bound" : "Declined", host, ticket });
    if (known !== undefined || !isBound) return;
    const attempt = this.attempts[number] as Attempt;
    attempt.owned = "placing";
    this.placements.set(ticket, { attempt: number, go: ++attempt.go, host, state: "recording" });
  }

  #onGrant({ host: id, ticket, attempt, go, epoch }: Extract<Message, { type: "Grant" }>): void {
    const host = this.hosts.get(id);
    if (host === undefined) return;
    const isStale = epoch < host.fence || host.runsOf(attempt).length > 0;
    const actions = host.step(ticket, { type: "Granted", now: host.now, isStale });
    const held = host.tickets.get(ticket);
    if (actions.includes("run") && held !== undefined) Object.assign(held, { attempt, go });
    this.net.push({ type: "Answer", ticket, isAccepted: actions.includes("accept"), epoch });
  }

  #onAnswer({ ticket, isAccepted, epoch }: Extract<Message, { type: "Answer" }>): void {
    const placement = this.placements.get(ticket);
    if (placement === undefined || epoch !== this.epoch) return;
    const attempt = this.attempts[placement.attempt] as Attempt;
    const isDelegated = attempt.owned === "delegated" && attempt.recorded?.go === placement.go;
    const late = isDelegated ? "" : "Late";
    this.#tell(ticket, placement, `${isAccepted ? "Accepted" : "Refused"}${late}`);
  }

  #onFind({ host: id, attempt, go, epoch }: Extract<Message, { type: "Find" }>): void {
    const host = this.hosts.get(id);
    if (host === undefined) return;
    host.fence = Math.max(host.fence, epoch);
    const isHere = host.runsOf(attempt).length > 0 || host.ended.has(attempt);
    if (!isHere) this.net.push({ type: "Missing", attempt, go, epoch });
  }

  #onReport({ host, attempt: number, go }: Extract<Message, { type: "Report" }>): void {
    const attempt = this.attempts[number] as Attempt;
    if (attempt.owned === "delegated" && attempt.recorded?.go === go) attempt.owned = "done";
    this.net.push({ type: "Reported", host, attempt: number, go });
  }

  /** Without faults everything ends, and no slot is left behind. */
  settle(): void {
    for (let rounds = 0; rounds < 60; rounds++) {
      for (const [ticket, placement] of this.placements) this.commit(ticket, placement);
      this.repeat();
      for (const host of this.hosts.values()) {
        if (this.attempts.some(({ owned }) => owned === "waiting")) host.queue();
        this.reserve(host);
      }
      for (const message of this.net.splice(0)) {
        this.deliver(message);
        this.check();
      }
      for (const host of this.hosts.values()) {
        this.end(host);
        this.pass(host);
      }
    }
    assert.deepEqual(
      this.attempts.map(({ owned }) => owned),
      this.attempts.map(() => "done"),
    );
    for (const host of this.hosts.values()) assert.equal(host.used.length, 0, "no slot leaks");
  }
}

type Op = readonly [number, number];

function apply(world: World, [op, pick]: Op): void {
  const hosts = [...world.hosts.values()];
  const host = hosts[pick % hosts.length] as Host;
  const place = world.net.length === 0 ? 0 : pick % world.net.length;
  const placements = [...world.placements];
  const placed = placements[pick % Math.max(1, placements.length)];
  const message = world.net[place];
  if (op < 3) host.queue();
  else if (op < 6) world.reserve(host);
  else if (op < 16) {
    if (message !== undefined) world.deliver(...(world.net.splice(place, 1) as [Message]));
  } else if (op === 16) world.net.splice(place, 1);
  else if (op === 17) {
    if (message !== undefined) world.net.push(message);
  } else if (op < 21) {
    if (placed !== undefined) world.commit(...placed);
  } else if (op === 21) {
    if (placed !== undefined) world.cancel(...placed);
  } else if (op === 22) world.pass(host);
  else if (op === 23) world.end(host);
  else if (op === 24) world.repeat();
  else if (op === 25) world.move();
  else world.crashHost(host);
}

test("10.3 whatever is lost, doubled, reordered or crashes: no slot is used twice or leaks, no attempt runs in two places", () => {
  const ops = fc.array(fc.tuple(fc.nat(26), fc.nat(1000)), { maxLength: 120, size: "max" });
  fc.assert(
    fc.property(ops, (all) => {
      const world = new World();
      for (const op of all) {
        apply(world, op);
        world.check();
      }
      world.settle();
    }),
    { numRuns: 2000 },
  );
});
