/** True if the name fits the pattern, in which * stands for any characters and ? for one. In time of the product of their lengths at most. */
export function isWildcardMatch(pattern: string, name: string): boolean {
  let [at, place, star, retry] = [0, 0, -1, 0];
  while (place < name.length) {
    if (pattern[at] === "*") {
      star = at++;
      retry = place;
    } else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[place])) {
      at++;
      place++;
    } else if (star !== -1) {
      at = star + 1;
      place = ++retry;
    } else return false;
  }
  while (pattern[at] === "*") at++;
  return at === pattern.length;
}
