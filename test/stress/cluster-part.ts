/** What the parts of trial "cluster" have in common. */
import type { PostgresServer } from '../fixtures/postgres.js';

export interface PartOptions {
  /** Kills of nodes. */
  kills: number;
  /** Restarts of the database; statements whose answer is lost, of each kind. */
  restarts: number;
  /** Seconds that nodes work with wrong clocks; a lease lasts 30. */
  seconds: number;
  /** Partitions of a node from the database; replacements of all servers. */
  rounds: number;
  /** Captures of which times are compared; 0: none are. */
  measured: number;
  /** The number of submissions of the stampede, a hundred for each key. */
  submissions: number;
  /** Servers that are replaced. */
  servers: number;
  /** 0: they are replaced by servers of the next version alone. */
  sameVersion: number;
  trustsOwnClock: number;
  seed: number;
}

export interface PartFound {
  figures: Record<string, number | string>;
  problems: string[];
}

export type Part = (server: PostgresServer, options: PartOptions) => Promise<PartFound>;
