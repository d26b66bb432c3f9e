/** A store that a thread has opened for itself, to renew a lease. */
export interface LeaseConnection {
  open(): Promise<void>;
  renewLease(member: string, atLeast: number): Promise<boolean>;
  close(): Promise<void>;
}

/** The class of a store, by which a thread makes one of its own: neither stores nor sockets can be passed to it. */
export interface LeaseConnectionSource {
  /** URL of the module that exports the class. */
  readonly module: string;
  readonly className: string;
  /** Passed to the constructor; the thread gets a copy. */
  readonly options: unknown;
}

export async function connectForLease({ module, className, options }: LeaseConnectionSource): Promise<LeaseConnection> {
  const classes = (await import(module)) as Record<string, new (options: unknown) => LeaseConnection>;
  const Connection = classes[className];
  if (Connection === undefined) throw new TypeError(`${module} exports no class ${className}`);
  const connection = new Connection(options);
  await connection.open();
  return connection;
}
