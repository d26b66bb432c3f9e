import { CodeSharing, type CodeSharingParts } from "./code-sharing.ts";
import { SlotSharing, type SlotSharingParts } from "./slot-sharing.ts";

export interface MemberSharingParts
  extends SlotSharingParts, Omit<CodeSharingParts, "code" | "ask" | "region" | "members"> {
  /** Undefined if no host of code may connect. */
  readonly code: CodeSharingParts["code"] | undefined;
  readonly ask: SlotSharingParts["ask"] & CodeSharingParts["ask"];
}

/** What members do for each other's instances: their slots run attempts, and their hosts of code answer questions. */
export class MemberSharing {
  readonly slots: SlotSharing;
  readonly code: CodeSharing | undefined;

  constructor({ code, ...parts }: MemberSharingParts) {
    this.slots = new SlotSharing(parts);
    if (code !== undefined) this.code = new CodeSharing({ ...parts, code });
  }

  /** Answers another member. Undefined if the question is about neither. */
  answer(body: unknown): { readonly value: unknown } | undefined {
    return this.slots.answer(body) ?? this.code?.answer(body);
  }

  start(): void {
    this.slots.start();
    this.code?.start();
  }

  clear(): void {
    this.slots.clear();
    this.code?.clear();
  }

  stop(): void {
    this.slots.stop();
    this.code?.stop();
  }
}
