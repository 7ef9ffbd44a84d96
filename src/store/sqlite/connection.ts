import type { Vault } from '../vault.js';
import { type Db, reconnect } from './connect.js';
import { prepareTables, type Tables } from './tables.js';

/** The open database and its prepared statements, which are replaced together when the connection becomes unusable. */
export class Connection {
  /** This object stays the same; the tables in it are replaced by each `reopen`. */
  readonly tables: Tables;
  #db: Db;

  constructor(
    db: Db,
    private readonly vault: Vault,
  ) {
    this.#db = db;
    this.tables = prepareTables(db, vault);
  }

  get db(): Db {
    return this.#db;
  }

  /** Opens the database again, which undoes the writes of a running transaction. If it throws, the former connection stays. */
  reopen(): void {
    const former = this.#db;
    const db = reconnect(former.name);
    Object.assign(this.tables, prepareTables(db, this.vault));
    this.#db = db;
    former.close();
  }
}
