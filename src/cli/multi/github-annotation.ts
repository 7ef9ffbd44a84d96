import { printable } from '../operator-error.js';

/** Builds a workflow command that GitHub shows at a line of a file. */
export function githubAnnotation({ file, line, message }: { file: string; line: number; message: string }): string {
  const path = printable(file).replaceAll('%', '%25').replaceAll(':', '%3A').replaceAll(',', '%2C').replaceAll('\n', '%0A');
  return `::error file=${path},line=${line}::${printable(message).replaceAll('%', '%25').replaceAll('\n', '%0A')}`;
}
