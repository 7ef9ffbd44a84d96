/** An expression that begins with this is run in the page's own world, whose scripts can make the answer whatever they like. */
export const MAIN_WORLD_MARK = '/* stillframe: main world */';
/** Limit of what the page's own world answers, in bytes of JSON. */
export const MAIN_WORLD_ANSWER_MAX_BYTES = 16 * 1024;

const KB = 1024;
/** The longest is the source of a page, 500,000 characters of up to 6 bytes each. */
const SCRIPT_ANSWER_MAX_BYTES = 4 * KB * KB;
/** A frame tree with long URLs is larger than any answer of a script. */
export const ANSWER_MAX_BYTES = 16 * KB * KB;

/** The most bytes that the answer to a command may have; a longer one becomes an error of its command before it is decoded. */
export function answerLimit({ method = '', params = {} }: { method?: string; params?: Record<string, unknown> }): number {
  if (!/^Runtime\.(evaluate|callFunctionOn)$/.test(method)) return ANSWER_MAX_BYTES;
  return scriptsOf(params).some((script) => script.startsWith(MAIN_WORLD_MARK)) ? MAIN_WORLD_ANSWER_MAX_BYTES : SCRIPT_ANSWER_MAX_BYTES;
}

/** Playwright passes an expression to a function of its own, as one of the arguments. */
function scriptsOf({ expression, arguments: given }: Record<string, unknown>): string[] {
  const values = Array.isArray(given) ? given.map((argument: { value?: unknown }) => argument.value) : [];
  return [expression, ...values].filter((value) => typeof value === 'string');
}

/** The message of a command whose answer was longer than its limit. @param threw whether the answer tells of an exception */
export function tooLongMessage(maxBytes: number, threw: boolean): string {
  return `the ${threw ? 'exception' : 'answer'} is longer than ${maxBytes} bytes`;
}

/** Whether a command failed because its answer, or the exception that it tells of, was longer than its limit. */
export function isTooLong(error: unknown, what: 'answer' | 'exception'): boolean {
  return error instanceof Error && error.message.includes(`the ${what} is longer than `);
}
