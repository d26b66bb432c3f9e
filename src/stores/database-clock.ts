/** The clock of an embedded database, in ms since 1970. Servers have their own. */
export interface DatabaseClock {
  now(): number;
}

export const machineClock: DatabaseClock = { now: () => Date.now() };
