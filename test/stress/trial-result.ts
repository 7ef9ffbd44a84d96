/** What a trial found. */
export interface TrialResult<Figure extends number | string = number | string> {
  ok: boolean;
  figures: Record<string, Figure>;
  /** One line for each promise that was broken. */
  problems: string[];
}
