import type { CaptureWarning } from '../../contract/capture-data.js';
import { CaptureError } from '../../contract/capture-error.js';
import type { ToleratedCode } from '../../contract/request-fields.js';

/** Implements `tolerate` for one capture: which failures become warnings, and those tolerated so far. */
export class Tolerance {
  readonly #codes: ReadonlySet<string>;
  readonly #warnings = new Map<string, CaptureWarning>();

  constructor(codes: readonly ToleratedCode[]) {
    this.#codes = new Set(codes);
  }

  get warnings(): CaptureWarning[] {
    return [...this.#warnings.values()];
  }

  /**
   * Records a tolerated failure, once.
   * @throws the error if it is not tolerated
   */
  orThrow(error: unknown): void {
    if (!(error instanceof CaptureError) || !this.#codes.has(error.code)) throw error;
    const { code, message } = error;
    this.#warnings.set(`${code} ${message}`, { code: code as ToleratedCode, message });
  }
}
