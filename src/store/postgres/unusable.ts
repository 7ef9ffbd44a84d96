import { StoreError } from '../store-error.js';

/** One line for the operator, for whatever keeps the database from being used. */
export function unusable(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  return new StoreError(
    `The database of STILLFRAME_DATABASE_URL cannot be used (${reasonOf(error)}): check that it runs and that the URL names a user who may create tables in it.`,
    { cause: error },
  );
}

/**
 * Of the innermost error: those around it tell only the statement, or that there was one. Node reports several addresses that refuse as one
 * error without a message.
 */
function reasonOf(error: unknown): string {
  const { message, code, cause } = error as { message?: string; code?: string; cause?: unknown };
  return cause instanceof Error ? reasonOf(cause) : message || code || String(error);
}
