import type { Statement } from 'better-sqlite3';
import { toFields } from '../queries.js';
import { type Db, reconnect } from './connect.js';

/** Statements in the form of `Queries`, but synchronous: the caller owns the transaction. */
export interface Sql {
  all<Found>(text: string, values?: readonly unknown[]): Found[];
  one<Found>(text: string, values?: readonly unknown[]): Found | null;
  run(text: string, values?: readonly unknown[]): number;
}

/** The open database and its prepared statements, which are replaced together when the connection becomes unusable. */
export class Connection implements Sql {
  #db: Db;
  #statements = new Map<string, Statement<[object], object>>();

  constructor(db: Db) {
    this.#db = db;
  }

  get db(): Db {
    return this.#db;
  }

  all<Found>(text: string, values: readonly unknown[] = []): Found[] {
    return this.#prepared(text)
      .all(named(values))
      .map((row) => toFields<Found>(row));
  }

  one<Found>(text: string, values: readonly unknown[] = []): Found | null {
    const row = this.#prepared(text).get(named(values));
    return row === undefined ? null : toFields<Found>(row);
  }

  run(text: string, values: readonly unknown[] = []): number {
    return this.#prepared(text).run(named(values)).changes;
  }

  /** Opens the database again, which undoes the writes of a running transaction. If it throws, the former connection stays. */
  reopen(): void {
    const former = this.#db;
    this.#db = reconnect(former.name);
    this.#statements.clear();
    former.close();
  }

  #prepared(text: string): Statement<[object], object> {
    let statement = this.#statements.get(text);
    if (statement === undefined) {
      statement = this.#db.prepare<[object], object>(text);
      this.#statements.set(text, statement);
    }
    return statement;
  }
}

/** Names parameters by their numbers: the first value is that of `$1`. */
function named(values: readonly unknown[]): object {
  return Object.fromEntries(values.map((value, i) => [i + 1, value]));
}
