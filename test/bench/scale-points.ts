/**
 * The points that the model is fitted to. Benchmark "scale" measured them on two cores with nothing else on the machine. Each is of one
 * run, except that "paced" and "crowd" with one server are means of two, and "stores" with 4 is the median of three, one of them with a
 * million ended jobs.
 */
export interface Point {
  what: string;
  nodes: number;
  /** Finished captures, from the first submission until the last end. */
  perSecond: number;
  /** Statements per capture, those without a capture included. */
  statements: number;
  /** Servers that notifications wake, per capture. */
  wakeUps: number;
  /** Processor time of the database per capture. */
  processorMs: number;
}

export const POINTS: readonly Point[] = [
  { what: 'stores', nodes: 1, perSecond: 310, statements: 2.7, wakeUps: 0, processorMs: 2.26 },
  { what: 'stores', nodes: 2, perSecond: 400, statements: 2.4, wakeUps: 0, processorMs: 2.1 },
  { what: 'stores', nodes: 4, perSecond: 713, statements: 2.1, wakeUps: 0.01, processorMs: 1.78 },
  { what: 'stores, 1,000 accounts', nodes: 4, perSecond: 430, statements: 2.8, wakeUps: 0, processorMs: 2.41 },
  { what: 'stores', nodes: 8, perSecond: 610, statements: 1.9, wakeUps: 0.09, processorMs: 1.76 },
  { what: 'stores', nodes: 16, perSecond: 584, statements: 1.7, wakeUps: 0.23, processorMs: 2.15 },
  { what: 'paced', nodes: 1, perSecond: 58, statements: 7.3, wakeUps: 0, processorMs: 4.99 },
  { what: 'crowd', nodes: 1, perSecond: 110, statements: 6.95, wakeUps: 0.35, processorMs: 3.75 },
  { what: 'paced', nodes: 4, perSecond: 56, statements: 7.6, wakeUps: 0, processorMs: 5.28 },
  { what: 'crowd', nodes: 4, perSecond: 68, statements: 8.4, wakeUps: 1.4, processorMs: 5.54 },
  { what: 'paced, 1,000 accounts', nodes: 4, perSecond: 55, statements: 8.0, wakeUps: 0, processorMs: 5.23 },
  { what: 'crowd, 1,000 accounts', nodes: 4, perSecond: 63, statements: 10.0, wakeUps: 1.9, processorMs: 6.31 },
  { what: 'paced, webhooks', nodes: 4, perSecond: 54, statements: 12.6, wakeUps: 0.02, processorMs: 8.14 },
  { what: 'crowd, webhooks', nodes: 4, perSecond: 63, statements: 13.5, wakeUps: 1.46, processorMs: 6.85 },
  { what: 'paced, keys', nodes: 4, perSecond: 57, statements: 9.1, wakeUps: 0, processorMs: 5.46 },
  { what: 'crowd, keys', nodes: 4, perSecond: 101, statements: 9.3, wakeUps: 1.27, processorMs: 4.36 },
  { what: 'paced', nodes: 8, perSecond: 58, statements: 8.9, wakeUps: 0, processorMs: 6.77 },
  { what: 'crowd', nodes: 8, perSecond: 63, statements: 10.7, wakeUps: 3.48, processorMs: 8.1 },
  { what: 'paced', nodes: 16, perSecond: 50, statements: 10.4, wakeUps: 0, processorMs: 8.15 },
  { what: 'crowd', nodes: 16, perSecond: 50, statements: 13.0, wakeUps: 8.21, processorMs: 10.55 },
];
