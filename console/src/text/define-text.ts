import { usePreferences } from "../base/preferences.ts";

type Phrase = string | ((...args: never[]) => string);

/** The same phrases in both languages: a missing one, or one with other arguments, does not compile. */
export interface Bilingual<T> {
  readonly en: T;
  readonly zh: { readonly [K in keyof T]: T[K] extends string ? string : T[K] };
}

export function defineText<T extends Readonly<Record<string, Phrase>>>(both: Bilingual<T>): Bilingual<T> {
  return both;
}

/** The phrases in the chosen language. */
export function useText<T>(both: Bilingual<T>): Bilingual<T>["zh"] {
  const { language } = usePreferences();
  return language === "zh" ? both.zh : (both.en as Bilingual<T>["zh"]);
}
