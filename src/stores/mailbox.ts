/** Name of a member's mailbox. */
export function mailboxOf(member: string): string {
  return `member:${member}`;
}

/**
 * The mailbox beside it in which a bus on the database leaves messages. The router of the member reads the other one: a
 * message is taken by one of the two.
 */
export function busMailboxOf(member: string): string {
  return `bus:${member}`;
}

/** Every store deletes these together with the member. */
export function mailboxesOf(member: string): readonly [string, string] {
  return [mailboxOf(member), busMailboxOf(member)];
}
