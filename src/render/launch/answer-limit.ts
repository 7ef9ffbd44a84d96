/** An expression that begins with this runs in the main world, where the page's scripts can forge the answer. */
export const MAIN_WORLD_MARK = '/* stillframe: main world */';
/** The maximum size of an answer from the main world, in bytes of JSON. */
export const MAIN_WORLD_ANSWER_MAX_BYTES = 16 * 1024;

const KB = 1024;
/** The longest answer is the source of a page: 500,000 characters of up to 6 bytes each. */
const SCRIPT_ANSWER_MAX_BYTES = 4 * KB * KB;
/** A frame tree with long URLs is larger than any answer of a script. */
export const ANSWER_MAX_BYTES = 16 * KB * KB;

/** The maximum size, in bytes, of the answer to a command. A longer one becomes an error before it is decoded. */
export function answerLimit({ method = '', params = {} }: { method?: string; params?: Record<string, unknown> }): number {
  if (!/^Runtime\.(evaluate|callFunctionOn)$/.test(method)) return ANSWER_MAX_BYTES;
  return scriptsOf(params).some((script) => script.startsWith(MAIN_WORLD_MARK)) ? MAIN_WORLD_ANSWER_MAX_BYTES : SCRIPT_ANSWER_MAX_BYTES;
}

/** Playwright passes an expression as an argument to a function of its own. */
function scriptsOf({ expression, arguments: given }: Record<string, unknown>): string[] {
  const values = Array.isArray(given) ? given.map((argument: { value?: unknown }) => argument.value) : [];
  return [expression, ...values].filter((value) => typeof value === 'string');
}

/**
 * The error message of a command whose answer exceeded its limit.
 * @param threw whether the answer reports an exception
 */
export function tooLongMessage(maxBytes: number, threw: boolean): string {
  return `the ${threw ? 'exception' : 'answer'} is longer than ${maxBytes} bytes`;
}

/** Whether a command failed because its answer, or the exception that it reports, exceeded its limit. */
export function isTooLong(error: unknown, what: 'answer' | 'exception'): boolean {
  return error instanceof Error && error.message.includes(`the ${what} is longer than `);
}
