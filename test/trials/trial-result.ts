import { setTimeout as pause } from 'node:timers/promises';

/** The figures and problems of a trial. */
export interface TrialResult<Figure extends number | string = number | string> {
  figures: Record<string, Figure>;
  /** One line for each promise that was broken; none: the trial held. */
  problems: string[];
}

/** The description of a fault, and whether there is one. */
export type Fault = [told: string, isSo: boolean];

export const faultsOf = (faults: Fault[]): string[] => faults.flatMap(([told, isSo]) => (isSo ? [told] : []));

/** A comma list of numbers from the command line, or all that the trial has. */
export function listOf(given: string | number | undefined, all: number[]): number[] {
  return given === undefined ? all : String(given).split(',').map(Number);
}

export const firstOf = (count: number): number[] => [...Array(count).keys()];

export function tally(names: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${name} ${count}`).join(', ');
}

/** Polls what no event reports. @returns false when it takes longer than `withinMs` */
export async function until(holds: () => unknown, withinMs = Number.POSITIVE_INFINITY, everyMs = 20): Promise<boolean> {
  for (const by = performance.now() + withinMs; !(await holds()); await pause(everyMs)) {
    if (performance.now() > by) return false;
  }
  return true;
}

export const allOf = <Resource extends AsyncDisposable>(all: Resource[]): { all: Resource[] } & AsyncDisposable => ({
  all,
  [Symbol.asyncDispose]: async () => void (await Promise.all(all.map((one) => one[Symbol.asyncDispose]()))),
});
