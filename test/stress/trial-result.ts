/** The figures and problems of a trial. */
export interface TrialResult<Figure extends number | string = number | string> {
  figures: Record<string, Figure>;
  /** One line for each promise that was broken; none: the trial held. */
  problems: string[];
}

/** A comma list of numbers from the command line, or all that the trial has. */
export function listOf(given: string | number | undefined, all: number[]): number[] {
  return given === undefined ? all : String(given).split(',').map(Number);
}
