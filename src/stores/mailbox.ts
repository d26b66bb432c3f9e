/** The box of the mail for one member. It goes with the member: every store knows it by this name. */
export function mailboxOf(member: string): string {
  return `member:${member}`;
}
