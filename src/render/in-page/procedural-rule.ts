/** A rule of a filter list that no style sheet can express: elements are found step by step, then something is done to them. */
export interface ProceduralRule {
  steps: Step[];
  action: 'hide' | 'style' | 'remove' | 'remove-attr' | 'remove-class';
  /** The declarations, attribute or class that the action is about. */
  value: string;
}

/**
 * One step, from the elements found so far to the next ones:
 * `find` and `is` are CSS, among what is below or beside them and among themselves; the others are uBlock Origin's operators.
 */
export type Step =
  | { op: 'find' | 'is' | Operator; arg: string }
  | {
      op: 'has' | 'not';
      /** Alternatives. */
      of: Step[][];
    };

export type Operator =
  | 'has-text'
  | 'matches-attr'
  | 'matches-css'
  | 'matches-css-after'
  | 'matches-css-before'
  | 'matches-path'
  | 'upward'
  | 'xpath';
