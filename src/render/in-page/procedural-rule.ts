/** A filter rule that no style sheet can express: it selects elements step by step, then acts on them. */
export interface ProceduralRule {
  steps: Step[];
  action: 'hide' | 'style' | 'remove' | 'remove-attr' | 'remove-class';
  /** The declarations, attribute or class that the action uses. */
  value: string;
}

/**
 * One step from the selected elements to the next: `find` selects by CSS among descendants and siblings, `is` among the
 * elements themselves; the others are uBlock Origin's operators.
 */
export type Step =
  | { op: 'find' | 'is' | Operator; arg: string }
  | {
      op: 'has' | 'not';
      /** Alternative chains of steps. */
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
