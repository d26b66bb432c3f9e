import { elapsedMsBetween, type Moment } from "../base/moment.ts";
import type { ClusterView, MemberRow } from "../stores/store.ts";
import type { ClusterTimings } from "./timings.ts";
import { memberLeaseMs } from "./timings.ts";

/** The detector missed heartbeats if two views were asked for further apart than this many beats. */
const beatsApartMax = 2;

export type DetectorTimings = Pick<ClusterTimings, "beatMs" | "suspectMs" | "lostMs">;

/** The times between which a view was on its way. */
export interface ViewTimes {
  readonly asked: Moment;
  readonly arrived: Moment;
}

/** A change of another member, found by comparing two views. */
export type DetectorEvent =
  | { readonly type: "joined" | "left" | "lost" | "returned"; readonly member: string; readonly address: string }
  | { readonly type: "suspected"; readonly member: string; readonly address: string; readonly silentMs: number };

export interface Findings {
  readonly events: DetectorEvent[];
  /** Members that were silent for so long that they must be removed. */
  readonly lost: MemberRow[];
}

/** The last state in which another member was seen. */
interface WatchedMember {
  readonly row: MemberRow;
  /** Time at which the first view with this heartbeat arrived, on this member's monotonic clock. */
  since: number;
  /** A lower bound of when this heartbeat was sent; unknown for members of the first view. */
  readonly livedAt: Moment | undefined;
  isSuspected: boolean;
  /** True if the member's process is known to have ended. */
  hasDied: boolean;
}

/**
 * Failure detector over the heartbeat counters in the store: compares each view of the cluster with the one before, and
 * reports members that joined, left, became silent or returned. It has no clock and no I/O; the times of a view are
 * passed in.
 *
 * F1  Silence is counted from the arrival of the first view that shows a heartbeat to the request of the last view that
 *     shows the same one, so it is never longer than the real silence.
 * F2  Time in which this member saw no view itself is not counted (`#forgive`).
 */
export class FailureDetector {
  readonly #timings: DetectorTimings;
  readonly #others = new Map<string, WatchedMember>();
  /** Time at which the last view was requested; undefined before the first. */
  #asked: Moment | undefined;

  constructor(timings: DetectorTimings) {
    this.#timings = timings;
  }

  /** Compares the view with the one before. Members of the first view are not reported as joined. */
  observe(view: ClusterView, me: string, { asked, arrived }: ViewTimes): Findings {
    const livedAt = this.#asked;
    const findings: Findings = { events: [], lost: [] };
    this.#forgive({ asked, arrived });
    const rows = new Map(view.members.map((row) => [row.id, row]));
    rows.delete(me);
    for (const [member, other] of this.#others) {
      if (rows.has(member)) continue;
      this.#others.delete(member);
      const type = this.#mayBeLost(other, arrived) || ownsShard(member, view) ? "lost" : "left";
      findings.events.push({ type, member, address: other.row.address });
    }
    for (const [member, row] of rows) {
      const other = this.#others.get(member);
      if (other?.row.heartbeat === row.heartbeat) {
        this.#checkSilence(other, asked.monotonic, findings);
        continue;
      }
      this.#others.set(member, { row, since: arrived.monotonic, livedAt, isSuspected: false, hasDied: false });
      if (other === undefined && livedAt !== undefined)
        findings.events.push({ type: "joined", member, address: row.address });
      if (other?.isSuspected) findings.events.push({ type: "returned", member, address: row.address });
    }
    return findings;
  }

  /** Records that the processes of these members have ended, so that their removal is reported as `lost`, not as `left`. */
  markDead(rows: readonly MemberRow[]): void {
    for (const { id } of rows) {
      const other = this.#others.get(id);
      if (other !== undefined) other.hasDied = true;
    }
  }

  /** Another member may have watched it for longer than this one, and may have removed it for its silence. */
  #mayBeLost({ isSuspected, hasDied, livedAt }: WatchedMember, arrived: Moment): boolean {
    if (isSuspected || hasDied || livedAt === undefined) return true;
    return elapsedMsBetween(livedAt, arrived) >= memberLeaseMs(this.#timings);
  }

  /**
   * Does not count the time in which this member saw nothing (F2): after an outage of the store for all members, the
   * first member that reaches it again must not report all others as lost.
   */
  #forgive({ asked, arrived }: ViewTimes): void {
    const apartMs = asked.monotonic - (this.#asked ?? asked).monotonic;
    this.#asked = asked;
    const unseenMs = apartMs - beatsApartMax * this.#timings.beatMs;
    if (unseenMs <= 0) return;
    for (const other of this.#others.values()) other.since = Math.min(other.since + unseenMs, arrived.monotonic);
  }

  /** Suspects a member whose heartbeat has not changed for `suspectMs`, and reports it as lost `lostMs` later. */
  #checkSilence(other: WatchedMember, asked: number, { events, lost }: Findings): void {
    const { suspectMs, lostMs } = this.#timings;
    const { id: member, address } = other.row;
    const silentMs = asked - other.since;
    if (silentMs >= suspectMs && !other.isSuspected) {
      other.isSuspected = true;
      events.push({ type: "suspected", member, address, silentMs });
    }
    if (silentMs >= suspectMs + lostMs) lost.push(other.row);
  }
}

/** A member that leaves in good order releases its shards first. */
function ownsShard(member: string, { shards }: ClusterView): boolean {
  return shards.some(({ owner, released }) => owner === member && !released);
}
