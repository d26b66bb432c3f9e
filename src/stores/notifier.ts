/** A message to a mailbox. */
export interface Mail {
  readonly mailbox: string;
  readonly body: string;
  readonly at: number;
}

export interface NotifierOptions {
  /** The mailbox that this session waits for. */
  readonly mailbox: string;
  /** Another process has posted something to the mailbox. */
  readonly onNotified: () => void;
}

/**
 * One session of a database that wakes other processes when it posts to their mailboxes, and is woken by them. It promises
 * nothing: a crash of the database may lose what was posted, and a lost session hears nothing. Calls are made one at a
 * time, each is one round trip, and after one that failed the session is of no more use.
 */
export interface Notifier {
  /** Resolves with the reason when the session is lost, or was closed. */
  readonly lost: Promise<unknown>;
  /** Posts all of it, and wakes each mailbox's owner once. */
  post(mails: readonly Mail[]): Promise<void>;
  /** Takes the oldest messages out of the mailbox. */
  take(limit: number): Promise<string[]>;
  /** Never rejects. */
  close(): Promise<void>;
}
