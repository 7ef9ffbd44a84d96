/** One printed figure: what was measured, and its value with the unit. */
export interface Figure {
  what: string;
  value: string;
  /** The required value; empty where there is none. */
  goal: string;
}

export function ratio(a: number, b: number): string {
  return `${(a / b).toFixed(2)} ×`;
}

/** The value below which the share `p` (0 to 1) of the sorted values lies. */
export function quantile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? Number.NaN;
}
