import { finding } from "./source.ts";
import type { Finding, Source } from "./source.ts";

/** What a comment must not be. */
const inComments: readonly { readonly pattern: RegExp; readonly what: string }[] = [
  { pattern: /\b(?:TODO|FIXME|XXX|HACK)\b/, what: "a note to oneself: do it, or open an issue" },
  { pattern: /@ts-(?:ignore|nocheck)/, what: "the compiler is switched off" },
  { pattern: /@ts-expect-error\s*$/, what: "an expected error without its reason" },
  { pattern: /(?:oxlint|eslint)-disable(?!.* -- \S)/, what: "a lint exception without its reason (-- because …)" },
];

export function comments(source: Source): Finding[] {
  return source.comments.flatMap((comment) =>
    inComments
      .filter(({ pattern }) => pattern.test(comment.value))
      .map(({ what }) => finding(source, comment.start, what)),
  );
}

/** What no file of the repository holds, code or not: places that exist only for whoever wrote it. */
const anywhere: readonly { readonly pattern: RegExp; readonly what: string }[] = [
  { pattern: /https?:\/\/[\w.-]*(?:registry|npmjs|artifactory|nexus)[\w.-]*/i, what: "the address of a registry" },
  { pattern: /^\s*(?:@[\w-]+:)?registry\s*=/m, what: "the address of a registry" },
  { pattern: /"resolved"\s*:\s*"http/, what: "a lock file that is bound to one registry" },
  { pattern: /(?<![\w.])\/(?:root|home\/\w+|Users\/\w+)\//, what: "a path of one machine" },
  { pattern: /^(?:<{7}|>{7}) /m, what: "an unfinished merge" },
];

export function places(path: string, text: string): Finding[] {
  return anywhere.flatMap(({ pattern, what }) => {
    const match = pattern.exec(text);
    return match === null ? [] : [{ path, line: text.slice(0, match.index).split("\n").length, what }];
  });
}
