/** An address to which a path can be appended. */
export function withoutEndSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === "/") end--;
  return url.slice(0, end);
}
