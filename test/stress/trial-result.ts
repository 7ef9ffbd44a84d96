/** What a trial found. */
export interface TrialResult<Figure extends number | string = number | string> {
  figures: Record<string, Figure>;
  /** One line for each promise that was broken; none: the trial held. */
  problems: string[];
}
