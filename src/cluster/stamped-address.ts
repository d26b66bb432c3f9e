/** Separator between a member's address and the stamp of its process. */
const mark = " @";

export function withStamp(address: string, stamp: string | undefined): string {
  return stamp === undefined ? address : `${address}${mark}${stamp}`;
}

export function withoutStamp(stamped: string): string {
  return stamped.split(mark)[0] as string;
}

export function stampOf(stamped: string): string | undefined {
  return stamped.split(mark)[1];
}
