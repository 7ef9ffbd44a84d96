/**
 * Models how much of one PostgreSQL a number of servers takes. The model is fitted to the points that benchmark "scale" has measured, and
 * plans more servers than one machine can measure. test/bench/model.test.ts checks the plans of docs/several-machines.md.
 */
import type { Point } from './scale-points.js';

export type Load = Omit<Point, 'what' | 'processorMs'>;

/** Processor time of the database in ms. */
export interface Costs {
  /** The cost of a capture, besides its statements. */
  capture: number;
  statement: number;
  /** The further cost of a statement at one capture a second, since its data has left the processor's caches. At n a second, it is the nth part. */
  rare: number;
  /** The cost of a server in a second. */
  server: number;
  /** The cost of a server that a notification wakes. */
  wakeUp: number;
}

const NAMES = ['capture', 'statement', 'rare', 'server', 'wakeUp'] as const;

function featuresOf({ nodes, perSecond, statements, wakeUps }: Load): number[] {
  return [1, statements, statements / perSecond, nodes / perSecond, wakeUps];
}

/** Fits the costs to points by least squares of the relative errors. */
export function fitCosts(points: readonly Point[]): Costs {
  const rows = points.map((point) => featuresOf(point).map((feature) => feature / point.processorMs));
  const products = NAMES.map((_, i) => NAMES.map((_, j) => sum(rows.map((row) => at(row, i) * at(row, j)))));
  const sums = NAMES.map((_, i) => sum(rows.map((row) => at(row, i))));
  const solved = solve(products, sums);
  return Object.fromEntries(NAMES.map((name, i) => [name, at(solved, i)])) as unknown as Costs;
}

/** Predicts the processor time of the database for a capture, in ms. */
export function processorMsOf(costs: Costs, load: Load): number {
  return sum(featuresOf(load).map((feature, i) => feature * costs[at(NAMES, i)]));
}

/** Solves linear equations by Gaussian elimination, for a matrix that needs no exchange of rows, such as one of products. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((row, i) => [...row, at(right, i)]);
  for (const [column, pivot] of rows.entries()) {
    for (const row of rows) {
      const factor = row === pivot ? 0 : at(row, column) / at(pivot, column);
      for (const j of row.keys()) row[j] = at(row, j) - factor * at(pivot, j);
    }
  }
  return rows.map((row, i) => at(row, rows.length) / at(row, i));
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const at = <Value>(values: readonly Value[], i: number): Value => values[i] as Value;

/** Assumptions of the plans. The prices are dollars of ordinary cloud providers. */
export const ASSUMED = {
  /** Processor time of a server for a capture in ms, from the results of benchmark "captures". */
  captureMs: 440,
  coresPerServer: 2,
  /** The share of the processors that is used on average. */
  use: 0.6,
  /** Statements of a capture without a webhook, when captures are so few on each server that they share none. */
  statements: 6.5,
  /** Statements of a server in a second without captures. */
  idleStatements: 11,
  /** Notifications per capture, each of which wakes all servers. */
  notifications: 0.005,
  walKb: 8,
  /** Processor time of a capture under the lock of claims, in ms. */
  lockedMs: 0.5,
  connectionsPerServer: 11,
  serverCoreHour: 0.04,
  databaseCoreHour: 0.1,
  /** Dollars for a million pictures of 100 kB, kept for 30 days, with their uploads. */
  storage: 7.3,
};

export interface Plan {
  nodes: number;
  perSecond: number;
  /** Processor time of the database per capture. */
  processorMs: number;
  /** Processors of the database when each is used as much as is assumed. */
  databaseCores: number;
  walMbPerSecond: number;
  connections: number;
  /** The share of the time for which the lock of claims is held; at 1, no more captures are claimed. */
  lockShare: number;
  /** Dollars for a million pictures. */
  million: { servers: number; database: number; storage: number };
}

/** Plans servers that are as busy as is assumed. */
export function plan(costs: Costs, nodes: number): Plan {
  const { captureMs, coresPerServer, use, walKb, lockedMs, storage } = ASSUMED;
  const perSecond = (nodes * coresPerServer * use * 1_000) / captureMs;
  const statements = ASSUMED.statements + (ASSUMED.idleStatements * nodes) / perSecond;
  const wakeUps = ASSUMED.notifications * nodes;
  const processorMs = processorMsOf(costs, { nodes, perSecond, statements, wakeUps });
  const databaseCores = (perSecond * processorMs) / 1_000 / use;
  const hours = 1e6 / perSecond / 3_600;
  return {
    nodes,
    perSecond,
    processorMs,
    databaseCores,
    walMbPerSecond: (perSecond * walKb) / 1_000,
    connections: nodes * ASSUMED.connectionsPerServer,
    lockShare: (perSecond * lockedMs) / 1_000,
    million: {
      servers: nodes * coresPerServer * ASSUMED.serverCoreHour * hours,
      database: Math.max(1, Math.ceil(databaseCores)) * ASSUMED.databaseCoreHour * hours,
      storage,
    },
  };
}
