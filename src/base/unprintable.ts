/** Control characters, line separators, and what changes the direction of text: names are shown in logs and terminals. */
const unprintable = /[\p{Cc}\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/u;

export function hasUnprintable(text: string): boolean {
  return unprintable.test(text);
}

export const unprintableMessage = "must not have control characters or characters that change the direction of text";
