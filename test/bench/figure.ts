/** One printed figure: what was measured, its value with the unit, and the required value where there is one. */
export type Figure = [what: string, value: string, goal?: string];

export const ratio = (a: number, b: number): string => `${(a / b).toFixed(2)} ×`;

export const ms = (value: number, digits = 0): string => `${value.toFixed(digits)} ms`;

/** The value below which the share `p` (0 to 1) of the sorted values lies. */
export function quantile(values: readonly number[], p: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(p * sorted.length))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);
