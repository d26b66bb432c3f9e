/** Name of a member's mailbox. Every store deletes it together with the member. */
export function mailboxOf(member: string): string {
  return `member:${member}`;
}
