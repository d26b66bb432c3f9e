/** Address of a database, for messages: no part contains a password. */
export interface Address {
  readonly host: string;
  readonly user: string;
  readonly database: string;
  /** The database and its server, such as `heddle on 127.0.0.1:5432`. */
  readonly place: string;
}
